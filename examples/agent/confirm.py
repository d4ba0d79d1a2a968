"""`python -m examples.agent.confirm KEY DRAFT yes|no`: what a page with two buttons would do."""

import argparse
import getpass

from examples.agent.plan import Decision
from perdure.sync import Client

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("key")
    parser.add_argument("draft", help="as the agent has told it")
    parser.add_argument("answer", choices=["yes", "no"])
    given = parser.parse_args()
    with Client() as client:
        decision = Decision(given.answer == "yes", given.draft, getpass.getuser())
        # Named after the draft: two clicks are one decision.
        client.run("agent", given.key).signal("confirm", decision, signal_id=f"confirm-{given.draft}")
