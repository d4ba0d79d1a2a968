"""Map and child steps: what is open, what ends them, and what becomes of the children then."""

import pytest
from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.child_state import Parent, ParentClose, child_key
from perdure_server.kernel.children import MAP_SOURCE_INVALID, SourceInvalid, items_of, pack, unpack
from perdure_server.kernel.contracts import with_contracts
from perdure_server.kernel.definition import Exhaustion, Join
from perdure_server.kernel.effects import ChildrenOpened
from perdure_server.kernel.outcomes import Completed, Failed, Page
from perdure_server.kernel.rejection import Reason
from perdure_server.kernel.resolving import PassedOver, Retried
from perdure_server.kernel.values import Failure, Payload, PayloadRef, RetryPolicy
from perdure_server.kernel.workflow import DutyKind, StepState, WorkflowState
from tests.kernel.families import (
    FAILED,
    childing,
    children,
    duties,
    ended,
    made,
    mapped,
    mapping,
    page,
    paged,
    paging,
    result,
    to_close,
)
from tests.kernel.harness import Run, activity, payload, plan, refused

S, W = StepState, WorkflowState


def test_intent_first_at_most_max_in_flight_are_open() -> None:
    run = mapped(5, max_in_flight=2)
    assert run.state("m") is S.WAITING
    assert (children(run).open, children(run).cursor, children(run).total) == ((0, 1), 2, 5)
    assert ChildrenOpened("m") in run.effects
    assert [duty.subject for duty in duties(run, DutyKind.TEND_CHILDREN)] == ["m"]
    ended(run, 1)
    assert children(run).open == (0, 2)
    ended(run, 0, 2)
    assert children(run).open == (3, 4)
    ended(run, 3)
    assert run.state("m") is S.WAITING
    ended(run, 4)
    assert run.state("m") is S.COMPLETED
    assert result(run)["progress"] == {"totalCount": "5", "completedCount": "5", "totalKnown": True}
    assert not run.workflow.duties
    assert run.state("z") is S.READY


def test_c46_an_end_counts_once_however_often_it_is_reported() -> None:
    run = mapped(3)
    assert [end.index for end in ended(run, 1, 1)] == [1]
    assert ended(run, 1) == []
    assert ended(run, 7) == []  # never opened
    assert ended(run, 0, generation=1) == []
    assert (children(run).completed, children(run).open) == (1, (0, 2))


@pytest.mark.parametrize("joined", Join)
def test_an_empty_list_is_an_empty_result(joined: Join) -> None:
    run = mapped(0, joined=joined, required=3 if joined is Join.N_OF_M else 0)
    assert run.state("m") is S.COMPLETED
    assert result(run)["progress"] == {"totalKnown": True}
    assert run.state("z") is S.READY


def test_a_dependency_s_output_is_the_source() -> None:
    run = Run(plan("split", mapping("m: split", "split")))
    run.grant("split")
    run.complete("split", ["a", "b"])
    assert children(run).total == 2


def test_a_source_in_a_document_of_its_own_is_counted_by_the_engine() -> None:
    run = Run(plan("split", mapping("m: split", "split")))
    run.grant("split")
    run.report("split", Completed(Payload(ref=PayloadRef("p", 99_999))))
    assert run.state("m") is S.WAITING
    assert not children(run).known
    assert duties(run, DutyKind.TEND_CHILDREN)


@pytest.mark.parametrize("source", [None, payload({"a": 1}), payload(7), Payload(binary=b"[]"), Payload(json="[]", encoding="zip")])
def test_c44_a_source_that_is_no_array_fails_the_step_with_a_reason(source: Payload | None) -> None:
    run = Run(plan(mapping("m", retry=RetryPolicy())), input=source)
    failure = run.step("m").failure
    assert (run.state("m"), run.is_()) == (S.FAILED, W.FAILED)
    assert failure is not None
    assert failure.type == MAP_SOURCE_INVALID
    assert not run.workflow.duties


def test_items_are_taken_as_they_are_written() -> None:
    text = '[1.50, {"b": 1, "a": [2]},"x,]", 12345678901234567890]'
    assert items_of(Payload(json=text)) == ["1.50", '{"b": 1, "a": [2]}', '"x,]"', "12345678901234567890"]
    with pytest.raises(SourceInvalid):
        items_of(Payload(json="[1"))


def test_c47_more_children_than_are_allowed_are_refused_at_the_expansion() -> None:
    run = Run(plan(mapping("m")), input=Payload(json="[" + "0," * limits.MAP_CHILDREN + "0]"))
    failure = run.step("m").failure
    assert failure is not None
    assert failure.type == "MAP_TOO_LARGE"
    assert str(limits.MAP_CHILDREN) in failure.message


def test_keys_are_deterministic_and_never_too_long() -> None:
    parent = Parent("note", "note-1", 2, "a" * 24, "m", 1, 17)
    assert child_key(parent) == f"note-1/m/2-{'a' * 24}.1.17"
    long = replace(parent, business_key="k" * limits.KEY_LENGTH)
    assert len(child_key(long)) <= limits.KEY_LENGTH
    assert child_key(long) != child_key(replace(long, index=18))


def test_a_page_is_packed_and_unpacked() -> None:
    page_of = (payload(1), Payload(binary=b"x", encoding="zip", metadata={"a": b"b"}))
    assert unpack(pack(page_of)) == page_of
    with pytest.raises(SourceInvalid):
        unpack(Payload(binary=b"nonsense"))


def idle_pages(run: Run) -> list[int]:
    """The pauses (ms) after empty pages with one cursor, until the step is no longer backing off."""
    pauses: list[int] = []
    while True:
        run.grant("m")
        page(run, 0, cursor=1)
        due = run.step("m").due
        if run.step("m").state is not S.BACKOFF or due is None:
            return pauses
        pauses.append(due - run.now)
        run.pass_time(due - run.now)


def test_empty_pages_with_the_same_cursor_back_off_and_the_last_allowed_one_fails_the_step() -> None:
    run = paged(2)
    pauses = idle_pages(run)
    assert pauses == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, *[60_000] * (limits.IDLE_PAGES - 7)]
    failure = run.step("m").failure
    assert failure is not None
    assert (run.step("m").state, failure.type) == (S.FAILED, "MAP_SOURCE_INVALID")
    assert f"{limits.IDLE_PAGES} empty pages in a row had the same cursor" in failure.message
    assert [closing.open for closing in to_close(run)] == [(0, 1)], "what it had started is closed"


def test_a_page_that_brings_something_or_moves_on_is_asked_for_at_once() -> None:
    run = paged(1)
    for size, cursor in ((0, 2), (0, 3), (1, 3), (0, 4)):
        run.grant("m")
        page(run, size, cursor=cursor)
        made(run)
        assert run.step("m").state is S.READY, "an empty page is no fault, nor is a cursor that stands"
    run.grant("m")
    page(run, 0, cursor=4)
    assert run.step("m").state is S.BACKOFF
    run.pass_time(1_000)
    run.grant("m")
    page(run, 1, cursor=4)
    made(run)
    run.grant("m")
    page(run, 0, cursor=4)
    due = run.step("m").due
    assert due == run.now + 1_000, "counted anew"


def test_a_cursor_that_a_codec_encrypts_anew_is_the_same_by_its_digest() -> None:
    run = paged()
    for number in range(2):
        run.grant("m")
        run.report("m", Page(0, pack([]), Payload(binary=bytes([number]), encoding="aes", digest="d")))
    assert run.step("m").state is S.BACKOFF


def test_a_child_that_ends_while_its_step_rests_is_counted() -> None:
    run = paged(1, joined=Join.ANY)
    run.grant("m")
    page(run, 0, cursor=1)
    ended(run, 0)
    assert run.step("m").state is S.COMPLETED


def test_children_are_structure_their_number_in_flight_is_policy() -> None:
    base = plan(mapping("m"))
    assert plan(mapping("m", max_in_flight=7, parent_close=ParentClose.ABANDON)).fingerprint == base.fingerprint
    for other in (plan(mapping("m", joined=Join.ANY)), plan(paging("m")), plan(childing("m"))):
        assert other.fingerprint != base.fingerprint
    assert with_contracts(base).fingerprint == base.fingerprint


def test_a_retry_starts_all_children_anew_in_another_generation() -> None:
    run = mapped(2, retry=RetryPolicy(max_attempts=2, jitter=0.0))
    ended(run, 0, state=FAILED)
    assert (run.state("m"), run.step("m").generation) == (S.BACKOFF, 0)
    run.pass_time(1_000)
    assert (run.state("m"), run.step("m").generation) == (S.WAITING, 1)
    assert children(run).open == (0, 1)
    assert ended(run, 1, generation=0) == [], "a child of the earlier try"
    ended(run, 1, state=FAILED)
    assert run.is_() is W.FAILED


@pytest.mark.parametrize(
    ("policy", "state", "after"),
    [
        (Exhaustion.HOLD, S.HELD, S.BLOCKED),
        (Exhaustion.SKIP_DEPENDANTS, S.FAILED, S.SKIPPED),
        (Exhaustion.CONTINUE, S.FAILED, S.READY),
    ],
)
def test_what_follows_a_failed_join_is_the_policy_s_to_say(policy: Exhaustion, state: StepState, after: StepState) -> None:
    run = mapped(2, on_exhausted=policy)
    ended(run, 0, state=FAILED)
    assert (run.state("m"), run.state("z")) == (state, after)


def test_a_person_has_a_held_map_tried_again_or_passes_it() -> None:
    run = mapped(2, on_exhausted=Exhaustion.HOLD)
    ended(run, 0, state=FAILED)
    run.resolve("m", Retried())
    assert (run.state("m"), run.step("m").generation, children(run).open) == (S.WAITING, 1, (0, 1))
    refused(Reason.STEP_STATE_INVALID, lambda: run.resolve("m", Retried()))
    run.resolve("m", PassedOver())
    assert [closing.generation for closing in to_close(run)] == [0, 1]
    assert run.is_() is W.COMPLETED


@pytest.mark.parametrize("end", ["cancel", "terminate", "fail", "timeout", "resolve"])
@pytest.mark.parametrize("policy", ParentClose)
def test_every_end_of_the_step_closes_its_children_by_policy(end: str, policy: ParentClose) -> None:
    run = Run(plan(mapping("m", parent_close=policy, step_timeout=5_000), activity("a", retry=RetryPolicy(max_attempts=1))), input=[1, 2])
    match end:
        case "cancel":
            run.cancel()
        case "terminate":
            run.terminate()
        case "fail":
            run.grant("a")
            run.fail("a")
        case "timeout":
            run.pass_time(5_000)
        case _:
            run.resolve("m", Failed(Failure("by.hand")))
    assert not duties(run, DutyKind.TEND_CHILDREN)
    expected = [] if policy is ParentClose.ABANDON else [(policy, (0, 1))]
    assert [(closing.policy, closing.open) for closing in to_close(run)] == expected
    assert ended(run, 0) == [], "after the step's end nobody counts"


def test_a_replay_of_a_map_step_is_a_new_generation_even_if_it_failed() -> None:
    run = mapped(2)
    ended(run, 0, state=FAILED)
    run.replay()
    assert (run.state("m"), run.step("m").generation, children(run).open) == (S.WAITING, 1, (0, 1))
    ended(run, 0, 1)
    run.run_through("z")
    run.replay("m")
    assert run.step("m").generation == 2


def test_a_pause_opens_no_more_children_and_a_resume_does() -> None:
    run = mapped(3, max_in_flight=1)
    run.pause()
    ended(run, 0)
    assert children(run).open == ()
    run.resume()
    assert children(run).open == (1,)


def test_a_child_s_end_is_its_duty_to_report() -> None:
    run = Run(plan("a"))
    run.workflow = replace(run.workflow, parent=Parent("note", "p", 1, "f" * 24, "m", 0, 3))
    run.run_through("a")
    assert [duty.kind for duty in run.workflow.duties] == [DutyKind.TELL_PARENT]
    assert run.workflow.wake_time is not None
