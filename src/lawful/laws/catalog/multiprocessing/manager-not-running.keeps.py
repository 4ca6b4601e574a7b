"""Objects are made while the manager runs."""

import multiprocessing

if __name__ == "__main__":
    with multiprocessing.get_context("fork").Manager() as manager:
        items = manager.list([1])
        items.append(2)
        assert list(items) == [1, 2]
