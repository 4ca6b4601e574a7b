"""Learning with a discrimination tree: Kearns and Vazirani's, with one split for each counterexample step."""

from __future__ import annotations

from lawful.explain.automata import Automaton
from lawful.explain.lstar.query_cache import CachedQueries
from lawful.explain.lstar.refinement import RefiningLearner
from lawful.explain.teacher import Word


class TreeLearner(RefiningLearner):
    """States are the leaves of a tree whose inner nodes ask for one suffix each: fewer questions than a full table."""

    def _states(self, queries: CachedQueries) -> _Tree:
        return _Tree(queries)


class _Node:
    """An inner node asks whether its suffix is accepted; a leaf is a state."""

    __slots__ = ("coming", "no", "state", "suffix", "yes")

    def __init__(self, state: int = -1) -> None:
        self.state = state
        self.coming: list[tuple[int, int]] = []
        """Of a leaf: the steps, state and letter, that lead to it."""
        self.suffix: Word = ()
        self.no: _Node | None = None
        self.yes: _Node | None = None


class _Tree:
    def __init__(self, questions: CachedQueries) -> None:
        self._accepts = questions.accepts
        self._labels = questions.labels
        self.access: list[Word] = []
        self._targets: list[list[_Node]] = []
        # Steps of which it is not known where they lead, each with the node below which that is.
        self._pending: list[tuple[int, int, _Node]] = []
        # The root asks for the empty suffix: whether a state is accepting.
        self._root = _Node()
        self._root.no, self._root.yes = _Node(), _Node()
        self._enter(self._root.yes if self._accepts(()) else self._root.no, ())
        self._sift()

    def _enter(self, leaf: _Node, word: Word) -> None:
        """Makes a state of a leaf; its steps are followed by `_sift`."""
        leaf.state = len(self.access)
        self.access.append(word)
        self._targets.append([leaf] * len(self._labels))
        self._pending += [(leaf.state, letter, self._root) for letter in range(len(self._labels))]

    def _sift(self) -> None:
        """Finds where the pending steps lead."""
        while self._pending:
            state, letter, node = self._pending.pop()
            word = (*self.access[state], letter)
            while node.no is not None and node.yes is not None:
                node = node.yes if self._accepts(word + node.suffix) else node.no
            if node.state < 0:
                self._enter(node, word)
            node.coming.append((state, letter))
            self._targets[state][letter] = node

    def split(self, state: int, letter: int, suffix: Word) -> None:
        leaf = self._targets[state][letter]
        kept, new = _Node(leaf.state), _Node()
        coming, leaf.coming, leaf.state, leaf.suffix = leaf.coming, [], -1, suffix
        leaf.no, leaf.yes = (kept, new) if self._accepts((*self.access[state], letter, *suffix)) else (new, kept)
        self._pending = [(source, step, leaf) for source, step in coming]
        self._sift()

    def automaton(self) -> Automaton:
        rows = tuple(tuple(leaf.state for leaf in row) for row in self._targets)
        accepting = frozenset(state for state, word in enumerate(self.access) if self._accepts(word))
        return Automaton(self._labels, 0, rows, accepting)
