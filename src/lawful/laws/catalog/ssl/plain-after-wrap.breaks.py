"""Bytes are sent through the plain socket."""

import socket
import ssl
from contextlib import suppress

context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname = False
plain, other = socket.socketpair()
with other, context.wrap_socket(plain, do_handshake_on_connect=False), suppress(OSError):
    plain.sendall(b"hello")  # violation
