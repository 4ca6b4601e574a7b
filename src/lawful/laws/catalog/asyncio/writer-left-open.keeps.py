"""Streams are closed, aborted by their transport, or lost by the other side."""

import asyncio
import gc
import socket


async def main() -> None:
    left, right = socket.socketpair()
    _, writer = await asyncio.open_connection(sock=left)
    writer.close()
    await writer.wait_closed()
    reader, writer = await asyncio.open_connection(sock=right)
    writer.transport.abort()
    await asyncio.sleep(0)
    del reader, writer
    gc.collect()
    await asyncio.sleep(0)


asyncio.run(main())
