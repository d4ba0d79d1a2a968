"""perdure update-step: other limits and times for one step of one workflow."""

from typing import Any

import click

from perdure.cli.options import Duration
from perdure.cli.verbs import Told, Words, name_of, workflow_verb
from perdure.retry import Retry
from perdure.run import Run
from perdure.steps import StepPolicy


@workflow_verb
@click.argument("step")
@click.option("--priority", type=click.IntRange(0, 9), help="Higher is sooner.")
@click.option("--queue", default="", help="Queue that its claims come from.")
@click.option("--attempt-timeout", type=Duration(), help="How long one attempt may take.")
@click.option("--silence-timeout", type=Duration(), help="How long an activity may give no sign of life.")
@click.option("--step-timeout", type=Duration(), help="How long the step may take with all its attempts.")
@click.option("--queue-timeout", type=Duration(), help="How long it may wait for a worker.")
@click.option("--max-attempts", type=click.IntRange(1), help="How often it is tried; the intervals return to their defaults.")
@click.option("--on-exhausted", type=click.Choice(["fail_workflow", "hold", "skip_dependants", "continue"]), help="What if none is left.")
@click.option("--permit", "permits", type=(str, click.IntRange(0)), metavar="RESOURCE UNITS", multiple=True, help="Permits it holds.")
@click.option("--reset", multiple=True, metavar="FIELD", help="A field that returns to its default, such as retry; repeatable.")
async def update_step(run: Run, words: Words, /, *, step: str, reset: tuple[str, ...], **options: Any) -> Told:
    """Change limits and times of one step of one workflow; those of all: `perdure definitions apply --update-policy`.

    perdure update-step order order-42 charge --attempt-timeout 10m --max-attempts 20
    """
    most = options.pop("max_attempts")
    permits = dict(options.pop("permits"))
    policy = StepPolicy(retry=Retry(max_attempts=most) if most is not None else None, permits=permits, **options)
    if not policy.to_message().ListFields() and not reset:
        raise click.UsageError("say what should change, such as --attempt-timeout 10m")
    await run.update_step(step, policy, reset=reset, reason=words.reason, request_id=words.request_id)
    return Told(f"{name_of(run)}: {step} has other options now", {"step": step})
