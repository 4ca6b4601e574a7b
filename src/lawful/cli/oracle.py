"""``lawful oracle``: verdicts over the network, for programs in any language."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lawful.cli import server_options
from lawful.cli.law_input import load_laws
from lawful.cli.options import FILE, NARROW
from lawful.errors import LawfulError

if TYPE_CHECKING:
    from lawful.web.oracle import AnswerFormat

_EXAMPLES = """
\b
Examples:
  lawful oracle fifo.rml --port 8080
  lawful oracle robot.rml --port 8080 --no-token
  lawful oracle sessions.rml --port 8080 --key session
"""


@click.command(name="oracle", epilog=_EXAMPLES, context_settings=NARROW)
@click.argument("laws", metavar="LAW...", nargs=-1, type=FILE)
@server_options.address_options
@click.option("--key", metavar="FIELD", help="Keep a state for each value of this field, not for each connection.")
@click.option(
    "--answer",
    "answer_format",
    type=click.Choice(["verdict", "error"]),
    default="verdict",
    show_default=True,
    help="Answer with the event and its `verdict` in it, or {error, event, verdict}.",
)
@click.option(
    "--go-on", is_flag=True, help="After a violation, go on as if that event had not come.  [default: it stays false]"
)
@click.option(
    "--max-message", metavar="BYTES", type=click.IntRange(min=2), default=1_000_000, show_default=True,
    help="Refuse larger messages.",
)  # fmt: skip
@click.option(
    "--max-connections", metavar="N", type=click.IntRange(min=1), default=100, show_default=True,
    help="Refuse more WebSocket connections.",
)  # fmt: skip
@click.option(
    "--max-states", metavar="N", type=click.IntRange(min=1), default=100_000, show_default=True,
    help="Refuse more keys or streams.",
)  # fmt: skip
def command(
    laws: tuple[str, ...],
    host: str,
    port: int,
    token: str | None,
    no_token: bool,
    key: str | None,
    answer_format: AnswerFormat,
    go_on: bool,
    max_message: int,
    max_connections: int,
    max_states: int,
) -> None:
    """Answer events with verdicts, over WebSocket or HTTP.

    A client sends events as JSON objects, each as one WebSocket message, or with POST as one line. Each is answered
    with the event and its verdict: true, currently_true, currently_false or false; after a violation `laws` are the
    broken ones, and `spec` is what would have been accepted. With several laws the worst verdict counts. Each WebSocket
    connection begins anew; over HTTP the header Lawful-Stream names the stream that an event belongs to.

    The token is in the address that is printed. A client may also send it as `Authorization: Bearer TOKEN`.

    Ends with Ctrl-C.
    """
    if not laws:
        raise LawfulError("usage", "there is no law", hint="lawful oracle LAW... --port N")
    server_options.needs_web("lawful oracle")
    from lawful.web import oracle, serving

    loaded = load_laws(laws)
    options = oracle.OracleOptions(key, answer_format, go_on, max_message, max_connections, max_states)
    socket = serving.listen(host, port)
    app, shown = server_options.guarded(
        oracle.application(oracle.Oracle(loaded, options)), socket, token, no_token, any_method=True
    )
    click.echo(f"lawful: answering at {shown('ws')} and {shown('http')}", err=True)
    server_options.serve(app, socket, most_bytes=4 * max_message)
    click.echo("lawful: the oracle has ended", err=True)
