"""Items are taken out of a list by a loop over a copy, over another list, backwards, or just before it is left."""

items = [1, 2, 3, 4, 5]
for item in list(items):
    if item == 1:
        items.remove(item)
for item in reversed(items):
    if item == 5:
        items.remove(item)
for item in items:
    if item == 3:
        items.remove(item)
        break
assert items == [2, 4]

for item in items:
    if item < 10:
        items.append(item + 10)
assert items.pop() == 14
assert items == [2, 4, 12]

for index in range(len(items) - 1, -1, -1):
    del items[index]
assert not items
