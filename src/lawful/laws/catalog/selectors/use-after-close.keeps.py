"""Selectors are used while they are open, and closed twice."""

import selectors
import socket

left, right = socket.socketpair()
with left, right:
    for _ in range(2):
        with selectors.DefaultSelector() as selector:
            selector.register(left, selectors.EVENT_WRITE)
            assert len(selector.select()) == 1
        selector.close()
        assert selector.get_map() is None
