"""Sockets are used after they were closed, by hand and by `with`."""

import socket
from contextlib import suppress

left, right = socket.socketpair()
left.close()
with suppress(OSError):
    left.sendall(b"hello")  # violation
with right:
    pass
with suppress(OSError):
    right.recv(1)  # violation
