"""Parents have no help of their own; an option is replaced where that is said; a wrong value is another matter."""

import argparse
from contextlib import suppress

common = argparse.ArgumentParser(add_help=False)
common.add_argument("--size", type=int)
parser = argparse.ArgumentParser(parents=[common], conflict_handler="resolve", exit_on_error=False)
parser.add_argument("--size", type=float)
assert parser.parse_args(["--size", "1.5"]).size == 1.5
with suppress(argparse.ArgumentError):
    parser.parse_args(["--size", "big"])
