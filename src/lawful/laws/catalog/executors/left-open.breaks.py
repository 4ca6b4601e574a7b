"""An executor is made for one call and forgotten."""

from concurrent.futures import ThreadPoolExecutor


def work() -> int:
    executor = ThreadPoolExecutor(max_workers=1)  # violation
    return executor.submit(abs, -1).result()


assert work() == 1
