"""Servers for tests, each on a port of its own and on loopback."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest
from starlette.types import ASGIApp

from lawful.web import security, serving

TOKEN = "a-token-for-tests"


class Served:
    """A running server and its address."""

    def __init__(self, app: ASGIApp, *, token: str | None = TOKEN, any_method: bool = False, **limits: int) -> None:
        self.socket = serving.listen("127.0.0.1", 0)
        self.host, self.port = serving.address(self.socket)
        names = security.answered_names(self.host, self.port)
        guard = security.Guard(app, token=token, hosts=names, open_paths=("/static/",), any_method=any_method)
        self.server = serving.server(guard, **limits)
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],))
        self.thread.start()
        while not self.server.started and self.thread.is_alive():
            time.sleep(0.005)

    def address(self, scheme: str = "http", token: str | None = TOKEN) -> str:
        return serving.location(self.host, self.port, token, scheme)

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(10)
        self.socket.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    """Serves an application until the test is over."""
    running: list[Served] = []

    def begin(app: ASGIApp, **options: object) -> Served:
        running.append(Served(app, **options))  # type: ignore[arg-type]
        return running[-1]

    yield begin
    for each in running:
        each.stop()
