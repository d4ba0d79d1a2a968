"""The command `perdure`. Each command is a module of its own; the server adds `dev` and `serve` by entry points.

Exit codes are one table, in exits.py; docs/cli.md is the reference.
"""

from perdure.cli.commands import main

__all__ = ["main"]
