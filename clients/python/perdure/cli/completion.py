"""perdure completion, and what shells are told: types and keys come from the server, if it answers at once."""

from collections.abc import Callable
from datetime import timedelta
from itertools import islice
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from perdure import limits
from perdure.errors import PerdureError
from perdure.sync.client import Client

VARIABLE = "_PERDURE_COMPLETE"


HELP = """Print the script that completes commands, options, types and keys in SHELL.

\b
bash:  perdure completion bash > ~/.local/share/bash-completion/completions/perdure
zsh:   perdure completion zsh > ~/.zfunc/_perdure, after `fpath+=~/.zfunc`
fish:  perdure completion fish > ~/.config/fish/completions/perdure.fish
"""


@click.command(help=HELP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Prints what the shell's own library of completions makes."""
    found = get_completion_class(shell)
    root = click.get_current_context().find_root().command
    if found is None:
        raise click.UsageError(f"{shell} cannot be completed here")
    click.echo(found(root, {}, "perdure", VARIABLE).source(), nl=False)


def complete_type(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Types that have a definition."""
    del param

    def ask(client: Client) -> list[str]:
        found = islice(client.definitions.list(active_only=True), limits.COMPLETIONS)
        return [stored.workflow_type for stored in found]

    return _asked(ctx, incomplete, ask)


def complete_key(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Keys of the newest workflows of the type that stands before."""
    del param
    workflow_type = str(ctx.params.get("workflow_type") or "")

    def ask(client: Client) -> list[str]:
        return [workflow.business_key for workflow in islice(client.list(workflow_type), limits.COMPLETIONS)]

    return _asked(ctx, incomplete, ask) if workflow_type else []


def _asked(ctx: click.Context, incomplete: str, ask: Callable[[Client], list[str]]) -> list[CompletionItem]:
    within = timedelta(seconds=limits.COMPLETION_TIMEOUT)
    try:
        with Client(_given(ctx, "address"), namespace=_given(ctx, "namespace"), timeout=within, connect_timeout=within) as client:
            names = ask(client)
    except (PerdureError, ValueError):
        return []  # a shell waits for us: no server is no reason to write into its line
    return [CompletionItem(name) for name in dict.fromkeys(names) if name.startswith(incomplete)]


def _given(ctx: click.Context, name: str) -> str | None:
    value: Any = ctx.params.get(name)
    return value if isinstance(value, str) else None
