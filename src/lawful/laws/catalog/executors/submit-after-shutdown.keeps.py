"""Work is submitted before the executor is shut down; results are taken afterwards; an executor is shut down twice."""

from concurrent.futures import ThreadPoolExecutor

for _ in range(2):
    with ThreadPoolExecutor(max_workers=2) as executor:
        results = executor.map(abs, [-1, -2])
        future = executor.submit(abs, -3)
    executor.shutdown()
    assert list(results) == [1, 2]
    assert future.result() == 3
