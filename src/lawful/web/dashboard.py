"""The dashboard: a page that shows a run as it goes on, and the calls that control it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from importlib import resources
from typing import Any

import msgspec
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lawful.web.link import LOOK, PERIOD, STATE, ServerSide
from lawful.web.serving import json_response

MAX_VIEWERS = 20
_MAX_BODY = 1_000_000
_COMMAND_TIMEOUT = 10.0  # seconds that a command may take
_STATE_TIMEOUT = 3.0  # that a look at the state may take
_STATIC = {
    "app.js": "text/javascript; charset=utf-8",
    "app.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


class DashboardHub:
    """Connects the link to the program with all viewers.

    No viewer has a queue: a viewer that is ready gets all changes since its last update. A slow viewer costs nothing.
    """

    def __init__(self, side: ServerSide) -> None:
        self.side = side
        self.viewers = 0
        self._news = asyncio.Event()
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._last = 0

    def tell(self) -> None:
        """Wake all viewers: there is something new."""
        news, self._news = self._news, asyncio.Event()
        news.set()

    def take(self, line: bytes) -> None:
        """A line of the program's side."""
        for answer in self.side.take(line):
            future = self._asked.pop(answer["id"], None)
            if future is not None and not future.done():
                future.set_result(answer)
        self.tell()

    def end(self) -> None:
        """The program has ended."""
        self.side.end()
        for future in self._asked.values():
            if not future.done():
                future.set_result(_OVER)
        self._asked.clear()
        self.tell()

    async def ask(self, command: dict[str, Any], timeout: float = _COMMAND_TIMEOUT) -> dict[str, Any]:
        """Send a command to the program, and wait for its answer."""
        if self.side.ask is None:
            return _OVER
        self._last += 1
        number = self._last
        future = self._asked[number] = asyncio.get_running_loop().create_future()
        self.side.ask(msgspec.json.encode({**command, "id": number}) + b"\n")
        try:
            return await asyncio.wait_for(future, timeout)
        except TimeoutError:
            return _error("control-time", "the program does not answer")
        finally:
            self._asked.pop(number, None)

    async def refresh(self) -> None:
        """Ask the program for its state if the last one is old: without viewers it sends none."""
        known = -1
        while time.monotonic() > self.side.time + PERIOD or (self.side.more and known < len(self.side.findings)):
            known = len(self.side.findings)
            if "error" in await self.ask({"do": STATE}, _STATE_TIMEOUT):
                return

    def _count_viewers(self, change: int) -> None:
        """Count one viewer more or less; tell the program if there are viewers at all."""
        before, self.viewers = self.viewers, self.viewers + change
        if self.side.ask is not None and bool(before) != bool(self.viewers):
            self.side.ask(msgspec.json.encode({"do": LOOK, "on": bool(self.viewers)}) + b"\n")

    async def stream(self) -> AsyncIterator[ServerSentEvent]:
        """The changes, again and again, until the run is over and the viewer has all of them."""
        self._count_viewers(1)
        version = 0
        try:
            if self.viewers > MAX_VIEWERS:  # several came at once
                return
            while True:
                news = self._news
                reached, changes = self.side.since(version)
                if reached > version or version == 0:
                    yield ServerSentEvent(data=msgspec.json.encode(changes).decode(), id=str(reached))
                    version = max(reached, 1)
                if version >= self.side.version:
                    if self.side.over:
                        yield ServerSentEvent(event="over", data="{}")
                        return
                    await news.wait()
        finally:
            self._count_viewers(-1)


def _error(slug: str, message: str, hint: str | None = None) -> dict[str, Any]:
    return {"error": {"slug": slug, "message": message, "hint": hint}}


_OVER = _error("control-over", "the program is not watched any more")


def application(hub: DashboardHub) -> Starlette:
    """The page, its stream of changes, and its commands."""

    async def page(_: Request) -> Response:
        return Response(_file("index.html"), media_type="text/html; charset=utf-8")

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _STATIC:
            return Response(status_code=404)
        return Response(_file(name), media_type=_STATIC[name])

    async def state(_: Request) -> Response:
        await hub.refresh()
        return json_response(hub.side.since(0, most=10_000)[1])

    async def news(_: Request) -> Response:
        if hub.viewers >= MAX_VIEWERS:
            return Response("the dashboard has too many viewers\n", 503)
        return EventSourceResponse(hub.stream(), ping=15)

    async def do(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            hint = "send the header Content-Type: application/json"
            return json_response(_error("control-value", "a command must be JSON", hint), 415)
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _MAX_BODY:
                return json_response(_error("control-value", f"a command may have {_MAX_BODY:,} bytes at most"), 413)
        try:
            command = msgspec.json.decode(body, type=dict[str, Any])
        except msgspec.DecodeError as error:
            return json_response(_error("control-value", str(error)), 400)
        answer = await hub.ask(command)
        return json_response(answer, 400 if "error" in answer else 200)

    return Starlette(
        routes=[
            Route("/", page),
            Route("/static/{name}", static),
            Route("/state", state),
            Route("/news", news),
            Route("/do", do, methods=["POST"]),
        ]
    )


def _file(name: str) -> bytes:
    return resources.files("lawful.web").joinpath("static", name).read_bytes()
