"""What is left is received after sending was shut down; receiving is shut down, and sending goes on."""

import socket

left, right = socket.socketpair()
with left, right:
    left.sendall(b"question")
    left.shutdown(socket.SHUT_WR)
    assert right.recv(20) == b"question"
    assert right.recv(20) == b""
    right.shutdown(socket.SHUT_RD)
    right.sendall(b"answer")
    assert left.recv(20) == b"answer"
