"""The first item of a list is removed, or one is put there, while a loop goes on over the list."""

items = [1, 2, 3, 4]
for item in items:  # violation
    if item % 2:
        items.pop(0)
assert items == [3, 4]

for position, item in enumerate(items):  # violation
    if position == 0:
        items.insert(0, item)
assert items == [3, 3, 4]

iterator = iter(items)
assert next(iterator) == 3
del items[0]
assert next(iterator) == 4  # violation
