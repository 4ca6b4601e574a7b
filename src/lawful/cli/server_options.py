"""Commands that serve over the network: their options, and how they serve."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from lawful.cli.options import options
from lawful.errors import LawfulError

if TYPE_CHECKING:
    from socket import socket

    from starlette.types import ASGIApp

_NEEDED = ("starlette", "uvicorn", "sse_starlette", "websockets")


def needs_web(what: str) -> None:
    """The packages that servers need are an extra."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise LawfulError(
            "web-missing", f"{what} needs {', '.join(missing)}", hint="install them with: pip install 'lawful[web]'"
        )


address_options = options(
    click.option(
        "--port",
        metavar="N",
        type=click.IntRange(0, 65535),
        default=0,
        show_default="any that is free",
        help="Listen on this port.",
    ),
    click.option(
        "--host",
        default="127.0.0.1",
        show_default=True,
        help="Listen on this address: whoever reaches it, and knows the token, gets in.",
    ),
    click.option("--token", metavar="TEXT", help="Use this token.  [default: a new one]"),
    click.option("--no-token", is_flag=True, help="Let everybody on this machine in."),
)


def serve(app: ASGIApp, socket: socket, *, most_bytes: int = 1_000_000) -> None:
    """Serve on the socket until Ctrl-C."""
    from lawful.web import serving

    server = serving.server(app, most_bytes=most_bytes)
    with socket, suppress(KeyboardInterrupt):
        where = "{}:{}".format(*serving.address(socket))
        server.run([socket])
    if not server.started:
        raise LawfulError("serve-port", "the server did not start", where=where)


def guarded(
    app: ASGIApp,
    found: socket,
    token: str | None,
    no_token: bool,
    *,
    open_paths: tuple[str, ...] = (),
    any_method: bool = False,
) -> tuple[ASGIApp, Callable[[str], str]]:
    """The application behind its guard, and what its addresses are."""
    from lawful.web import security, serving

    if token is not None and no_token:
        raise LawfulError("usage", "--token and --no-token contradict each other", hint="leave out one of them")
    if token is not None and (len(token) < 8 or not token.isascii() or not token.isprintable()):
        raise LawfulError("web-token", "a token has 8 printable ASCII characters at least")
    secret = None if no_token else token or serving.new_token()
    host, port = serving.address(found)
    hosts = security.answered_names(host, port)
    guard = security.Guard(app, token=secret, hosts=hosts, open_paths=open_paths, any_method=any_method)
    return guard, lambda scheme: serving.location(host, port, secret, scheme)
