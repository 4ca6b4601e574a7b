"""Which objects the pure-Python core reports: coins, samples, sleeping groups. Twin of _native/sampling/samples.c."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from lawful.coin import BITS, GOLDEN, Coin, mixed, threshold

_PATIENCE = 256  # callbacks without an event before places sleep: about what it costs to wake them


class GroupState:
    """Objects that are sampled by one coin."""

    def __init__(self, coin: Coin) -> None:
        self.coin = coin
        self.rate = 1.0
        self.budget = -1
        self.born = 0
        self.taken = 0
        self.alive = 0
        self.fruitless = 0
        self.awake = True  # its places report

    @property
    def bears(self) -> bool:
        """May an object become a sample?"""
        return self.rate > 0 and self.budget != 0


class ObjectSampler:
    """All groups, and the objects that are samples, by their ids."""

    def __init__(self) -> None:
        self._groups: dict[int, GroupState] = {}
        self._samples: dict[int, GroupState] = {}
        self._seed = 0
        # Called when a group wakes that slept; True: only where objects are born.
        self.wake: Callable[[int, bool], None] = lambda group, births_only: None

    def group(self, number: int) -> GroupState:
        found = self._groups.get(number)
        if found is None:
            found = self._groups[number] = GroupState(Coin.of_group(self._seed, number))
        return found

    def set(self, number: int, rate: float, budget: int) -> None:
        group = self.group(number)
        slept = not group.awake and not group.bears
        group.rate, group.budget = float(rate), max(-1, budget)
        if not group.bears:
            group.awake = group.alive > 0
        elif slept:
            self.wake(number, True)

    def release(self, number: int) -> None:
        """None of its objects is a sample any more."""
        group = self.group(number)
        for identity in [each for each, kind in self._samples.items() if kind is group]:
            self.gone(identity)

    def samples(self, number: int) -> tuple[int, int, int]:
        group = self.group(number)
        return group.born, group.taken, group.alive

    def seed(self, number: int) -> None:
        self._seed = number % BITS
        for each, group in self._groups.items():
            group.coin = Coin.of_group(self._seed, each)

    def in_child(self, process: int) -> None:
        self.seed(mixed(self._seed ^ process * GOLDEN % BITS))
        for group in self._groups.values():
            group.born = group.taken = 0

    def clear(self) -> None:
        """No object is a sample any more."""
        for number in self._groups:
            self.release(number)

    def has(self, number: int | None) -> bool:
        """Has a sample this id?"""
        return number in self._samples

    def flip(self, number: int) -> bool:
        """A life begins: is it a sample?"""
        group = self.group(number)
        if not group.bears:
            return False
        group.born += 1
        return group.coin.flip(threshold(group.rate))

    def take(self, number: int, identity: int) -> None:
        """Make it a sample."""
        group = self.group(number)
        self._samples[identity] = group
        group.taken += 1
        group.alive += 1
        group.fruitless = 0
        if group.budget > 0:
            group.budget -= 1
        if not group.awake:
            group.awake = True
            self.wake(number, False)

    def gone(self, identity: int) -> bool:
        """An object dies. Was it a sample?"""
        group = self._samples.pop(identity, None)
        if group is None:
            return False
        group.alive -= 1
        if not group.alive:
            group.fruitless = 0
            group.awake = group.bears
        return True

    def asleep(self, numbers: Sequence[int], bears: bool) -> bool:
        """Need a place of these groups report nothing now? One without groups must."""
        groups = map(self.group, numbers)
        return bool(numbers) and not any(group.awake or (bears and group.bears) for group in groups)

    def drowse(self, groups: Iterable[int]) -> None:
        """A place of these groups was called for an object that is not a sample."""
        for number in groups:
            group = self.group(number)
            if not group.alive:
                group.fruitless += 1
                if group.fruitless > _PATIENCE:
                    group.awake = False
