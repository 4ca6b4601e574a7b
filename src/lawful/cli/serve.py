"""``lawful serve``: the dashboard of a run that is over."""

from __future__ import annotations

from contextlib import suppress

import click

from lawful.cli.server_options import address_options, guarded, needs_web
from lawful.errors import LawfulError

_EXAMPLES = """
\b
Examples:
  lawful run --format json --output run.json app.py
  lawful serve run.json
"""


@click.command(name="serve", epilog=_EXAMPLES, context_settings={"max_content_width": 80})
@click.argument("run", metavar="RUN", type=click.Path(readable=False))
@address_options
def command(run: str, host: str, port: int, token: str | None, no_token: bool) -> None:
    """Show a run that is over in a browser.

    RUN is the report of a run in JSON. A run that goes on is shown by `lawful run --serve`.

    The token is in the address that is printed. Ends with Ctrl-C.
    """
    needs_web("lawful serve")
    from lawful.web import dashboard, finished_run, serving

    side = finished_run.load(run)
    socket = serving.listen(host, port)
    app, shown = guarded(
        dashboard.application(dashboard.DashboardHub(side)), socket, token, no_token, open_paths=("/static/",)
    )
    click.echo(f"lawful: the run is shown at {shown('http')}", err=True)
    server = serving.server(app)
    with socket, suppress(KeyboardInterrupt):
        server.run([socket])
    if not server.started:
        raise LawfulError("serve-port", "the server did not start", where=f"{host}:{port}")
