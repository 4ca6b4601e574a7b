"""Sockets are closed by `with` and by hand, detached, wrapped; one lives as long as the program."""

import os
import socket
import ssl
import threading

with socket.create_server(("127.0.0.1", 0)) as server:
    address = server.getsockname()
    client = threading.Thread(target=lambda: socket.create_connection(address).close())
    client.start()
    connection, _ = server.accept()
    connection.close()
    client.join()
del connection, server, client
left, right = socket.socketpair()
os.close(left.detach())
del left
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname = False
wrapped = context.wrap_socket(right, do_handshake_on_connect=False)
del right
wrapped.close()
forever = socket.socket()
