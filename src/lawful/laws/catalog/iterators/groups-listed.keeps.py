"""Each group is used before the next one is reached."""

from itertools import groupby

words = ["ab", "ac", "ba"]
assert {key: list(group) for key, group in groupby(words, lambda word: word[0])} == {"a": ["ab", "ac"], "b": ["ba"]}
assert [len(list(group)) for _, group in groupby("aabbb")] == [2, 3]
assert sum(1 for _ in groupby("aabbb")) == 2
