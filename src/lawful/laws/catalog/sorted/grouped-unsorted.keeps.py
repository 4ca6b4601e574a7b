"""Words are sorted before they are grouped, in place or by a copy."""

from itertools import groupby

words = ["cow"]
words.extend(["ant", "bee"])
words.append("ape")
assert len(list(groupby(sorted(words), lambda word: word[0]))) == 3

words.sort()
assert [letter for letter, _ in groupby(words, lambda word: word[0])] == ["a", "b", "c"]

words.clear()
assert not list(groupby(words))

# Nothing was added to it.
assert [key for key, _ in groupby([1, 1, 2])] == [1, 2]
