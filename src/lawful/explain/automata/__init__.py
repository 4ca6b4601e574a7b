"""Automata as integer tables, and what can be done with them."""

from lawful.explain.automata.automaton import Automaton
from lawful.explain.automata.language import count, is_empty, live, reachable, sources, words
from lawful.explain.automata.operations import (
    aligned,
    difference,
    disjoint,
    equivalent,
    included,
    intersection,
    minimise,
    project,
    relabelled,
    union,
)

__all__ = [
    "Automaton",
    "aligned",
    "count",
    "difference",
    "disjoint",
    "equivalent",
    "included",
    "intersection",
    "is_empty",
    "live",
    "minimise",
    "project",
    "reachable",
    "relabelled",
    "sources",
    "union",
    "words",
]
