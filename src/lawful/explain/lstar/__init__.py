"""Learning an automaton by asking: an observation table, a discrimination tree, and answers with don't-cares."""

from lawful.explain.lstar.protocol import Interrupted, Learner, Progress
from lawful.explain.lstar.table import TableLearner
from lawful.explain.lstar.threevalued import ThreeValuedLearner
from lawful.explain.lstar.tree import TreeLearner

__all__ = ["Interrupted", "Learner", "Progress", "TableLearner", "ThreeValuedLearner", "TreeLearner"]
