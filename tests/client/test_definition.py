"""Definitions from decorated functions, and from files."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from perdure import (
    Chosen,
    Condition,
    Context,
    Definition,
    DefinitionRejected,
    Failure,
    Retry,
    Step,
    StepPolicy,
    Wait,
    Woken,
    WorkflowPolicy,
)
from perdure.definition_file import dump_definition, parse_definition
from perdure.v1 import definition_pb2


@dataclass
class Audio:
    url: str


def make() -> Definition:
    note = Definition("note", version="1", policy=WorkflowPolicy(workflow_timeout=timedelta(days=7)))

    @note.step(attempt_timeout=timedelta(minutes=2), retry=Retry(max_attempts=4, non_retryable=[ValueError, "asr.quota"]))
    async def transcribe(ctx: Context[str], input: Audio) -> str | Wait:
        """Turns speech into text.

        More.
        """
        return input.url

    @note.step(silence_timeout=timedelta(seconds=60), queue="gpu", priority=7, on_exhausted="hold", version="2", permits={"llm": 2})
    def compose(ctx: Context[None], transcribe: str, style: str = "plain") -> str:
        return transcribe + style

    at = Condition(at=datetime(2040, 1, 1, tzinfo=UTC))
    choice = note.wait("choice", at, after=compose, signal="choose", payload=int, timeout=timedelta(days=3))

    @note.step(after="choice")
    async def publish(ctx: Context[None], compose: str, input: Audio) -> int:
        return 1

    assert choice.payload is int
    return note


def test_parameters_become_needs_and_policies_travel() -> None:
    message = make().to_message()
    steps = {step.name: step for step in message.steps}
    assert list(steps) == ["transcribe", "compose", "choice", "publish"]
    assert (list(steps["transcribe"].needs.names), list(steps["transcribe"].depends_on)) == (["input"], [])
    assert steps["transcribe"].description == "Turns speech into text."
    assert list(steps["transcribe"].policy.retry.non_retryable_types) == ["ValueError", "asr.quota"]
    assert steps["transcribe"].policy.attempt_timeout.seconds == 120
    assert list(steps["compose"].needs.names) == ["transcribe"]  # a parameter with a default is nobody's step
    policy = steps["compose"].policy
    assert (policy.queue, policy.priority, policy.on_exhausted) == ("gpu", 7, definition_pb2.StepPolicy.ON_EXHAUSTED_HOLD)
    assert [(permit.resource, permit.units) for permit in policy.permits] == [("llm", 2)]
    assert steps["compose"].version == "2"
    assert [condition.WhichOneof("kind") for condition in steps["choice"].wait.wait.any_of] == ["at_time", "signal", "after"]
    assert steps["choice"].HasField("needs")
    assert (list(steps["publish"].needs.names), list(steps["publish"].depends_on)) == (["compose", "input"], ["compose", "choice"])
    assert message.policy.workflow_timeout.ToTimedelta() == timedelta(days=7)
    assert make().output_type() is int


async def test_a_step_is_still_its_function() -> None:
    note = make()
    assert callable(note.steps["compose"])
    context: Any = None
    assert note.steps["compose"](context, transcribe="a") == "aplain"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("@note.step()\nasync def a(ctx: Context[None], nope: int) -> None: ...", "'nope' is neither `input` nor a step declared above"),
        ("@note.step()\nasync def a() -> None: ...", "must be the context"),
        ("@note.step()\nasync def a(ctx: Context[None], *rest: int) -> None: ...", "inputs come by name"),
        ("@note.step(name='Bad-Name')\nasync def a(ctx: Context[None]) -> None: ...", "must match"),
        ("@note.step(name='input')\nasync def a(ctx: Context[None]) -> None: ...", "not be `input`"),
        ("@note.step(after='b')\nasync def a(ctx: Context[None]) -> None: ...", "names no step declared above"),
        ("@note.step(process=True)\nasync def a(ctx: Context[None]) -> None: ...", "plain `def`"),
        ("@note.hook('on_success')\ndef a(ctx: Context[None], b: int) -> None: ...", "its only input can be `input`"),
        ("@note.compensation(of='b')\ndef a(ctx: Context[None]) -> None: ...", "no activity declared above"),
        (
            "@note.hook('on_success')\ndef a(ctx: Context[None]): ...\n@note.hook('on_success')\ndef b(ctx: Context[None]): ...",
            "on_success already: a",
        ),
        ("@note.step()\ndef a(ctx: Context[None]) -> None: ...\n@note.step(name='a')\ndef b(ctx: Context[None]) -> None: ...", "already"),
    ],
)
def test_faults_are_named_where_the_step_is_declared(body: str, said: str) -> None:
    with pytest.raises(DefinitionRejected, match=said):
        exec(body, {"note": Definition("note"), "Context": Context})


def test_annotations_that_no_json_fits_are_named_when_the_worker_is_made() -> None:
    note = Definition("note")

    @note.step()
    async def a(ctx: Context[None], input: Audio | dict[str, int]) -> None: ...

    with pytest.raises(DefinitionRejected, match="'a': parameter 'input'"):
        note.to_message()


def test_the_output_of_a_wait_must_be_taken_as_woken() -> None:
    note = Definition("note")
    note.wait("choice", signal="choose")

    @note.step()
    async def a(ctx: Context[None], choice: int) -> None: ...

    with pytest.raises(DefinitionRejected, match=r"annotate it as Woken"):
        note.to_message()

    other = Definition("other")
    other.wait("choice", signal="choose")

    @other.step()
    async def b(ctx: Context[None], choice: Woken[int] | Failure) -> None: ...

    assert len(other.to_message().steps) == 2
    parameter = b.types.parameters["choice"]
    assert (parameter.is_woken, parameter.takes_failure, parameter.as_type) == (True, True, int)


def test_steps_of_other_programs_have_their_place() -> None:
    note = Definition("note")
    remote = note.remote_step("encode", needs="input", policy=StepPolicy(queue="gpu"))

    @note.step()
    async def after(ctx: Context[None], encode: bytes) -> None: ...

    steps = note.to_message().steps
    assert (list(steps[0].needs.names), steps[0].policy.queue, list(steps[1].depends_on)) == (["input"], "gpu", [remote.name])


def settled() -> Definition:
    order = Definition("order")

    @order.step()
    async def reserve(ctx: Context[None], input: str) -> str:
        return input

    @order.compensation(of=reserve, policy=StepPolicy(retry=Retry(max_attempts=9)))
    async def give_back(ctx: Context[None], input: str) -> None:
        """Frees it.

        More.
        """

    @order.step()
    async def decide(ctx: Context[None], reserve: str) -> Chosen[int]:
        return Chosen("send", 1)

    @order.step(after=[decide.branch("send"), reserve])
    async def send(ctx: Context[None]) -> None: ...

    wait = order.wait("person", Condition("no", choose=("stop",)), after=decide.branch("ask"), signal="yes")

    @order.step(after=wait.branch("stop"))
    def stop(ctx: Context[None]) -> None: ...

    @order.hook("failure_finalizer")
    async def tell(ctx: Context[None], input: str) -> None: ...

    @order.hook("on_success", required=False)
    def praise(ctx: Context[None]) -> None: ...

    return order


def test_hooks_compensations_and_branches_travel() -> None:
    message = settled().to_message()
    steps = {step.name: step for step in message.steps}
    assert steps["reserve"].compensate_with == "give_back"
    assert (steps["give_back"].description, steps["give_back"].policy.retry.max_attempts) == ("Frees it.", 9)
    assert {branch.name: list(branch.steps) for branch in steps["decide"].branches} == {"send": ["send"], "ask": ["person"]}
    assert list(steps["send"].depends_on) == ["decide", "reserve"]
    assert list(steps["person"].wait.wait.any_of[0].choose) == ["stop"]
    assert (message.hooks.failure_finalizer.step, message.hooks.failure_finalizer.HasField("required")) == ("tell", False)
    assert (message.hooks.on_success.step, message.hooks.on_success.required) == ("praise", False)
    assert not message.hooks.HasField("prepare_replay")
    assert parse_definition(dump_definition(message)).hooks == message.hooks
    assert parse_definition(dump_definition(message)).steps[2].branches == steps["decide"].branches


def test_the_output_is_that_of_the_only_step_that_nothing_comes_after() -> None:
    note = make()
    last = settled()
    assert (note.output_type(), last.output_type()) == (int, Any)

    @note.hook("failure_finalizer")
    async def tell(ctx: Context[None]) -> str:
        return ""

    assert note.output_type() is int
    decide = last.steps["decide"]
    assert isinstance(decide, Step)
    assert decide.types.output is int


def test_retry_says_one_thing() -> None:
    with pytest.raises(ValueError, match="not both"):
        Retry(max_attempts=2, unlimited=True)
    with pytest.raises(ValueError, match="at least 1"):
        Retry(max_attempts=0)
    assert Retry(unlimited=True).to_message().unlimited


def test_times_need_a_zone_and_waits_a_condition() -> None:
    with pytest.raises(ValueError, match="time zone"):
        Wait.any(at=datetime(2030, 1, 1))  # noqa: DTZ001 -- that is the fault
    with pytest.raises(ValueError, match="at least one"):
        Wait.any()
    with pytest.raises(ValueError, match="one of"):
        Condition(signal="a", after=timedelta(seconds=1))


FILE = """
workflow_type: note
version: "1"
output: publish
policy: {workflow_timeout: 7d, max_lost_claims: 3}
steps:
  transcribe:
    needs: [input]
    attempt_timeout: 2m
    retry: {max_attempts: 4, initial_interval: 500ms, non_retryable: [asr.quota]}
  compose:
    needs: [transcribe]
    silence_timeout: 1m30s
    on_exhausted: hold
  choice:
    after: [compose]
    wait: {any_of: [{signal: choose}, {after: 3d}, {at: 2040-01-01T00:00:00Z, name: end}]}
  publish:
    needs: [compose, choice]
"""


def test_a_file_is_read_and_written_back_the_same() -> None:
    definition = parse_definition(FILE)
    assert [step.name for step in definition.steps] == ["transcribe", "compose", "choice", "publish"]
    assert definition.steps[1].policy.silence_timeout.seconds == 90
    assert list(definition.steps[3].depends_on) == ["compose", "choice"]
    assert parse_definition(dump_definition(definition)) == definition


def test_a_python_definition_survives_the_file() -> None:
    message = make().to_message()
    again = parse_definition(dump_definition(message))
    for step in [*message.steps, *again.steps]:
        if step.WhichOneof("kind") == "wait":
            step.wait.wait.any_of[1].signal.count = 1
    assert again == message


def test_every_fault_of_a_file_is_named_at_once() -> None:
    text = """
workflow_type: note
version: 1.10
steps:
  a: {needs: [b], retry: {max_attempts: 2, unlimited: true}, attempt_timeout: 30}
  b: {after: [a], colour: red, silence_timeout: soon}
  c: {wait: {after: 3d, signal: x}, retry: {}}
"""
    with pytest.raises(DefinitionRejected) as caught:
        parse_definition(text)
    fields = {violation.field: violation.description for violation in caught.value.violations}
    places = "version steps.a.retry steps.a.attempt_timeout steps.b.colour steps.b.silence_timeout steps.c.retry steps.c.wait.any_of[0]"
    assert set(fields) == set(places.split())
    assert "quote it" in fields["version"]
    assert "30s" in fields["steps.a.attempt_timeout"]


def test_structure_is_checked_without_a_server() -> None:
    text = "workflow_type: note\nsteps:\n  a: {after: [c]}\n  b: {needs: [a, nope]}\n  c: {after: [b]}\n"
    with pytest.raises(DefinitionRejected) as caught:
        parse_definition(text)
    said = str(caught.value)
    assert "a -> c -> b -> a" in said
    assert "'nope', which is no step" in said


def test_a_key_given_twice_is_a_fault() -> None:
    with pytest.raises(DefinitionRejected, match="given twice"):
        parse_definition("workflow_type: a\nworkflow_type: b\n")
