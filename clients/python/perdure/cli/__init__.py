"""The command `perdure`. Each command is a module of its own; the server adds `dev` and `serve` by entry points.

Exit codes:

    0    done
    1    the workflow has ended, but not COMPLETED (result, watch, start --wait); a check failed (doctor)
    2    wrong usage
    3    no server was reached, or there was no answer in time
    4    refused: a value is wrong, or it is not possible in this state
    5    there is no such workflow or definition
    6    no or wrong credentials, or a role is missing
    70   a bug of the server's or of this command
    130  interrupted
"""

from perdure.cli.commands import main

__all__ = ["main"]
