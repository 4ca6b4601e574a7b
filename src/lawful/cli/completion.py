"""``lawful completion``: the script that teaches a shell to complete Lawful's commands, options and files."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from lawful.cli.main import COMPLETE_VARIABLE, PROGRAM, cli

_EXAMPLES = """
\b
Examples:
  echo 'eval "$(lawful completion bash)"' >> ~/.bashrc
  echo 'eval "$(lawful completion zsh)"' >> ~/.zshrc
  lawful completion fish > ~/.config/fish/completions/lawful.fish
"""


@click.command(name="completion", epilog=_EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL: bash, zsh or fish.

    It takes effect in the next shell that you open.
    """
    kind = get_completion_class(shell)
    if kind is None:  # click knows all three; a click that forgot one is a fault, not bad usage
        raise RuntimeError(f"click has no completion for {shell}")
    click.echo(kind(cli, {}, PROGRAM, COMPLETE_VARIABLE).source())
