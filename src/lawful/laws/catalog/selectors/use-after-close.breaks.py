"""A selector is used after its `with` block."""

import selectors
import socket
from contextlib import suppress

left, right = socket.socketpair()
with left, right:
    with selectors.SelectSelector() as selector:
        selector.register(left, selectors.EVENT_WRITE)
    with suppress(Exception):
        selector.register(right, selectors.EVENT_READ)  # violation
    with suppress(Exception):
        selector.select(0)  # violation
