"""The server process of a dashboard: `lawful run --serve` starts it, with its sockets as open files."""

from __future__ import annotations

import os
import sys

from lawful.web.process import serve

if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]), os.environ.pop("LAWFUL_TOKEN", ""))
