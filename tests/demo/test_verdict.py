"""What is called right and what wrong on Perdure: pure functions over the activity log and what the store says."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from examples.documents.counting import Again, count
from examples.documents.index import Contents
from examples.documents.journal import Event, Record
from examples.documents.perdure_way.promises import IN_TIME, Late, Started, Watched, compare
from examples.documents.perdure_way.run import Outcome
from examples.documents.perdure_way.stored import Stored
from examples.documents.perdure_way.verdict import begun_after_stored, cause, ended_without_server, faults_of

KILLED, ALIVE = 10, 11
BEGIN_AND_END: tuple[Event, Event] = ("begin", "end")


def record(event: Event, step: str, pid: int = ALIVE, claim_no: int = 1, *, document: int = 1, time: float = 0.0) -> Record:
    outcome = {"begin": "", "end": "ok", "failed": "OSError"}[event]
    return Record(time, pid, event, document, step, claim_no, claim_no, "", outcome, 0.0)


def ran(step: str, pid: int = ALIVE, claim_no: int = 1, document: int = 1) -> list[Record]:
    return [record(event, step, pid, claim_no, document=document) for event in BEGIN_AND_END]


def outcome_of(records: Sequence[Record]) -> Outcome:
    """A run of one document without a fault, but for what its log says."""
    return Outcome(
        count=count([1], records, Contents(frozenset({1}), 1, frozenset({1}), 1)),
        records=records,
        stored=Stored(),
        killed=frozenset({KILLED}),
        outages=[],
        started=Started(1, 1),
        late=Late("CLAIM_LOST", "refused", IN_TIME),
        watched=Watched(16, 0, 0),
        store="",
        model="",
    )


def test_a_step_that_was_cut_may_begin_again() -> None:
    records = [*ran("read"), record("begin", "clean", KILLED), *ran("clean", claim_no=2), *ran("vectorise"), *ran("summarise")]
    assert begun_after_stored(records, {(1, "read"): 1, (1, "clean"): 2}) == []
    outcome = outcome_of(records)
    assert [cause(again, outcome) for again in outcome.count.again] == ["its worker 10 was killed"]
    assert faults_of(outcome) == []


def test_a_step_whose_result_was_needed_already_may_not_even_if_its_worker_was_killed() -> None:
    records = [*ran("read", KILLED), record("begin", "clean", KILLED), *ran("read", claim_no=2)]
    assert [(found.step, found.claim_no) for found in begun_after_stored(records, {(1, "read"): 2})] == [("read", 2)]
    outcome = outcome_of(records)
    assert cause(outcome.count.again[0], outcome)
    assert len(faults_of(outcome)) == 1


def test_the_corpus_is_fitted_before_any_document() -> None:
    records = [*ran("fit", document=0), *ran("read", document=7), *ran("fit", claim_no=2, document=0)]
    assert [found.step for found in begun_after_stored(records, {})] == ["fit"]


def test_a_claim_later_than_the_stored_one_began_too_late() -> None:
    records = [*ran("publish", KILLED), *ran("publish", claim_no=2)]
    assert [found.claim_no for found in begun_after_stored(records, {(1, "publish"): 1})] == [2]
    assert begun_after_stored(records, {(1, "publish"): 2}) == []


def test_one_claim_begun_twice_is_wrong() -> None:
    assert len(begun_after_stored([*ran("index"), *ran("index", pid=12)], {(1, "index"): 1})) == 1


def test_steps_of_other_documents_do_not_matter() -> None:
    assert begun_after_stored([*ran("read", document=1), *ran("clean", document=1), *ran("read", document=2)], {}) == []


def test_nobody_knows_why_a_step_of_a_living_worker_began_again() -> None:
    outcome = outcome_of([*ran("index"), *ran("index", claim_no=2)])
    assert cause(outcome.count.again[0], outcome) == ""
    assert len(faults_of(outcome)) == 1


def test_a_failed_attempt_is_its_own_reason() -> None:
    outcome = outcome_of([record("begin", "read"), record("failed", "read"), *ran("read", claim_no=2)])
    assert cause(outcome.count.again[0], outcome) == "it had failed with OSError"
    assert faults_of(outcome) == []


def test_what_is_not_charged_and_what_had_ended_is_said() -> None:
    before, after = record("begin", "read", KILLED), record("begin", "read")
    outcome = outcome_of([before, after])
    assert cause(Again(before, after, None), outcome).endswith("which is not charged")
    ended = outcome_of([*ran("index", KILLED), *ran("index", claim_no=2)])
    assert "between the end of the step and the answer" in cause(ended.count.again[0], ended)


def test_what_ended_while_there_was_no_server() -> None:
    ends = [record("end", step, time=time) for step, time in (("read", 9.0), ("clean", 10.5), ("index", 13.0))]
    outcome = replace(outcome_of([*ends, record("begin", "publish", time=10.6)]), outages=[(10.0, 12.0)])
    assert [found.step for found in ended_without_server(outcome)] == ["clean"]


def test_a_cut_watch_against_the_store() -> None:
    assert compare(0, 5, [1, 2, 3, 4, 5]) == Watched(5, 0, 0)
    assert compare(2, 5, [3, 4, 5]) == Watched(3, 0, 0), "what was before the watch began is in its snapshot"
    assert compare(0, 5, [1, 2, 5]) == Watched(5, 2, 0)
    assert compare(0, 5, [1, 2, 2, 3, 4, 5]) == Watched(5, 0, 1)
    assert not Watched(0, 0, 0).is_whole, "a watch that saw nothing proves nothing"
    assert not Watched(5, 1, 0).is_whole
    assert not Watched(5, 0, 1).is_whole


def test_one_key_is_one_workflow_though_a_kill_may_hide_who_began_it() -> None:
    assert Started(1, 1).is_one
    assert Started(1, 0).is_one
    assert not Started(2, 1).is_one
    assert not Started(1, 2).is_one


def test_a_late_result_must_be_refused_for_that_reason_and_change_nothing() -> None:
    assert Late("CLAIM_LOST", "", IN_TIME).is_refused
    assert not Late("", "was ACCEPTED", IN_TIME).is_refused
    assert not Late("CLAIM_LOST", "", '"late"').is_refused


@pytest.mark.parametrize(
    "wrong",
    [
        {"stored": Stored(unfinished={1: "RUNNING"})},
        {"started": Started(2, 2)},
        {"late": Late("", "was ACCEPTED", '"late"')},
        {"watched": Watched(16, 1, 0)},
        {"count": count([1, 2], [], Contents(frozenset({1, 2}), 2, frozenset({1}), 1))},
        {"count": count([1], [], Contents(frozenset({1}), 2, frozenset({1}), 1))},
        {"count": count([1], [], Contents(frozenset({1}), 1, frozenset({1}), 2))},
    ],
)
def test_every_wrong_number_is_a_fault(wrong: dict[str, object]) -> None:
    assert faults_of(outcome_of(ran("read"))) == []
    assert len(faults_of(replace(outcome_of(ran("read")), **wrong))) == 1  # type: ignore[arg-type]  # each is of its field's type
