"""The server process of a dashboard: `lawful run --serve` starts it, with its sockets as open files.

It serves until the run is over and no page shows it any more.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from contextlib import suppress

from lawful.web.dashboard import DashboardHub, application
from lawful.web.link import ServerSide
from lawful.web.security import Guard, answered_names
from lawful.web.serving import address, server

_MAX_LINE = 64_000_000
_VIEWERS_TIMEOUT = 600.0  # seconds that open pages may stay after the end of the run
_POLL_INTERVAL = 1.0  # seconds in which a page may connect again


async def _serve(listening: socket.socket, link: socket.socket, token: str) -> None:
    reader, writer = await asyncio.open_connection(sock=link, limit=_MAX_LINE)
    hub = DashboardHub(ServerSide(writer.write))
    host, port = address(listening)
    guard = Guard(application(hub), token=token or None, hosts=answered_names(host, port), open_paths=("/static/",))
    running = server(guard)
    serving = asyncio.create_task(running.serve([listening]))
    while True:
        try:
            line = await reader.readuntil(b"\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            break
        hub.take(line)
    hub.end()
    for _ in range(int(_VIEWERS_TIMEOUT / _POLL_INTERVAL)):
        await asyncio.sleep(_POLL_INTERVAL)
        if not hub.viewers:
            break
    running.should_exit = True
    await serving


def serve(listening: int, link: int, token: str) -> None:
    """Serve on a socket, about the program at the other end of another, which are open files of these numbers."""
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(socket.socket(fileno=listening), socket.socket(fileno=link), token))


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]), os.environ.pop("LAWFUL_TOKEN", ""))
