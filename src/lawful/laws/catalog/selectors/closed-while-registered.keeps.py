"""Sockets are unregistered before they are closed, or the selector is not used any more."""

import selectors
import socket

left, right = socket.socketpair()
selector = selectors.DefaultSelector()
for _ in range(2):
    selector.register(right, selectors.EVENT_READ)
    left.send(b"x")
    assert len(selector.select(1)) == 1
    assert right.recv(1) == b"x"
    selector.unregister(right)
right.close()
selector.register(left, selectors.EVENT_READ)
selector.close()
left.close()

left, right = socket.socketpair()
with selectors.DefaultSelector() as selector:
    selector.register(left, selectors.EVENT_WRITE)
    assert len(selector.select()) == 1
    left.close()
    right.close()
