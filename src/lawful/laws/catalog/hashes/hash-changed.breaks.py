"""A field that counts for the hash changes, in a set literal and in a cache."""

from dataclasses import dataclass
from functools import cache


@dataclass(unsafe_hash=True)
class Point:
    x: int


@cache
def double(point: Point) -> int:
    return 2 * point.x


point = Point(1)
points = {point}
point.x = 2
assert point not in points  # violation

other = Point(5)
assert double(other) == 10
other.x = 6
assert double(other) == 12  # violation
