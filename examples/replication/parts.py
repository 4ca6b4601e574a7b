"""What the two programs of the replication system share: commands, schedules, and what there is to replicate."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import Enum


class Command(Enum):
    """What a job can ask for besides a schedule: all of them."""

    ListSchedule = "list"


@dataclass(frozen=True)
class Schedule:
    """When to replicate what; as a command: this one."""

    name: str


@dataclass(frozen=True)
class Item:
    """A directory that is to be replicated."""

    path: str


class FileSystem:
    """The staging environment: directories with the contents of their files, in versions."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self.version = 0
        self.directories: dict[str, dict[str, int]] = {}
        self.refresh()

    def refresh(self) -> None:
        self.version += 1
        names = [f"index{number}" for number in range(self._dice.randint(1, 4))]
        self.directories = {
            name: {f"{file}.bin": self._dice.randrange(1000) for file in range(self._dice.randint(0, 3))}
            for name in names
        }


SCHEDULES = (Schedule("daily"), Schedule("weekly"))
