"""The judge of the scenes is judged: a faultless story passes, and each rule finds the breach that it is for. Part of `make test`."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace as changed

import pytest
from msgspec.structs import replace

from perdure_server.kernel.values import Payload, Trace
from perdure_server.kernel.workflow import Step, StepState, Workflow, WorkflowKey, WorkflowState
from tests.chaos.checker import RULES, Case
from tests.chaos.journal import Fact

CLAIMS = {"fetch": 1, "left": 2, "right": 1, "publish": 1}
OUTPUTS = {step: [step, claim_no] for step, claim_no in CLAIMS.items()}
WAKES = {"condition": "wait_go", "wakes": [{"condition": "wait_go", "signalId": "go-k"}]}
INPUTS = {"fetch": ("input",), "left": ("fetch",), "right": ("fetch",), "publish": ("left", "right", "wait_go")}

Story = tuple[list[Fact], Workflow]


def stored() -> Workflow:
    """One workflow that has completed; the first claim of `left` was lost."""
    steps = {
        name: Step(StepState.COMPLETED, 0, claim_no=claim_no, attempt=claim_no, output=Payload(json=json.dumps(OUTPUTS[name])))
        for name, claim_no in CLAIMS.items()
    }
    steps["wait_go"] = Step(StepState.COMPLETED, 0, output=Payload(json=json.dumps(WAKES)))
    return Workflow(
        key=WorkflowKey("default", "job", "k"),
        run_id="a" * 24,
        round=1,
        fence=7,
        revision=9,
        state=WorkflowState.COMPLETED,
        update_time=0,
        start_time=0,
        fingerprint="f",
        steps=steps,
        remaining=0,
        step_count=5,
        trace=Trace("0" * 32, "0" * 16),
        signal_ids=("go-k",),
    )


def told() -> list[Fact]:
    """What everybody was told of it."""
    facts = [
        Fact("started", "k", run_id="a" * 24, fence=7),
        Fact("signalled", "k", signal_id="go-k"),
        Fact("begun", "k", "left", 1, inputs=_inputs("left")),
    ]
    for step, claim_no in CLAIMS.items():
        facts += [
            Fact("begun", "k", step, claim_no, inputs=_inputs(step)),
            Fact("sent", "k", step, claim_no, outcome="completed", output=json.dumps(OUTPUTS[step])),
            Fact("answered", "k", step, claim_no),
        ]
    return facts


def _inputs(step: str) -> tuple[tuple[str, str], ...]:
    values = {**OUTPUTS, "input": 7, "wait_go": WAKES}
    return tuple((name, json.dumps(values[name])) for name in INPUTS[step])


def breaches(facts: Iterable[Fact], *workflows: Workflow) -> list[str]:
    """What the rules say of it."""
    found: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        found[fact.what].append(fact)
    case = Case(found, {workflow.key.business_key: workflow for workflow in workflows}, attempts=3)
    return [breach for rule in RULES for breach in rule(case)]


def test_a_faultless_story_passes() -> None:
    assert breaches(told(), stored()) == []


def answered(step: str, claim_no: int, reason: str = "") -> Fact:
    return Fact("answered", "k", step, claim_no, reason=reason)


def with_step(step: str, **fields: object) -> Callable[[Story], Story]:
    def change(story: Story) -> Story:
        facts, workflow = story
        return facts, replace(workflow, steps={**workflow.steps, step: replace(workflow.steps[step], **fields)})

    return change


def with_workflow(**fields: object) -> Callable[[Story], Story]:
    return lambda story: (story[0], replace(story[1], **fields))


def with_facts(*more: Fact) -> Callable[[Story], Story]:
    return lambda story: ([*story[0], *more], story[1])


def other_input(story: Story) -> Story:
    facts, workflow = story
    return [
        changed(fact, inputs=(("fetch", '["other"]'),)) if (fact.what, fact.step) == ("begun", "right") else fact for fact in facts
    ], workflow


BREACHES: dict[str, tuple[Callable[[Story], Story], str]] = {
    "another run": (with_workflow(run_id="b" * 24), "another run"),
    "not accepted": (with_facts(Fact("started", "lost", run_id="c" * 24)), "lost is not stored"),
    "failed": (with_workflow(state=WorkflowState.FAILED), "k is FAILED"),
    "still ready": (with_workflow(ready=("q",)), "has ended, yet is in ready"),
    "begun twice": (with_facts(Fact("begun", "k", "left", 2)), "one claim was begun twice"),
    "ran again": (with_facts(Fact("begun", "k", "fetch", 2)), "fetch of k began again after claim 1 was stored"),
    "lost output": (with_step("fetch", output=Payload(json='["fetch",9]')), "OK for claim 1, but stored is the output of claim None"),
    "no output": (with_step("fetch", output=None), "has an output that nobody sent"),
    "two effects": (
        with_facts(Fact("sent", "k", "left", 1, outcome="completed", output='["left",1]'), answered("left", 1)),
        "had more than one effect",
    ),
    "false refusal": (with_facts(answered("fetch", 1, "CLAIM_LOST")), "was told CLAIM_LOST, yet its output is stored"),
    "strange refusal": (with_facts(answered("left", 1, "INTERNAL")), "was refused with INTERNAL"),
    "other input": (other_input, "was given fetch"),
    "unneeded input": (with_facts(Fact("begun", "k", "left", 1, inputs=(("right", "1"),))), "which it does not need"),
    "too many attempts": (with_step("fetch", attempt=4, claim_no=4), "attempt 4 of 3"),
    "signal lost": (with_workflow(signal_ids=()), "signal go-k was answered OK"),
    "watcher missed": (with_facts(Fact("watched", "k", outcome="COMPLETED", reason="[4] missing")), "saw it end as COMPLETED, [4] missing"),
    "watcher misled": (with_facts(Fact("watched", "k", outcome="FAILED")), "saw it end as FAILED"),
    "signal not consumed": (with_step("wait_go", output=None), "signal go-k was answered OK"),
}


@pytest.mark.parametrize("name", BREACHES)
def test_each_rule_finds_its_breach(name: str) -> None:
    change, expected = BREACHES[name]
    facts, workflow = change((told(), stored()))
    found = breaches(facts, workflow)
    assert any(expected in breach for breach in found), found
