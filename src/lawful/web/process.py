"""What the server process of a dashboard does: it serves until the run is over, and those who look have seen it."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

from lawful.web.dashboard import Hub, application
from lawful.web.link import ServerSide
from lawful.web.security import Guard, answered_names
from lawful.web.serving import address, server

_MOST_LINE = 64_000_000
_LINGER = 600.0  # seconds that those who look on may go on doing so, after the end
_MOMENT = 1.0  # in which a page may come back


async def _serve(listening: socket.socket, link: socket.socket, token: str) -> None:
    reader, writer = await asyncio.open_connection(sock=link, limit=_MOST_LINE)
    hub = Hub(ServerSide(writer.write))
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
    for _ in range(int(_LINGER / _MOMENT)):
        await asyncio.sleep(_MOMENT)
        if not hub.lookers:
            break
    running.should_exit = True
    await serving


def serve(listening: int, link: int, token: str) -> None:
    """Serve on a socket, about the program at the other end of another, which are open files of these numbers."""
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(socket.socket(fileno=listening), socket.socket(fileno=link), token))
