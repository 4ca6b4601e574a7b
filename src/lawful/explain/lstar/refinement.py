"""Learning by splitting states where a counterexample goes wrong: an observation table and a discrimination tree."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

from lawful.explain.automata import Automaton, minimise
from lawful.explain.lstar.learner import AutomatonLearner, CachedQueries, ConjectureWatcher
from lawful.explain.teacher import Teacher, Word


class RefiningLearner(AutomatonLearner):
    """Angluin's loop, with Rivest and Schapire's use of counterexamples."""

    @abstractmethod
    def _states(self, queries: CachedQueries) -> _Table | _Tree:
        """The states before any counterexample."""

    def learn(self, teacher: Teacher, *, progress: ConjectureWatcher | None = None) -> Automaton:
        queries = CachedQueries(teacher, self.counts)
        states, revisions = self._states(queries), 0
        while True:
            if queries.revisions != revisions:
                states, revisions = self._states(queries), queries.revisions
            conjecture = states.automaton()
            self.best = minimise(conjecture)
            if progress is not None:
                progress(self.best, self.counts)
            found = queries.counterexample(self.best)
            if found is None:
                return self.best
            # One counterexample is used until the states agree with it.
            while queries.revisions == revisions and conjecture.accepts(found.word) is not found.accept:
                state, place = breaking_point(found.word, states.access, conjecture, queries.accepts)
                states.split(state, found.word[place], found.word[place + 1 :])
                conjecture = states.automaton()


def breaking_point(
    word: Word, access: Sequence[Word], automaton: Automaton, accepts: Callable[[Word], bool]
) -> tuple[int, int]:
    """The state before, and the place of, a step of a word that the automaton takes wrongly, found by bisection.

    `access` has for each state the word that stands for it. Just after the step, the rest of the word distinguishes
    the state's own continuation by that letter from the state that the automaton goes to."""
    states = [automaton.initial]
    for letter in word:
        states.append(automaton.transitions[states[-1]][letter])

    def accepts_from(place: int) -> bool:
        return accepts(access[states[place]] + word[place:])

    low, high = 0, len(word)
    first = accepts_from(0)
    while high - low > 1:
        middle = (low + high) // 2
        if accepts_from(middle) == first:
            low = middle
        else:
            high = middle
    return states[low], low


class TableLearner(RefiningLearner):
    """L*: prefixes are states, suffixes distinguish them, and the answers for both are a table.

    Only suffixes come from counterexamples, so no two prefixes ever have the same row: the table is always
    consistent, and needs only to be closed."""

    def _states(self, queries: CachedQueries) -> _Table:
        return _Table(queries)


class TreeLearner(RefiningLearner):
    """Kearns and Vazirani's discrimination tree: each inner node asks for one suffix, so it asks less than a table."""

    def _states(self, queries: CachedQueries) -> _Tree:
        return _Tree(queries)


class _Table:
    """Rows are numbers: the answers for the suffixes are their bits, the first suffix the highest.

    `access` has for each state the word that stands for it."""

    def __init__(self, queries: CachedQueries) -> None:
        self._accepts = queries.accepts
        self._labels = queries.labels
        self._letters = range(len(queries.labels))
        self._suffixes: list[Word] = [()]
        self.access: list[Word] = [()]
        self._states = {self._row(()): 0}
        self._ahead: dict[Word, int] = {(letter,): self._row((letter,)) for letter in self._letters}
        self._close()

    def _row(self, prefix: Word) -> int:
        row, accepts = 0, self._accepts
        for suffix in self._suffixes:
            row = row << 1 | accepts(prefix + suffix)
        return row

    def split(self, state: int, letter: int, suffix: Word) -> None:
        """Adds a column for the suffix: it gives the step by this letter a state of its own."""
        accepts = self._accepts
        self._suffixes.append(suffix)
        self._states = {row << 1 | accepts(self.access[state] + suffix): state for row, state in self._states.items()}
        for prefix, row in self._ahead.items():
            self._ahead[prefix] = row << 1 | accepts(prefix + suffix)
        self._close()

    def _close(self) -> None:
        """Makes a state of every prefix whose row no state has."""
        pending = list(self._ahead)
        for prefix in pending:
            row = self._ahead[prefix]
            if row in self._states:
                continue
            self._states[row] = len(self.access)
            self.access.append(prefix)
            for letter in self._letters:
                longer = (*prefix, letter)
                if longer not in self._ahead:
                    self._ahead[longer] = self._row(longer)
                    pending.append(longer)

    def automaton(self) -> Automaton:
        rows = tuple(
            tuple(self._states[self._ahead[(*prefix, letter)]] for letter in self._letters) for prefix in self.access
        )
        accepting = frozenset(state for state, prefix in enumerate(self.access) if self._accepts(prefix))
        return Automaton(self._labels, 0, rows, accepting)


class _Node:
    """An inner node asks whether its suffix is accepted; a leaf is a state."""

    __slots__ = ("coming", "no", "state", "suffix", "yes")

    def __init__(self, state: int = -1) -> None:
        self.state = state
        self.coming: list[tuple[int, int]] = []  # of a leaf: the steps, state and letter, that lead to it
        self.suffix: Word = ()
        self.no: _Node | None = None
        self.yes: _Node | None = None


class _Tree:
    """States are the leaves. `access` has for each state the word that stands for it."""

    def __init__(self, queries: CachedQueries) -> None:
        self._accepts = queries.accepts
        self._labels = queries.labels
        self.access: list[Word] = []
        self._targets: list[list[_Node]] = []
        # Steps whose target is not known yet, each with a node above that target.
        self._pending: list[tuple[int, int, _Node]] = []
        # The root asks for the empty suffix: whether a state is accepting.
        self._root = _Node()
        self._root.no, self._root.yes = _Node(), _Node()
        self._enter(self._root.yes if self._accepts(()) else self._root.no, ())
        self._sift()

    def _enter(self, leaf: _Node, word: Word) -> None:
        """Makes a state of a leaf; `_sift` follows its steps."""
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
        """Gives the step a leaf of its own, which the suffix distinguishes from the one it led to."""
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
