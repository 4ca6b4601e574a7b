"""An argument is added to a parent when its child is there."""

import argparse

common = argparse.ArgumentParser(add_help=False)
parser = argparse.ArgumentParser(parents=[common])
common.add_argument("--verbose", action="store_true")  # violation
assert not hasattr(parser.parse_args([]), "verbose")
