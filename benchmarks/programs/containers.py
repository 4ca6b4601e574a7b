"""A program that does little but call the methods of containers written in C."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque


class Cache:
    """Keeps what was used last."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.entries: OrderedDict[int, str] = OrderedDict()

    def get(self, key: int) -> str:
        entry = self.entries.get(key)
        if entry is None:
            entry = str(key)
            self.entries[key] = entry
            if len(self.entries) > self.size:
                self.entries.popitem(last=False)
        else:
            self.entries.move_to_end(key)
        return entry


def breadth_first(edges: dict[int, list[int]], start: int) -> list[int]:
    waiting = deque([start])
    seen = {start}
    order: list[int] = []
    while waiting:
        node = waiting.popleft()
        order.append(node)
        for near in edges.get(node, ()):
            if near not in seen:
                seen.add(near)
                waiting.append(near)
    return order


def graph(nodes: int) -> dict[int, list[int]]:
    edges: defaultdict[int, list[int]] = defaultdict(list)
    for node in range(nodes):
        for step in (1, 7, 31):
            edges[node].append((node * step + step) % nodes)
    return dict(edges)


def words(number: int) -> dict[str, int]:
    count: Counter[str] = Counter()
    by_length: dict[int, set[str]] = {}
    for each in range(number):
        word = f"w{each * 7919 % 101}"
        count.update((word,))
        by_length.setdefault(len(word), set()).add(word)
    for several in by_length.values():
        several.discard("w0")
        several.update(("x", "y"))
        several.remove("x")
    return dict(count.most_common(10))


def carousel(number: int) -> int:
    ring = deque(range(50), maxlen=60)
    for each in range(number):
        ring.appendleft(each)
        ring.append(ring.popleft() + ring.pop())
        if each % 16 == 0:
            ring.rotate(3)
    total = sum(ring)
    ring.clear()
    return total


def lists(number: int) -> list[int]:
    stack: list[int] = []
    for each in range(number):
        stack.append(each * 31 % 97)
        if each % 5 == 4:
            stack.pop()
            stack.insert(0, each)
    stack.extend(stack[:10])
    stack.reverse()
    stack.sort()
    return [*stack[: stack.index(stack[-1])], stack.count(4)]


def run(rounds: int) -> int:
    total = 0
    for each in range(rounds):
        cache = Cache(40)
        edges = graph(300)
        for node in breadth_first(edges, each % 300):
            total += len(cache.get(node * node % 61))
        total += sum(words(400).values()) + carousel(500) + len(lists(400))
    return total
