"""Moves a point that is in a set, and cannot find it there any more."""

from dataclasses import dataclass


@dataclass(unsafe_hash=True)
class Point:
    x: int
    y: int


home = Point(1, 2)
visited: set[Point] = set()
visited.add(home)
home.x = 3
print("been home:", home in visited)
visited.add(home)
print("places:", len(visited))
