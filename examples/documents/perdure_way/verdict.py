"""What is right and what is wrong with the numbers of a run, as pure functions of what was gathered."""

from collections.abc import Mapping, Sequence

from examples.documents.counting import Again
from examples.documents.journal import Record
from examples.documents.perdure_way.plan import NEEDED_BY
from examples.documents.perdure_way.run import Outcome

WHOLE_CORPUS = 0  # the document number of the one step that is about all of them


def begun_after_stored(records: Sequence[Record], stored: Mapping[tuple[int, str], int]) -> list[Record]:
    """Executions that began though the result of their step had been answered OK.

    That it had is seen in the log, by a step that needs the result and had begun; or in the store at the end, by an earlier claim
    than theirs. The same claim begun twice counts too.
    """
    found: list[Record] = []
    answered: set[tuple[int, str]] = set()
    seen: set[tuple[int, str, int]] = set()
    for record in records:
        if record.event != "begin":
            continue
        step = (record.document, record.step)
        if step in answered or record.claim_no > stored.get(step, record.claim_no) or (*step, record.claim_no) in seen:
            found.append(record)
        seen.add((*step, record.claim_no))
        for needed, dependants in NEEDED_BY.items():
            if record.step in dependants:
                answered.add((WHOLE_CORPUS if needed == "fit" else record.document, needed))
    return found


def cause(again: Again, outcome: Outcome) -> str:
    """Why a step had to be begun again: its worker was killed, or it had failed, which the retry policy answers. Empty: nobody knows."""
    before = again.before
    if before.pid in outcome.killed:
        told = ""
        if again.result is not None:
            told = " between the end of the step and the answer to its result"
        elif again.record.attempt == before.attempt:
            told = " before it had said that it had the claim, which is not charged"
        return f"its worker {before.pid} was killed{told}"
    failures = [record.outcome for record in outcome.records if record.event == "failed" and record.execution == before.execution]
    return f"it had failed with {failures[0]}" if failures else ""


def ended_without_server(outcome: Outcome) -> list[Record]:
    """Executions that came to their end while there was no server that could be told."""
    return [
        record for record in outcome.records if record.event == "end" and any(start <= record.time <= end for start, end in outcome.outages)
    ]


def faults_of(outcome: Outcome) -> list[str]:
    """A sentence for each number that is wrong; none if all are right."""
    counted, watched = outcome.count, outcome.watched
    stored_again = begun_after_stored(outcome.records, outcome.stored.claims)
    unexplained = [again for again in counted.again if not cause(again, outcome)]
    checks = {
        f"workflows lost: {outcome.stored.unfinished}": bool(outcome.stored.unfinished),
        f"documents lost: {counted.lost}": bool(counted.lost),
        f"{counted.documents_indexed} of {counted.submitted} documents indexed": counted.documents_indexed != counted.submitted,
        f"{counted.entries_doubled} entries doubled": bool(counted.entries_doubled),
        f"{counted.publications_doubled} publications doubled": bool(counted.publications_doubled),
        f"begun again after their result was answered OK: {stored_again}": bool(stored_again),
        f"attempts beyond one that no kill explains: {unexplained}": bool(unexplained),
        f"{outcome.started.runs} workflows from one key, begun {outcome.started.created} times": not outcome.started.is_one,
        f"a late Complete: {outcome.late}": not outcome.late.is_refused,
        f"a watch that was cut: {watched}": not watched.is_whole,
    }
    return [text for text, is_wrong in checks.items() if is_wrong]
