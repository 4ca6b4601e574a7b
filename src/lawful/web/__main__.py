"""The server process of a dashboard: `lawful run --serve` starts it, with its sockets as open files."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Become a process of its own, whose end the program never hears of, before anything takes time."""
    if os.fork():
        os._exit(0)
    from lawful.web.process import serve

    serve(int(sys.argv[1]), int(sys.argv[2]), os.environ.pop("LAWFUL_TOKEN", ""))


if __name__ == "__main__":
    main()
