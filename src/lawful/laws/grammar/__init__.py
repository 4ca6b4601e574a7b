"""Grammars: protocols of concurrent groups, with data (`compile` a view, then `check` or `monitor`)."""

from lawful.laws.grammar.functions import function
from lawful.laws.grammar.law import GrammarLaw
from lawful.laws.grammar.loading import compile
from lawful.laws.grammar.monitor import GrammarMonitor
from lawful.laws.grammar.wording import Rejection

__all__ = ["GrammarLaw", "GrammarMonitor", "Rejection", "compile", "function"]
