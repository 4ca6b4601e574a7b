"""A process that has ended is started again."""

import multiprocessing
from contextlib import suppress

if __name__ == "__main__":
    process = multiprocessing.get_context("fork").Process(target=abs, args=(-1,))
    process.start()
    process.join()
    with suppress(AssertionError):
        process.start()  # violation
