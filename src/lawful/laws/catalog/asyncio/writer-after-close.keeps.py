"""Streams are closed when all is written, by both sides and twice."""

import asyncio
import socket


async def main() -> None:
    left, right = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=left)
    _, other = await asyncio.open_connection(sock=right)
    other.write(b"hello")
    await other.drain()
    other.close()
    await other.wait_closed()
    assert await reader.read() == b"hello"
    writer.write(b"too late for the other side")
    writer.close()
    writer.close()
    assert writer.is_closing()


asyncio.run(main())
