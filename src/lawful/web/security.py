"""Access to Lawful's servers: the token, the accepted host names and origins."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_HEADER = "x-lawful-token"

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_READING = ("GET", "HEAD")


class Guard:
    """In front of an application: refuses requests without the token, for an unknown host, or from another origin.

    To read, the token may stand in the address, because a browser's address bar and its event streams cannot send
    headers. What changes something must send it as a header, which no page of another origin can do. `open_paths` need
    no token: they are the same for everybody. Without a token (the user has said so) everything else is still checked.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str | None,
        hosts: Iterable[str],
        open_paths: tuple[str, ...] = (),
        any_method: bool = False,
    ) -> None:
        """`hosts` are the names that a client may ask for, with their ports. `any_method`: an address may carry the
        token also for what changes something, for clients that are not browsers."""
        self._app = app
        self._token = token
        self._hosts = frozenset(host.lower() for host in hosts)
        self._open_paths = open_paths
        self._any_method = any_method

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, _guarded(send))
        elif scope["type"] == "http":
            await _refuse(refusal, send)
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": refusal})

    def _refusal(self, scope: Scope) -> str | None:
        """Why the server refuses this request; None if it does not."""
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            key = name.decode("latin-1").lower()
            if key in headers and key in ("host", "origin", TOKEN_HEADER):
                return f"the request has two headers {key}"
            headers[key] = value.decode("latin-1")
        if headers.get("host", "").lower() not in self._hosts:
            return "the header host names another server"
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{host}" for host in self._hosts}:
            return "the request comes from a page of another origin"
        if self._token is None or scope["path"].startswith(self._open_paths or ("\0",)):
            return None
        return None if self._knows(scope, headers) else "the token is missing or wrong"

    def _knows(self, scope: Scope, headers: dict[str, str]) -> bool:
        offered = headers.get(TOKEN_HEADER)
        if offered is None and headers.get("authorization", "").lower().startswith("bearer "):
            offered = headers["authorization"][7:].strip()
        reads = scope["type"] == "http" and scope["method"] in _READING
        if offered is None and (reads or self._any_method):
            offered = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        assert self._token is not None
        return secrets.compare_digest((offered or "").encode(), self._token.encode())


def _guarded(send: Send) -> Send:
    async def send_guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            known = {name.lower() for name, _ in message.get("headers", ())}
            added = [(name, value) for name, value in _HEADERS if name not in known]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return send_guarded


async def _refuse(reason: str, send: Send) -> None:
    body = f"refused: {reason}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()), *_HEADERS]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def answered_names(host: str, port: int) -> list[str]:
    """The names, with the port, by which a server on this host may be asked for."""
    names = list(LOOPBACK)
    plain = f"[{host}]" if ":" in host else host
    if plain not in names and host not in ("0.0.0.0", "::", ""):
        names.append(plain)
    return [f"{name}:{port}" for name in names] + (names if port == 80 else [])
