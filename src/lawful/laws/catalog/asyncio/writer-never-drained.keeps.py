"""Streams are drained after one write, and once for several; one is only read."""

import asyncio
import socket


async def main() -> None:
    left, right = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=left)
    _, other = await asyncio.open_connection(sock=right)
    other.write(b"one")
    other.writelines([b"two", b"three"])
    await other.drain()
    other.close()
    assert await reader.read() == b"onetwothree"
    writer.close()


asyncio.run(main())
