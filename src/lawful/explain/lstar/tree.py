"""Learning with a discrimination tree: Kearns and Vazirani's, with one split for each counterexample step."""

from __future__ import annotations

from lawful.explain.automata import Automaton, minimise
from lawful.explain.lstar.breakpoint import breaking_point
from lawful.explain.lstar.protocol import ConjectureWatcher
from lawful.explain.lstar.query_cache import CachedQueries
from lawful.explain.teacher import Counts, Teacher, Word


class TreeLearner:
    """States are the leaves of a tree whose inner nodes ask for one suffix each: fewer questions than a full table."""

    def __init__(self) -> None:
        self.best: Automaton | None = None
        self.counts = Counts()

    def learn(self, teacher: Teacher, *, progress: ConjectureWatcher | None = None) -> Automaton:
        questions = CachedQueries(teacher, self.counts)
        tree, revisions = _Tree(questions), 0
        while True:
            if questions.revisions != revisions:
                tree, revisions = _Tree(questions), questions.revisions
            conjecture = tree.automaton()
            self.best = minimise(conjecture)
            if progress is not None:
                progress(self.best, self.counts)
            found = questions.counterexample(self.best)
            if found is None:
                return self.best
            while questions.revisions == revisions and conjecture.accepts(found.word) is not found.accept:
                state, place = breaking_point(found.word, tree.access, conjecture, questions.accepts)
                tree.split(state, found.word[place], found.word[place + 1 :])
                conjecture = tree.automaton()


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
        """The step leads to a state of its own, which the suffix tells from the one it was taken for."""
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
