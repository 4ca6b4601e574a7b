"""Words are grouped by their first letters as they came."""

from itertools import groupby

words = []
for word in ("ant", "bee", "ape"):
    words.append(word)
groups = [(letter, list(group)) for letter, group in groupby(words, lambda word: word[0])]  # violation
assert len(groups) == 3

words.sort()
words.insert(0, "cat")
assert [letter for letter, _ in groupby(words, lambda word: word[0])] == ["c", "a", "b"]  # violation
