"""A parent has its own help, and an option is added twice."""

import argparse
from contextlib import suppress

common = argparse.ArgumentParser()
with suppress(argparse.ArgumentError):
    argparse.ArgumentParser(parents=[common])  # violation
with suppress(argparse.ArgumentError):
    common.add_argument("--help")  # violation
