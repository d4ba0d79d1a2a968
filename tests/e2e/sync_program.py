"""A script on the synchronous client: `python -m tests.e2e.sync_program ADDRESS`. Works until SIGTERM."""

import sys

from perdure import Context, Definition
from perdure.sync import Client

definition = Definition("scripted")


@definition.step()
def work(ctx: Context[None], input: str) -> str:
    """Waits for a line, so that a test knows that it runs."""
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    return f"{input} {sys.stdin.readline().strip()}"


if __name__ == "__main__":
    with Client(sys.argv[1]) as client:
        client.worker(definition).run()
