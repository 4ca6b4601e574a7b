"""The groups are gathered, and then looked at."""

from itertools import groupby

groups = list(groupby("aabbb"))  # violation
assert [list(group) for _, group in groups] == [[], []]
