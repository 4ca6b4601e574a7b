"""Learning an automaton by asking: an observation table, a discrimination tree, and answers with don't-cares."""

from lawful.explain.lstar.learner import AutomatonLearner, LearningInterrupted
from lawful.explain.lstar.refinement import TableLearner, TreeLearner
from lawful.explain.lstar.threevalued import ThreeValuedLearner

__all__ = ["AutomatonLearner", "LearningInterrupted", "TableLearner", "ThreeValuedLearner", "TreeLearner"]
