"""Compares what MongoDB holds with what callers and workers were told. The one judge of all scenes.

Each rule is a promise of design/1-what-it-is.md or 2-kernel.md. A rule yields a sentence per breach; no breach, no sentence.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pymongo import AsyncMongoClient

from perdure_server.kernel.workflow import StepState, Workflow, WorkflowState
from perdure_server.store.documents import WRITE_ID, decode
from tests.chaos.job import ACTIVITIES, fails
from tests.chaos.journal import KINDS, Fact, describe
from tests.chaos.load import Load
from tests.chaos.scene import DATABASE, Scene

DEPENDENCIES: Final = {"fetch": ("input",), "left": ("fetch",), "right": ("fetch",), "publish": ("wait_go", "left", "right")}
# A late result may be told only that its claim is gone.
LATE: Final = frozenset({"CLAIM_LOST"})

StepName: TypeAlias = tuple[str, str]
Facts: TypeAlias = Mapping[str, Sequence[Fact]]  # by kind, each in the order of the journal


class Case:
    """Both sides: what was told, also grouped by (key, step), and what is stored, by key."""

    def __init__(self, told: Facts, stored: Mapping[str, Workflow], attempts: int) -> None:
        self.told = told
        self.stored = stored
        self.attempts = attempts
        self.begun = _group(told["begun"])
        self.sent = _group(told["sent"])
        self.answered = _group(told["answered"])

    def made_by(self, key: str, step: str) -> int | None:
        """The claim_no that sent what is stored; None: nobody did."""
        output = _output(self.stored[key], step)
        return next((fact.claim_no for fact in self.sent[key, step] if fact.output and json.loads(fact.output) == output), None)


@dataclass(frozen=True)
class Verdict:
    """What was compared, and every breach."""

    workflows: int
    begun: int
    begun_again: int
    answered: int
    late: int
    repeated: int
    unknown_calls: int
    watch_streams: int
    breaches: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.workflows} workflows, {self.begun} activities begun, {self.begun_again} of them because the claim before was lost, "
            f"{self.answered} results answered OK ({self.repeated} as repeats), {self.late} too late, {self.unknown_calls} calls repeated "
            f"by callers, {self.watch_streams} streams of watchers, {len(self.breaches)} breaches"
        )


async def check(load: Load) -> Verdict:
    """Read the store, apply every rule. The load must be closed: nobody writes any more."""
    facts = {what: list(load.reader.of(what)) for what in KINDS}
    case = Case(facts, await read(load.scene, load.workflow_type), load.attempts)
    breaches = tuple(breach for rule in RULES for breach in rule(case))
    answers = facts["answered"]
    return Verdict(
        workflows=len(case.stored),
        begun=len(facts["begun"]),
        begun_again=sum(max(0, len(begun) - 1 - fails(step, key, 1)) for (key, step), begun in case.begun.items()),
        answered=sum(not fact.reason for fact in answers),
        late=sum(fact.reason in LATE for fact in answers),
        repeated=sum(fact.duplicate for fact in answers),
        unknown_calls=load.unknown,
        watch_streams=load.streams,
        breaches=breaches,
    )


def _everything_accepted_is_there(case: Case) -> Iterator[str]:
    started = {fact.key for fact in case.told["started"]}
    for key in sorted(started ^ set(case.stored)):
        yield f"{key} is {'not stored, yet its start was answered OK' if key in started else 'stored, yet nobody started it'}"
    for fact in case.told["started"]:
        workflow = case.stored.get(fact.key)
        if workflow is not None and (workflow.run_id, workflow.fence) != (fact.run_id, fact.fence):
            yield f"{fact.key} is another run than its start was told: {describe(fact)}"


def _everything_has_ended_well(case: Case) -> Iterator[str]:
    for key, workflow in case.stored.items():
        if workflow.state is not WorkflowState.COMPLETED:
            yield f"{key} is {workflow.state.name}: {workflow.failed_step} {workflow.failure}"
        elif workflow.ready or workflow.sessions or workflow.inbox:
            yield f"{key} has ended, yet is in ready {workflow.ready}, sessions {workflow.sessions}, inbox {workflow.inbox}"


def _no_claim_began_twice(case: Case) -> Iterator[str]:
    for (key, step), facts in case.begun.items():
        numbers = [fact.claim_no for fact in facts]
        if len(numbers) != len(set(numbers)):
            yield f"{step} of {key}: one claim was begun twice: {numbers}"


def _no_stored_step_ran_again(case: Case) -> Iterator[str]:
    for (key, step), facts in case.begun.items():
        made_by = case.made_by(key, step) if key in case.stored else None
        answered = [fact.claim_no for fact in case.answered[key, step] if not fact.reason and _completed(case, fact)]
        last = min([number for number in (made_by, *answered) if number is not None], default=None)
        for fact in facts:
            if last is not None and fact.claim_no > last:
                yield f"{step} of {key} began again after claim {last} was stored: {describe(fact)}"


def _what_was_answered_is_stored(case: Case) -> Iterator[str]:
    for (key, step), facts in case.answered.items():
        effects = [fact for fact in facts if not fact.reason and _completed(case, fact)]
        made_by = case.made_by(key, step)
        for fact in effects:
            if fact.claim_no != made_by:
                yield f"{step} of {key}: OK for claim {fact.claim_no}, but stored is the output of claim {made_by}"
        if sum(not fact.duplicate for fact in effects) > 1:
            yield f"{step} of {key} had more than one effect: {[fact.claim_no for fact in effects]}"


def _what_is_stored_was_sent(case: Case) -> Iterator[str]:
    for key, workflow in case.stored.items():
        for step in ACTIVITIES:
            found = workflow.steps.get(step)
            if found is not None and found.state is StepState.COMPLETED and case.made_by(key, step) is None:
                yield f"{step} of {key} has an output that nobody sent: {_output(workflow, step)}"


def _no_refusal_was_a_lie(case: Case) -> Iterator[str]:
    for (key, step), facts in case.answered.items():
        for fact in facts:
            if fact.reason and fact.reason not in LATE:
                yield f"{step} of {key} was refused with {fact.reason}: {describe(fact)}"
            elif fact.reason and fact.claim_no == case.made_by(key, step):
                yield f"{step} of {key} was told {fact.reason}, yet its output is stored: {describe(fact)}"


def _inputs_were_the_stored_outputs(case: Case) -> Iterator[str]:
    given = ((fact, name, value) for facts in case.begun.values() for fact in facts for name, value in fact.inputs)
    for fact, name, value in given:
        stored = _output(case.stored[fact.key], name)
        if name not in DEPENDENCIES[fact.step]:
            yield f"{fact.step} of {fact.key} was given {name}, which it does not need"
        elif name != "input" and json.loads(value) != stored:
            yield f"{fact.step} of {fact.key} was given {name} = {value}, stored is {stored}"


def _attempts_are_bounded_and_counted(case: Case) -> Iterator[str]:
    for key, workflow in case.stored.items():
        for name, step in workflow.steps.items():
            begun = len(case.begun[key, name])
            if step.attempt > case.attempts or begun > step.claim_no:
                yield f"{name} of {key}: attempt {step.attempt} of {case.attempts}, {begun} begun, {step.claim_no} granted"


def _every_signal_counted_once(case: Case) -> Iterator[str]:
    for fact in case.told["signalled"]:
        workflow = case.stored[fact.key]
        wakes = (_output(workflow, "wait_go") or {}).get("wakes", [])
        if workflow.signal_ids.count(fact.signal_id) != 1 or [wake.get("signalId") for wake in wakes] != [fact.signal_id]:
            yield f"{fact.key}: signal {fact.signal_id} was answered OK; stored ids {workflow.signal_ids}, consumed {wakes}"


def _watchers_saw_everything(case: Case) -> Iterator[str]:
    for fact in case.told["watched"]:
        if fact.reason or fact.outcome != case.stored[fact.key].state.name:
            yield f"a watcher of {fact.key} saw it end as {fact.outcome}, {fact.reason or 'nothing missing'}"


RULES: Final[tuple[Callable[[Case], Iterator[str]], ...]] = (
    _everything_accepted_is_there,
    _everything_has_ended_well,
    _no_claim_began_twice,
    _no_stored_step_ran_again,
    _what_was_answered_is_stored,
    _what_is_stored_was_sent,
    _no_refusal_was_a_lie,
    _inputs_were_the_stored_outputs,
    _attempts_are_bounded_and_counted,
    _every_signal_counted_once,
    _watchers_saw_everything,
)


def _completed(case: Case, answer: Fact) -> bool:
    """Whether the result that this answers was a completed one."""
    return any(fact.claim_no == answer.claim_no and fact.outcome == "completed" for fact in case.sent[answer.key, answer.step])


def _output(workflow: Workflow, step: str) -> Any:
    found = workflow.steps.get(step)
    return json.loads(found.output.json) if found is not None and found.output is not None and found.output.json is not None else None


def _group(facts: Iterable[Fact]) -> Mapping[StepName, list[Fact]]:
    groups: defaultdict[StepName, list[Fact]] = defaultdict(list)
    for fact in facts:
        groups[fact.key, fact.step].append(fact)
    return groups


async def read(scene: Scene, workflow_type: str) -> dict[str, Workflow]:
    """What MongoDB holds of one type, by key; read past all servers."""
    client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(scene.store.url)
    try:
        found = client[DATABASE]["workflows"].find({"workflow_type": workflow_type})
        workflows = [decode({name: value for name, value in document.items() if name != WRITE_ID}) async for document in found]
    finally:
        await client.close()
    return {workflow.key.business_key: workflow for workflow in workflows}
