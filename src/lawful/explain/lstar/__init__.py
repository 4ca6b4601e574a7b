"""Learning an automaton by asking: an observation table, a discrimination tree, and answers with don't-cares."""

from lawful.explain.lstar.protocol import AutomatonLearner, ConjectureWatcher, LearningInterrupted
from lawful.explain.lstar.table import TableLearner
from lawful.explain.lstar.threevalued import ThreeValuedLearner
from lawful.explain.lstar.tree import TreeLearner

__all__ = [
    "AutomatonLearner",
    "ConjectureWatcher",
    "LearningInterrupted",
    "TableLearner",
    "ThreeValuedLearner",
    "TreeLearner",
]
