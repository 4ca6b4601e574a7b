"""A socket is closed while a selector has it."""

import selectors
import socket

left, right = socket.socketpair()
with selectors.DefaultSelector() as selector:
    selector.register(left, selectors.EVENT_READ)
    left.close()  # violation
    assert len(selector.get_map()) == 1
right.close()
