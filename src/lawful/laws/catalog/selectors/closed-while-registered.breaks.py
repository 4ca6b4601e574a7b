"""A socket is closed while a selector has it."""

import selectors
import socket

left, right = socket.socketpair()
with selectors.DefaultSelector() as selector:
    selector.register(left, selectors.EVENT_WRITE)
    assert len(selector.select()) == 1
    left.close()
    assert selector.select(0) == []  # violation
right.close()
