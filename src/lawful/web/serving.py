"""Servers on a socket of their own: where they listen, their tokens, how they begin and end."""

from __future__ import annotations

import os
import socket
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING

from lawful.errors import LawfulError

if TYPE_CHECKING:
    import uvicorn
    from starlette.responses import Response
    from starlette.types import ASGIApp


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; with port 0 the system chooses one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio sends small answers at once only where it is.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        hint = "choose another port; 0 takes any that is free" if port else None
        raise LawfulError(
            "serve-port", f"cannot listen there: {error.strerror}", where=f"{host}:{port}", hint=hint
        ) from None
    found.listen(128)
    return found


def address(found: socket.socket) -> tuple[str, int]:
    """Where a socket listens."""
    host, port = found.getsockname()[:2]
    return host, port


def new_token() -> str:
    """A token that nobody can guess, of 32 characters."""
    # The module `secrets` does the same, but takes longer to import than everything else here.
    return urlsafe_b64encode(os.urandom(24)).decode()


def location(host: str, port: int, token: str | None, scheme: str = "http") -> str:
    """The address to be shown, with the token in it."""
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{port}/" + (f"?token={token}" if token is not None else "")


def json_response(value: object, status: int = 200) -> Response:
    """An answer in JSON."""
    import msgspec
    from starlette.responses import Response

    return Response(msgspec.json.encode(value) + b"\n", status, media_type="application/json")


def server(app: ASGIApp, *, most_bytes: int = 1_000_000) -> uvicorn.Server:
    """A server that logs nothing, and does not wait for endless streams when it stops."""
    import logging

    import uvicorn

    # asyncio would log every write to a client that has gone.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    return uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="critical",
            access_log=False,
            lifespan="off",
            ws="websockets-sansio",
            ws_max_size=most_bytes,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
    )
