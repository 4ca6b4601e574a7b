"""Run all scripts of a folder in one process, each as a program of its own, in the order of their names."""

import fnmatch
import os
import runpy
import sys


def main(folder, *left_out):
    os.chdir(folder)
    sys.path.insert(0, os.getcwd())
    for name in sorted(os.listdir(".")):
        if name.endswith(".py") and not any(fnmatch.fnmatch(name, pattern) for pattern in left_out):
            try:
                runpy.run_path(os.path.abspath(name), run_name="__main__")
            except Exception as error:  # some need files or packages that are not there
                print(f"{name}: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
