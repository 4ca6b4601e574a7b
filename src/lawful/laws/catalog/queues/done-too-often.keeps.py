"""Each item is reported once, by the thread that has worked on it; one queue is never joined."""

import queue
import threading

todo: queue.Queue[int] = queue.Queue()
for number in range(4):
    todo.put(number)


def work() -> None:
    for _ in range(2):
        todo.get()
        todo.task_done()


for _ in range(2):
    threading.Thread(target=work).start()
todo.join()
last: queue.LifoQueue[int] = queue.LifoQueue()
last.put(1)
assert last.get() == 1
