"""Lists are changed in loops where it does no harm: in a copy, behind the loop, with no further step, by appending."""

items = [1, 2, 3, 4]
for item in items[:]:
    if item % 2:
        items.pop(0)
assert items == [3, 4]

for item in items:
    if item == 3:
        items.pop(0)
        break
assert items == [4]

for item in items:
    if len(items) < 4:
        items.append(item + 1)
assert items == [4, 5, 6, 7]

for index, item in enumerate(items):
    items[index] = item * 2
for item in [item for item in items if item > 10]:
    items.remove(item)
assert items == [8, 10]

other = [1, 2]
for item in items:
    other.insert(0, item)
assert other == [10, 8, 1, 2]

for _ in items:
    queue = [*other]
    while queue:
        queue.pop(0)

iterator = iter(items)
assert next(iterator) == 8
items.reverse()
assert next(iter(items)) == 10

iterator = iter(items)
items.pop(0)
assert next(iterator) == 8
