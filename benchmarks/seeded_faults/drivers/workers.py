"""Gives work to pools of threads and waits for it: results, errors, things called off, one by one and all at once."""

import concurrent.futures
import contextlib
import multiprocessing.pool
import time


def half(number):
    if number % 2:
        raise ValueError(number)
    return number // 2


def futures():
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        jobs = [executor.submit(half, number) for number in range(0, 24, 2)]
        jobs += [executor.submit(half, number) for number in (1, 3)]
        blocked = executor.submit(time.sleep, 0.02), executor.submit(time.sleep, 0.02)
        late = [executor.submit(half, number) for number in range(3)]
        print(sum(job.cancel() for job in late))
        concurrent.futures.wait([*jobs, *blocked], timeout=5)
        for job in jobs:
            job.done(), job.running()
            if job.exception(timeout=1) is None:
                job.result(timeout=1)
        list(executor.map(half, range(0, 8, 2), timeout=5))
        for job in concurrent.futures.as_completed([executor.submit(half, 4) for _ in range(3)], timeout=5):
            job.result()


def pools():
    with multiprocessing.pool.ThreadPool(2) as pool:
        for number in range(6):
            pool.apply(half, (2 * number,))
        results = [pool.apply_async(half, (number,)) for number in range(6)]
        for result in results:
            with contextlib.suppress(ValueError):
                result.get(timeout=5)
        pool.map_async(half, range(0, 20, 2)).get(timeout=5)
        pool.starmap_async(divmod, [(7, 2), (9, 4)]).get(timeout=5)
        with contextlib.suppress(ValueError, multiprocessing.TimeoutError):
            pool.map_async(half, range(3)).get(timeout=0.2)
        list(pool.imap(half, range(0, 10, 2)))
        list(pool.imap_unordered(half, range(0, 10, 2)))


def main():
    for _ in range(4):
        futures()
        pools()


if __name__ == "__main__":
    main()
