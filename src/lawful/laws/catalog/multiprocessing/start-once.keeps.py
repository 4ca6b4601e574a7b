"""Processes are started once each, and joined more than once; one is never started."""

import multiprocessing

if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    for _ in range(2):
        process = context.Process(target=abs, args=(-1,))
        process.start()
        process.join()
        process.join()
        assert process.exitcode == 0
    unused = context.Process(target=abs, args=(-1,))
    assert not unused.is_alive()
