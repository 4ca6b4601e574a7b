"""Parents are complete before they are used; children get arguments of their own."""

import argparse

common = argparse.ArgumentParser(add_help=False)
common.add_argument("--verbose", action="store_true")
first = argparse.ArgumentParser(parents=[common])
first.add_argument("--port", type=int)
second = argparse.ArgumentParser(parents=[common])
second.add_argument_group("more").add_argument("--host")
assert first.parse_args(["--verbose", "--port", "80"]).port == 80
assert second.parse_args(["--host", "a"]).host == "a"
del first, second
common.add_argument("--late")
