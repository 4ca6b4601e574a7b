"""Executors are shut down by `with` and by hand; one lives as long as the program."""

from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(max_workers=1) as executor:
    assert executor.submit(abs, -1).result() == 1
executor = ThreadPoolExecutor(max_workers=1)
executor.submit(abs, -1)
executor.shutdown(wait=False)
del executor
forever = ThreadPoolExecutor(max_workers=1)
assert forever.submit(abs, -1).result() == 1
