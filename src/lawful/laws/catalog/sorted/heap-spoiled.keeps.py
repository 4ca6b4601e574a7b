"""Heaps are changed by heapq, or put in order again; a list that is no heap is changed by hand."""

from heapq import heapify, heappop, heappush

heap: list[int] = []
for number in (3, 1, 2):
    heappush(heap, number)
assert heappop(heap) == 1
heap.append(0)
heapify(heap)
assert heappop(heap) == 0
assert heap.pop() == 3
heap.clear()
heappush(heap, 5)
plain = [3, 1]
plain.append(2)
plain.sort()
assert heappop(plain) == 1
