"""A socket is used until it is wrapped, and then its wrapper; the plain one may be closed."""

import socket
import ssl

context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname = False
plain, other = socket.socketpair()
plain.sendall(b"STARTTLS")
assert other.recv(20) == b"STARTTLS"
secure = context.wrap_socket(plain, do_handshake_on_connect=False)
plain.close()
assert secure.getsockname() == ""
secure.close()
other.close()
