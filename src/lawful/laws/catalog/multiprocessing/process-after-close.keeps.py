"""A process is closed when its exit code is known, and twice."""

import multiprocessing

if __name__ == "__main__":
    process = multiprocessing.get_context("fork").Process(target=abs, args=(-1,))
    process.start()
    process.join()
    assert process.exitcode == 0
    process.close()
    process.close()
