"""Something is sent after the end."""

import socket
from contextlib import suppress

left, right = socket.socketpair()
with left, right:
    left.sendall(b"one")
    left.shutdown(socket.SHUT_WR)
    with suppress(OSError):
        left.sendall(b"two")  # violation
