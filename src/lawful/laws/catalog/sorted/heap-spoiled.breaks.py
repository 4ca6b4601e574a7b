"""An item is appended to a heap, and another one removed."""

from heapq import heappop, heappush

heap: list[int] = []
heappush(heap, 2)
heappush(heap, 3)
heap.append(1)
assert heappop(heap) == 2  # violation

heap = []
for number in (1, 4, 2, 5, 6, 3):
    heappush(heap, number)
heap.remove(4)
assert heappop(heap) == 1  # violation
