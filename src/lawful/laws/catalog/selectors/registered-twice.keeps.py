"""What is registered is modified, or unregistered and registered again; what is not there is asked for."""

import selectors
import socket
from contextlib import suppress

left, right = socket.socketpair()
with selectors.DefaultSelector() as selector, left, right:
    selector.register(left, selectors.EVENT_READ)
    selector.modify(left, selectors.EVENT_WRITE)
    selector.unregister(left)
    selector.register(left, selectors.EVENT_READ)
    with suppress(KeyError):
        selector.get_key(right)
    with suppress(KeyError):
        selector.unregister(right)
    selector.unregister(left)
