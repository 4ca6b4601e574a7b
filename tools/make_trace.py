"""Write a trace of files that are opened, read and closed: FILE, number of events, files open at once."""

from __future__ import annotations

import random
import sys


def main(path: str, events: int, live: int) -> None:
    """Every file is opened, read eight times and closed; which of the open ones is next is random."""
    choose = random.Random(1)
    left: dict[int, int] = {}
    opened: list[int] = []
    newest, files = 0, events // 10
    with open(path, "w", encoding="ascii") as out:
        while newest < files or opened:
            if len(opened) < live and newest < files:
                newest += 1
                opened.append(newest)
                left[newest] = 8
                out.write(f'{{"event":"func_post","name":"open","resultId":{newest}}}\n')
                continue
            place = choose.randrange(len(opened))
            file = opened[place]
            if left[file]:
                left[file] -= 1
                out.write(f'{{"event":"func_pre","name":"read","targetId":{file}}}\n')
            else:
                opened[place] = opened[-1]
                opened.pop()
                del left[file]
                out.write(f'{{"event":"func_post","name":"close","targetId":{file}}}\n')


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
