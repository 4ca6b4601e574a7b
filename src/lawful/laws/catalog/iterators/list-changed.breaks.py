"""Items are removed from the list that is being looped over, so that the ones after them are never seen."""

items = ["", "", "a", "b"]
for item in items:  # violation
    if not item:
        items.remove(item)
assert items == ["", "a", "b"]

for index, item in enumerate(items):  # violation
    if not item:
        del items[index]
