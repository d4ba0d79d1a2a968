"""Definitions from the wire: refused by name where there are no rules yet, and the same again after a round trip."""

import re

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.v1.admin_service_pb2 import RegisterDefinitionRequest
from perdure.v1.claim_pb2 import OfferedDefinition
from perdure.v1.definition_pb2 import Definition as WireDefinition
from perdure.v1.definition_pb2 import MapStep as WireMap
from perdure.v1.definition_pb2 import StepDefinition as WireStep
from perdure.v1.definition_pb2 import StepPolicy as WirePolicy
from perdure_server.kernel import limits
from perdure_server.kernel.child_state import ParentClose
from perdure_server.kernel.contracts import fingerprint, with_contracts
from perdure_server.kernel.definition import Branch, ChildPlan, Definition, Exhaustion, Hook, Hooks, Join, Permit, StepDefinition, StepKind
from perdure_server.kernel.rejection import FieldViolation, Reason
from perdure_server.kernel.validation import validate
from perdure_server.kernel.values import Condition, RetryPolicy, Wait
from perdure_server.rpc.decode import definitions
from perdure_server.rpc.encode import definitions as encode
from perdure_server.rpc.faults import Faults, RequestRefused


def decoded(message: WireDefinition) -> Definition:
    faults = Faults()
    found = definitions.definition(message, "default", faults)
    faults.check()
    return found


def faults_of(message: WireDefinition) -> RequestRefused:
    with pytest.raises(RequestRefused) as caught:
        decoded(message)
    return caught.value


def with_step() -> tuple[WireDefinition, WireStep]:
    message = WireDefinition(workflow_type="note")
    return message, message.steps.add(name="a")


def test_permits_are_units_of_resources() -> None:
    message, step = with_step()
    step.policy.permits.add(resource="llm")
    step.policy.permits.add(resource="gpu", units=4)
    assert decoded(message).by_name["a"].permits == (Permit("llm", 1), Permit("gpu", 4))


def test_a_map_step_and_its_policy() -> None:
    message, step = with_step()
    step.name = "b"
    message.steps.add(name="a")
    step.map.items_from, step.map.child_workflow_type, step.map.join, step.map.required_count = "a", "x", WireMap.JOIN_N_OF_M, 2
    step.policy.max_in_flight = 7
    step.policy.parent_close = WirePolicy.PARENT_CLOSE_POLICY_ABANDON
    found = decoded(message).by_name["b"]
    assert found.child == ChildPlan("x", "a", join=Join.N_OF_M, required=2)
    assert (found.kind, found.depends_on, found.needs) == (StepKind.MAP, ("a",), ("a",))
    assert (found.max_in_flight, found.parent_close, found.retry.max_attempts) == (7, ParentClose.ABANDON, 1)


@pytest.mark.parametrize(("paged", "attempts"), [(True, 3), (False, 1)])
def test_only_pages_are_tried_again_by_themselves(paged: bool, attempts: int) -> None:
    message, step = with_step()
    step.map.child_workflow_type = "x"
    if paged:
        step.map.paged.SetInParent()
    else:
        step.map.items_from = "input"
    found = decoded(message).by_name["a"]
    assert (found.retry.max_attempts, found.by_worker) == (attempts, paged)


def test_a_join_or_a_closing_policy_that_is_not_known() -> None:
    message, step = with_step()
    step.map.join = 99  # type: ignore[assignment]  # of a newer client
    step.policy.parent_close = 99  # type: ignore[assignment]  # of a newer client
    assert {field for field, _ in faults_of(message).violations} == {
        "definition.steps[0].map.join",
        "definition.steps[0].policy.parent_close",
    }


def test_a_child_step_gets_the_input_where_it_names_nothing() -> None:
    message, step = with_step()
    step.child.child_workflow_type = "x"
    found = decoded(message).by_name["a"]
    assert (found.child, found.needs, found.kind) == (ChildPlan("x"), ("input",), StepKind.CHILD)


def test_defaults() -> None:
    message, _ = with_step()
    found = decoded(message)
    step = found.by_name["a"]
    assert (step.kind, step.queue, step.retry, step.attempt_timeout, step.silence_timeout, step.priority) == (
        StepKind.ACTIVITY,
        "default",
        RetryPolicy(),
        limits.ATTEMPT_TIMEOUT,
        None,
        None,
    )
    assert (found.cancel_grace, found.max_lost_claims, found.retention) == (limits.CANCEL_GRACE, limits.MAX_LOST_CLAIMS, None)


def test_needs_default_to_the_dependencies_or_to_the_input() -> None:
    message, _ = with_step()
    message.steps.add(name="b", depends_on=["a"])
    needing = message.steps.add(name="c", depends_on=["a"])
    needing.needs.names.extend(["b", "input"])
    nothing = message.steps.add(name="d", depends_on=["a"])
    nothing.needs.SetInParent()
    found = decoded(message).by_name
    assert [(step.depends_on, step.needs) for step in found.values()] == [
        ((), ("input",)),
        (("a",), ("a",)),
        (("a", "b"), ("b", "input")),
        (("a",), ()),
    ]


def test_a_hook_needs_what_there_is_without_depending_on_it() -> None:
    message, step = with_step()
    step.compensate_with = "undo"
    message.steps.add(name="undo").needs.names.extend(["a", "input"])
    message.steps.add(name="tidy").needs.names.append("a")
    message.hooks.failure_finalizer.step = "tidy"
    message.hooks.prepare_replay.step = "again"
    message.hooks.prepare_replay.required = False
    found = decoded(message)
    assert [(found.by_name[name].depends_on, found.by_name[name].needs) for name in ("undo", "tidy")] == [
        ((), ("a", "input")),
        ((), ("a",)),
    ]
    assert found.hooks == Hooks(failure_finalizer=Hook("tidy"), prepare_replay=Hook("again", required=False))


def test_unlimited_attempts_may_only_be_true_and_a_long_first_interval_lifts_the_default_cap() -> None:
    message, step = with_step()
    step.policy.retry.unlimited = True
    step.policy.retry.initial_interval.seconds = 3_600
    retry = decoded(message).by_name["a"].retry
    assert (retry.max_attempts, retry.initial_interval, retry.max_interval) == (None, 3_600_000, 3_600_000)
    step.policy.retry.unlimited = False
    assert [field for field, _ in faults_of(message).violations] == ["definition.steps[0].policy.retry.unlimited"]


def test_unknown_enum_values_are_refused() -> None:
    message, step = with_step()
    raw = step.policy.SerializeToString() + b"\x48\x63"  # on_exhausted = 99, of a newer client
    step.policy.MergeFromString(raw)
    assert [field for field, _ in faults_of(message).violations] == ["definition.steps[0].policy.on_exhausted"]


NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True).filter(lambda name: name != "input")
DURATIONS = st.integers(1, limits.DURATION)


@st.composite
def kernel_definitions(draw: st.DrawFn) -> Definition:
    names = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    steps = []
    for index, name in enumerate(names):
        depends_on = tuple(draw(st.lists(st.sampled_from(names[:index]), unique=True, max_size=3))) if index else ()
        needs = tuple(draw(st.lists(st.sampled_from([*depends_on, "input"]), unique=True, max_size=3)))
        waits = draw(st.booleans())
        steps.append(
            StepDefinition(
                name=name,
                kind=StepKind.WAIT if waits else StepKind.ACTIVITY,
                depends_on=depends_on,
                needs=needs,
                version=draw(st.text(max_size=5)),
                wait=Wait((Condition("s", "sig", draw(st.integers(1, 5)), choose=("x",)), Condition("t", after=draw(DURATIONS))))
                if waits
                else None,
                compensate_with=draw(st.sampled_from(["", *names])),
                branches=tuple(Branch(branch, (name,)) for branch in draw(st.lists(NAMES, max_size=2))),
                step_timeout=draw(st.none() | DURATIONS),
                step_timeout_includes_waits=draw(st.booleans()),
                queue_timeout=draw(st.none() | DURATIONS),
                on_exhausted=draw(st.sampled_from(Exhaustion)),
                queue=draw(st.sampled_from(["default", "gpu"])),
                retry=RetryPolicy() if waits else draw(retries()),
                attempt_timeout=limits.ATTEMPT_TIMEOUT if waits else draw(DURATIONS),
                silence_timeout=None if waits else draw(st.none() | st.integers(60_000, limits.DURATION)),
                priority=draw(st.none() | st.integers(0, 9)),
                description=draw(st.text(max_size=5)),
            )
        )
    return Definition(
        namespace="default",
        workflow_type="note",
        steps=tuple(steps),
        version=draw(st.text(max_size=5)),
        output_step=draw(st.sampled_from(names)),
        hooks=Hooks(*draw(st.tuples(*[st.none() | st.builds(Hook, st.sampled_from(names), st.booleans())] * 4))),
        workflow_timeout=draw(st.none() | DURATIONS),
        cancel_grace=draw(DURATIONS),
        max_lost_claims=draw(st.integers(1, 9)),
        retention=draw(DURATIONS),
    )


@st.composite
def retries(draw: st.DrawFn) -> RetryPolicy:
    first = draw(st.integers(0, 1_000_000))
    return RetryPolicy(
        max_attempts=draw(st.none() | st.integers(1, 100)),
        initial_interval=first,
        coefficient=draw(st.floats(1, 10)),
        max_interval=draw(st.integers(first, 10_000_000)),
        jitter=draw(st.floats(0, 1)),
        non_retryable_types=tuple(draw(st.lists(st.text(max_size=4), max_size=2))),
    )


@settings(max_examples=60)
@given(kernel_definitions())
def test_a_definition_comes_back_as_it_was(source: Definition) -> None:
    message = WireDefinition()
    encode.definition(message, source)
    found = decoded(WireDefinition.FromString(message.SerializeToString()))
    assert found == source
    assert fingerprint(with_contracts(found)) == fingerprint(with_contracts(source))


def test_every_path_of_the_kernels_validation_is_a_path_of_the_wire() -> None:
    bad = Definition(
        namespace="default",
        workflow_type="",
        version="v" * 200,
        output_step="nowhere",
        workflow_timeout=0,
        cancel_grace=-1,
        retention=-1,
        max_lost_claims=0,
        steps=(
            StepDefinition(
                "a",
                depends_on=("b", "zz"),
                needs=("a", "a"),
                queue="?",
                priority=10,
                attempt_timeout=0,
                silence_timeout=1,
                version="v" * 200,
            ),
            StepDefinition("b", depends_on=("a",), retry=RetryPolicy(0, -1, 0.5, -2, 2.0)),
            StepDefinition("c", kind=StepKind.WAIT),
            StepDefinition(
                "d", kind=StepKind.WAIT, wait=Wait((Condition("", "x" * 200, 1_000), Condition("t", after=-1), Condition("u", at=-1)))
            ),
            StepDefinition(
                "A", compensate_with="gone", branches=(Branch("x", ()), Branch("x", ("zz", "b"))), step_timeout=0, queue_timeout=-1
            ),
            StepDefinition("e", permits=(Permit("?", 0), Permit("?", 1))),
        ),
        hooks=Hooks(Hook("a"), Hook("nowhere"), Hook("a"), Hook("b")),
    )
    with pytest.raises(FieldViolation) as caught:
        validate(bad, 10_000)
    translated = definitions.with_wire_paths(caught.value)
    assert translated.reason is Reason.DEFINITION_CYCLE
    assert isinstance(translated, RequestRefused)
    assert "a -> b -> a" in translated.facts["cycle"] or "b -> a -> b" in translated.facts["cycle"]
    assert len(translated.violations) >= 20
    for field, _ in translated.violations:
        assert_path_exists(field)


def assert_path_exists(path: str) -> None:
    """Walks a path such as `definition.steps[0].policy.queue` through the descriptors."""
    message: Descriptor | None = RegisterDefinitionRequest.DESCRIPTOR
    for part in path.split("."):
        name, indexed = re.fullmatch(r"(\w+)(\[\d+\])?", part).groups()  # type: ignore[union-attr]  # a path of ours
        assert message is not None, f"{path}: {name} is below a plain value"
        assert name in message.fields_by_name, f"{path}: {message.name} has no {name}"
        found = message.fields_by_name[name]
        assert not indexed or found.is_repeated, path
        message = found.message_type if found.type == FieldDescriptor.TYPE_MESSAGE else None


def test_a_faulty_offer_spoils_only_itself() -> None:
    good = OfferedDefinition(definition=with_step()[0])
    bad = OfferedDefinition(definition=with_step()[0])
    bad.definition.steps[0].policy.attempt_timeout.seconds = -1
    found = definitions.offered([bad, good], "default")
    assert isinstance(found[0], FieldViolation)
    assert isinstance(found[1], Definition)
