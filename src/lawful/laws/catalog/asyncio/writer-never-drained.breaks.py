"""A stream is written to and closed, and never drained."""

import asyncio
import socket


async def main() -> None:
    left, right = socket.socketpair()
    with right:
        _, writer = await asyncio.open_connection(sock=left)
        writer.write(b"one")
        writer.write(b"two")
        writer.close()  # violation
        await writer.wait_closed()


asyncio.run(main())
