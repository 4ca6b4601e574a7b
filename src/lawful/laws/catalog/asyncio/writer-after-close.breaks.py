"""Bytes are written after the stream was closed."""

import asyncio
import socket


async def main() -> None:
    left, right = socket.socketpair()
    with right:
        _, writer = await asyncio.open_connection(sock=left)
        writer.write(b"hello")
        await writer.drain()
        writer.close()
        writer.write(b"world")  # violation
        await writer.wait_closed()
        assert right.recv(20) == b"hello"


asyncio.run(main())
