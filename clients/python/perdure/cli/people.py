"""What a person decides about a workflow: perdure cancel, pause, resume, terminate, replay, resolve, delete."""

import click

from perdure.cli.options import Json
from perdure.cli.verbs import Told, Words, name_of, sure, workflow_verb, yes_option
from perdure.failure import Failure
from perdure.payloads import Payload
from perdure.resolution import Resolution
from perdure.run import Run


@workflow_verb
async def cancel(run: Run, words: Words) -> Told:
    """Ask a workflow to cancel: running steps are told to stop, no new ones begin."""
    state = await run.cancel(words.reason, request_id=words.request_id)
    return Told(f"{name_of(run)} is {state}", {"state": state})


@workflow_verb
async def pause(run: Run, words: Words) -> Told:
    """Begin no step of a workflow any more, until it is resumed; what runs goes on."""
    await run.pause(words.reason, request_id=words.request_id)
    return Told(f"{name_of(run)} is paused; `perdure resume {run.ref.workflow_type} {run.key}` ends that", {"paused": True})


@workflow_verb
async def resume(run: Run, words: Words) -> Told:
    """Let a paused workflow go on."""
    await run.resume(words.reason, request_id=words.request_id)
    return Told(f"{name_of(run)} goes on", {"paused": False})


@workflow_verb
@yes_option
async def terminate(run: Run, words: Words, *, yes: bool) -> Told:
    """End a workflow at once: no hook runs, nothing is compensated. `perdure cancel` ends it in order."""
    sure(f"Terminate {name_of(run)} without its hooks?", yes=yes)
    await run.terminate(words.reason, request_id=words.request_id)
    return Told(f"{name_of(run)} is TERMINATED", {"state": "TERMINATED"})


@workflow_verb
@click.option("--reopen", multiple=True, metavar="STEP", help="A completed step to do again, with what comes after it; repeatable.")
@click.option("--fence", type=int, help="Only if this is its fence: then it happens once, however often it is sent.")
async def replay(run: Run, words: Words, *, reopen: tuple[str, ...], fence: int | None) -> Told:
    """Let an ended workflow go on: what did not complete is done again, what completed is kept."""
    done = await run.expecting(fence).replay(reopen=reopen, reason=words.reason, request_id=words.request_id)
    text = f"{name_of(run)} goes on with {', '.join(done.reopened) or 'nothing'}"
    if done.in_doubt:
        text += f"; not done again, though perhaps undone: {', '.join(done.in_doubt)} (see --reopen)"
    return Told(text, {"reopenedSteps": list(done.reopened), "inDoubtSteps": list(done.in_doubt)})


@workflow_verb
@click.argument("step")
@click.argument("decision", type=click.Choice(["retry", "complete", "fail", "pass"]))
@click.option("--output", type=Json(), help="For `complete`: what dependants get, as JSON; @FILE and - read it from there.")
@click.option("--branch", multiple=True, help="For `complete`: a branch that is taken; may be repeated.")
async def resolve(run: Run, words: Words, *, step: str, decision: str, output: Payload | None, branch: tuple[str, ...]) -> Told:
    """Decide about a step that needs a person: retry it, or count it as completed, failed, or passed. A --reason is required.

    perdure resolve payout p-42 pay complete --output '"paid in cash"' --reason "done by hand"
    """
    if decision != "complete" and (output is not None or branch):
        raise click.UsageError("--output and --branch go with `complete`")
    if not words.reason:
        raise click.UsageError("give a --reason: it stays in the audit trail")
    resolutions = {
        "retry": Resolution.retry,
        "complete": lambda: Resolution.completed(output, branches=branch),
        "fail": lambda: Resolution.failed(Failure("perdure.resolved", words.reason)),
        "pass": Resolution.pass_over,
    }
    await run.resolve(step, resolutions[decision](), reason=words.reason, request_id=words.request_id)
    return Told(f"{name_of(run)}: {step} is resolved ({decision})", {"step": step, "decision": decision})


@workflow_verb
@yes_option
async def delete(run: Run, words: Words, *, yes: bool) -> Told:
    """Remove an ended workflow with all its rounds and values."""
    sure(f"Delete {name_of(run)} for good?", yes=yes)
    await run.delete(words.reason, request_id=words.request_id)
    return Told(f"{name_of(run)} is deleted", {"deleted": True})
