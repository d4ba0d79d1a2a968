"""`python -m examples.agent [KEY]`: a worker and one task. With `--model-url URL --model NAME` a real model is asked.

The key of the endpoint, if it needs one, is in the environment variable MODEL_KEY.
"""

import argparse
import os
import tempfile
from pathlib import Path

from examples.agent.ledger import Ledger
from examples.agent.model import Model
from examples.agent.openai_compatible import OpenAiCompatible
from examples.agent.plan import Task, agent_definition, draft_id
from examples.agent.scripted import ScriptedModel
from examples.agent.shop import Draft, Outbox
from perdure.sync import Client

LETTER = "My order 17 is not here yet. Where is it? Ada"


def main(key: str, directory: Path, model: Model, task: Task) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    ledger, outbox = Ledger(directory / "calls.sqlite"), Outbox(directory / "letters.sqlite")
    definition = agent_definition(model, ledger, outbox)
    with Client() as client, client.worker(definition):
        run = client.start(definition, key=key, input=task)
        for event in run.watch():
            print(event, flush=True)
            if event.waits_for("confirm"):
                draft: Draft = run.get().steps["prepare"].output(Draft)
                print(f"\nTo {draft.to}, with {draft.refund_cents} cents:\n{draft.text}\n")
                print(f"Say yes or no: python -m examples.agent.confirm {key} {draft_id(draft)} yes", flush=True)
        print(run.result(str))
    print(f"{ledger.used(f'{key}/{run.ref.round}')} of {task.budget_tokens} tokens used")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("key", nargs="?", default="letter-1")
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir()) / "perdure-agent")
    parser.add_argument("--budget", type=int, default=Task.budget_tokens, help="tokens")
    parser.add_argument("--pause", type=float, default=0.5, help="seconds that a call of the scripted model takes")
    parser.add_argument("--model-url", help="such as http://127.0.0.1:11434/v1")
    parser.add_argument("--model", default="", help="the model's name there")
    given = parser.parse_args()
    if given.model_url:
        chosen: Model = OpenAiCompatible(given.model_url, given.model, os.environ.get("MODEL_KEY", ""))
    else:
        print("No model is installed: a scripted one stands in, whose answers are in scripted.py.", flush=True)
        chosen = ScriptedModel(given.pause)
    main(given.key, given.directory, chosen, Task(LETTER, given.budget))
