"""The exit code of a process is asked for too late."""

import multiprocessing
from contextlib import suppress

if __name__ == "__main__":
    process = multiprocessing.get_context("fork").Process(target=abs, args=(-1,))
    process.start()
    process.join()
    process.close()
    with suppress(ValueError):
        process.join()  # violation
    with suppress(ValueError):
        print(process.exitcode)  # violation
