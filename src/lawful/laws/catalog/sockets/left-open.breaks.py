"""A socket is used and forgotten."""

import socket
import warnings

warnings.simplefilter("ignore", ResourceWarning)


def free_port() -> int:
    probe = socket.socket()  # violation
    probe.bind(("127.0.0.1", 0))
    port: int = probe.getsockname()[1]
    return port


assert free_port() > 0
