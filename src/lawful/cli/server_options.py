"""What the commands share that serve something over the network."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

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


def address_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where to listen, and who may come."""
    for option in reversed(
        (
            click.option(
                "--port",
                metavar="N",
                type=click.IntRange(0, 65535),
                default=0,
                show_default="any that is free",
                help="Where to listen.",
            ),
            click.option(
                "--host",
                default="127.0.0.1",
                show_default=True,
                help="Another address to listen on: whoever reaches it, and knows the token, gets in.",
            ),
            click.option("--token", metavar="TEXT", help="Use this token.  [default: a new one]"),
            click.option("--no-token", is_flag=True, help="Let everybody on this machine in."),
        )
    ):
        command = option(command)
    return command


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
    from lawful.web import security, serving, tokens

    if token is not None and no_token:
        raise LawfulError("usage", "--token and --no-token contradict each other", hint="leave out one of them")
    if token is not None and (len(token) < 8 or not token.isascii() or not token.isprintable()):
        raise LawfulError("web-token", "a token has 8 printable ASCII characters at least")
    secret = None if no_token else token or tokens.new_token()
    host, port = serving.address(found)
    hosts = security.answered_names(host, port)
    guard = security.Guard(app, token=secret, hosts=hosts, open_paths=open_paths, any_method=any_method)
    return guard, lambda scheme: serving.location(host, port, secret, scheme)
