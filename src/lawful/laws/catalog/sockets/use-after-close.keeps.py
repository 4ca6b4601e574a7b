"""Sockets are used while they are open; a server is stopped by closing its socket; a socket is closed twice."""

import socket
import threading

left, right = socket.socketpair()
with left, right:
    left.sendall(b"hello")
    assert right.recv(5) == b"hello"
left.close()
assert left.fileno() == -1

for _ in range(2):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()

left, right = socket.socketpair()
closed = threading.Event()
stopped: list[bool] = []


def serve() -> None:
    closed.wait()
    try:
        right.recv(1)
    except OSError:
        stopped.append(True)


server_thread = threading.Thread(target=serve)
server_thread.start()
right.close()
closed.set()
server_thread.join()
left.close()
assert stopped
