"""Dicts, sets and deques are changed in loops over copies, in values of known keys, or just before the loop ends."""

from collections import deque

ages = {"a": 1, "b": 2, "c": 3}
for name in list(ages):
    if ages[name] == 1:
        del ages[name]
for name in ages:
    ages[name] += 1
for name, age in ages.items():
    ages[name] = age * 2
    ages.pop("nobody", None)
for name, age in ages.items():
    if age == 6:
        del ages[name]
        break
assert ages == {"c": 8}

items = ages.items()
ages["d"] = 9
assert ages.pop("c") == 8
assert [name for name, _ in items] == ["d"]

seen = {1, 2, 3}
for number in sorted(seen):
    seen.remove(number)
    seen.add(number)
for number in seen:
    seen.add(number)
    seen.discard(10)

todo = deque([3])
done = []
while todo:
    number = todo.popleft()
    done.append(number)
    if number:
        todo.append(number - 1)
for number in done:
    todo.append(number)
assert list(todo) == [3, 2, 1, 0]
