"""The oracle: a program in any language sends its events over WebSocket or HTTP; each is answered with its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from lawful.diagnostics import quoted
from lawful.engine.findings import plain
from lawful.engine.wording import expected
from lawful.errors import LawfulError
from lawful.laws.protocol import Verdict
from lawful.web.serving import json_response

if TYPE_CHECKING:
    from lawful.laws.protocol import Event, Law, Monitor

AnswerFormat = Literal["verdict", "error"]
"""How an answer looks: the event with its verdict in it, or `{"error": …, "event": …}`. Both have clients."""

STREAM_HEADER = "lawful-stream"

_WORST = {Verdict.TRUE: 0, Verdict.CURRENTLY_TRUE: 1, Verdict.CURRENTLY_FALSE: 2, Verdict.FALSE: 3}


@dataclass(frozen=True)
class OracleOptions:
    """The options of the oracle."""

    key: str | None = None  # a state for each value of this field, whatever connection it comes by
    answer_format: AnswerFormat = "verdict"
    go_on: bool = False  # after a violation: as if the event had not come
    most_bytes: int = 1_000_000  # in one message
    most_connections: int = 100
    most_states: int = 100_000


class OracleState:
    """The laws on one stream of events."""

    def __init__(self, laws: Sequence[Law], go_on: bool) -> None:
        self._monitors: list[tuple[Law, Monitor]] = [(law, law.monitor()) for law in laws]
        self._go_on = go_on
        self._wanted: dict[str, str] = {}  # by laws, when these were broken

    def judge(self, event: Event) -> tuple[Verdict, list[str], list[str]]:
        """The worst verdict of all laws; those that are broken, and what they would have accepted."""
        worst = Verdict.TRUE
        broken, wanted = [], []
        for law, monitor in self._monitors:
            verdict = monitor.step(event)
            if _WORST[verdict] > _WORST[worst]:
                worst = verdict
            if verdict is Verdict.FALSE:
                broken.append(law.name)
                if monitor.rejected_at == monitor.events or law.name not in self._wanted:
                    self._wanted[law.name] = expected(monitor.expectation(event))
                wanted.append(self._wanted[law.name])
                if self._go_on and monitor.rejected_at == monitor.events:
                    monitor.forgive()
        return worst, broken, [text for text in wanted if text]

    def end(self) -> Verdict:
        """The verdict if nothing comes any more."""
        verdicts = [monitor.end() for _, monitor in self._monitors]
        return max(verdicts, key=_WORST.__getitem__)


class Oracle:
    """The laws, the states of all clients, and how many events were answered."""

    def __init__(self, laws: Sequence[Law], options: OracleOptions | None = None) -> None:
        self.laws = tuple(laws)
        self.options = options or OracleOptions()
        self.connections = 0
        self.events = 0
        self.violations = 0
        self._states: dict[Any, OracleState] = {}
        self._decoder = msgspec.json.Decoder()

    def new_state(self) -> OracleState:
        """All laws, at their beginning."""
        return OracleState(self.laws, self.options.go_on)

    def answer(self, message: str | bytes, own: OracleState | None) -> bytes:
        """The answer to a message: the event and its verdict, or what is wrong with it.

        `own` is the state of the connection, if it has one.
        """
        try:
            event = self._decode(message)
            verdict, broken, wanted = self._state(event, own).judge(event)
        except LawfulError as refusal:  # the connection stays open
            error = {"slug": refusal.slug, "message": refusal.message}
            return msgspec.json.encode(
                {"error": error} if self.options.answer_format == "verdict" else {"error": True} | error
            )
        self.events += 1
        self.violations += verdict is Verdict.FALSE
        if self.options.answer_format == "error":
            answer: dict[str, Any] = {"error": verdict is Verdict.FALSE, "event": event, "verdict": verdict}
        else:
            answer = {**event, "verdict": verdict}
        if broken:
            answer["laws"] = broken
            answer["spec"] = " / ".join(wanted) if wanted else ", ".join(broken)
        return msgspec.json.encode(answer, enc_hook=plain)

    def _decode(self, message: str | bytes) -> Event:
        if len(message) > self.options.most_bytes:
            raise LawfulError("oracle-message-size", f"a message may have {self.options.most_bytes:,} bytes at most")
        try:
            event = self._decoder.decode(message)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise LawfulError("oracle-message", f"this is not JSON: {error}") from None
        if not isinstance(event, dict):
            raise LawfulError("oracle-message", "an event must be a JSON object")
        return event

    def _state(self, event: Event, own: OracleState | None) -> OracleState:
        key = self.options.key
        if key is None and own is not None:
            return own
        name = None if key is None else event.get(key)
        if key is not None and not isinstance(name, str | int):
            raise LawfulError("oracle-key", f"the event needs a field {quoted(key)} with a text or a whole number")
        return self.state((type(name).__name__, name))

    def state(self, name: Any) -> OracleState:
        """The state of this name, made when it is first asked for."""
        state = self._states.get(name)
        if state is None:
            if len(self._states) >= self.options.most_states:
                raise LawfulError("oracle-states", f"the oracle already keeps {len(self._states):,} states, its limit")
            state = self._states[name] = self.new_state()
        return state

    def forget(self, name: Any) -> OracleState | None:
        """Forget the state of this name."""
        return self._states.pop(name, None)


def application(oracle: Oracle) -> Starlette:
    """The oracle as a web application: WebSocket and POST on ``/``, DELETE ends a stream."""
    options = oracle.options

    async def converse(socket: WebSocket) -> None:
        if oracle.connections >= options.most_connections:
            await socket.close(1013, "the oracle has too many connections")
            return
        oracle.connections += 1
        try:
            await socket.accept()
            own = None if options.key is not None else oracle.new_state()
            while True:
                message = await socket.receive()
                if message["type"] == "websocket.disconnect":
                    return
                text = message.get("text")
                answer = oracle.answer(text if text is not None else message.get("bytes") or b"", own)
                await socket.send_text(answer.decode())
        except WebSocketDisconnect:
            return
        finally:
            oracle.connections -= 1

    async def ask(request: Request) -> Response:
        body = await _body(request, options.most_bytes)
        try:
            stream = None if options.key is not None else oracle.state(_stream(request))
        except LawfulError as refusal:
            return json_response({"error": {"slug": refusal.slug, "message": refusal.message}}, 503)
        answers = [oracle.answer(line, stream) for line in body.splitlines() or [b""] if line.strip() or not body]
        kind = "application/json" if len(answers) == 1 else "application/x-ndjson"
        return Response(b"\n".join(answers) + b"\n", media_type=kind)

    async def finish(request: Request) -> Response:
        names = _keys(request.query_params.get("key", "")) if options.key is not None else [_stream(request)]
        state = next((state for name in names if (state := oracle.forget(name)) is not None), None)
        if state is None:
            return json_response({"error": {"slug": "oracle-stream", "message": "this stream does not exist"}}, 404)
        return json_response({"verdict": state.end()})

    async def look(request: Request) -> Response:
        return json_response(
            {
                "laws": [law.name for law in oracle.laws],
                "connections": oracle.connections,
                "events": oracle.events,
                "violations": oracle.violations,
            }
        )

    return Starlette(
        routes=[
            WebSocketRoute("/", converse),
            Route("/", ask, methods=["POST"]),
            Route("/", finish, methods=["DELETE"]),
            Route("/", look, methods=["GET"]),
        ]
    )


def _stream(request: Request) -> tuple[str, str]:
    """The name of an HTTP client's state. HTTP connections are not reliable enough to stand for it."""
    return "stream", request.headers.get(STREAM_HEADER, "")


def _keys(text: str) -> list[tuple[str, str | int]]:
    """The states that a key in an address can mean."""
    whole: list[tuple[str, str | int]] = [("int", int(text))] if text.removeprefix("-").isdecimal() else []
    return [("str", text), *whole]


async def _body(request: Request, most: int) -> bytes:
    """The body, which may be larger than one event, but not without limit."""
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise HTTPException(413, f"a request may have {most:,} bytes at most")
            parts.append(part)
    except ClientDisconnect:
        raise HTTPException(400, "the request broke off") from None
    return b"".join(parts)
