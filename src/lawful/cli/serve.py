"""``lawful serve``: the dashboard of a run that is over."""

from __future__ import annotations

import click

from lawful.cli import options, server_options

_EXAMPLES = """
\b
Examples:
  lawful run --format json --output run.json app.py
  lawful serve run.json
"""


@click.command(name="serve", epilog=_EXAMPLES, context_settings=options.NARROW)
@click.argument("run", metavar="RUN", type=options.FILE)
@server_options.address_options
def command(run: str, host: str, port: int, token: str | None, no_token: bool) -> None:
    """Show a run that is over in a browser.

    RUN is the report of a run in JSON. A run that goes on is shown by `lawful run --serve`.

    The token is in the address that is printed. Ends with Ctrl-C.
    """
    server_options.needs_web("lawful serve")
    from lawful.web import dashboard, finished_run, serving

    side = finished_run.load(run)
    socket = serving.listen(host, port)
    app, shown = server_options.guarded(
        dashboard.application(dashboard.DashboardHub(side)), socket, token, no_token, open_paths=("/static/",)
    )
    click.echo(f"lawful: the run is shown at {shown('http')}", err=True)
    server_options.serve(app, socket)
