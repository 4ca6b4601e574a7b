"""A socket is registered a second time, to wait for something else."""

import selectors
import socket
from contextlib import suppress

left, right = socket.socketpair()
with selectors.DefaultSelector() as selector, left, right:
    selector.register(left, selectors.EVENT_READ)
    with suppress(KeyError):
        selector.register(left, selectors.EVENT_WRITE)  # violation
    selector.unregister(left)
