"""A stream is used and forgotten."""

import asyncio
import gc
import socket
import warnings

warnings.simplefilter("ignore", ResourceWarning)


async def send(connection: socket.socket) -> None:
    _, writer = await asyncio.open_connection(sock=connection)  # violation
    writer.write(b"hello")
    await writer.drain()


async def main() -> None:
    left, right = socket.socketpair()
    with right:
        await send(left)
        gc.collect()
        assert right.recv(5) == b"hello"


asyncio.run(main())
