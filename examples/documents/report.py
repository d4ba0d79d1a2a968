"""What the demo says at the end: the numbers of both ways, and which of them are wrong."""

from collections.abc import Mapping, Sequence

from examples.documents.config import RUN_AIM_SECONDS, SETUP_AIM_SECONDS, setup_seconds
from examples.documents.corpus import Document
from examples.documents.counting import Again, Count
from examples.documents.journal import Record
from examples.documents.narration import Narrator
from examples.documents.old_way.run import Outcome
from examples.documents.perdure_way.extras import STARTS
from examples.documents.perdure_way.run import Outcome as PerdureOutcome
from examples.documents.queries import Answer

NAMED = 4  # documents that a line names before it says how many more there are


def tell_corpus(story: Narrator, documents: Sequence[Document]) -> None:
    """How many documents of which kinds, how large, and from where."""
    kinds = {kind: sum(document.kind == kind for document in documents) for kind in ("docstrings", "text", "markup", "html")}
    total = sum(document.size_bytes for document in documents)
    largest = max(documents, key=lambda document: document.size_bytes)
    story.line(
        f"{len(documents)} documents, {total / 1e6:.1f} MB: " + ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    )
    story.line(f"The largest is doc {largest.number}, {largest.name}, {largest.size_bytes:,} bytes.")


def tell_old_way(story: Narrator, outcome: Outcome, documents: Sequence[Document]) -> None:
    """What was lost, done twice and paid twice, counted from the activity log and the index."""
    counted = outcome.count
    flushed = [number for number in counted.lost if number in outcome.flushed]
    others = [number for number in counted.lost if number not in outcome.flushed]
    story.line(f"After {outcome.seconds:.0f} s nothing is in the queue and nothing in work:")
    story.line(f"  handed in      {counted.submitted}")
    story.line(f"  finished       {counted.submitted - len(counted.lost)}")
    story.line(f"  lost           {len(counted.lost)}: {named(counted.lost, documents)}")
    if flushed:
        story.line(f"                 {len(flushed)} were in the queue when it was flushed; their rows still say queued")
    if others:
        story.line(f"                 {len(others)} have a row and no place in the queue, which nobody looks for")
    story.line(
        f"  done twice     {counted.entries_doubled} entries doubled in the index, {counted.publications_doubled} publications doubled"
    )
    story.line(f"  paid twice     {paid_twice(counted)}")
    story.line(f"  steps          {counted.steps_begun} begun, {counted.steps_ended} ended")


def tell_perdure(story: Narrator, outcome: PerdureOutcome, records: Sequence[Record]) -> list[str]:
    """What Perdure came to, counted from the activity log, the index and the store; a fault for each number that is wrong."""
    counted, watched = outcome.count, outcome.watched
    stored_again = begun_after_stored(records, outcome.stored)
    failed = {record.execution: record.outcome for record in records if record.event == "failed"}
    unexplained = [again for again in counted.again if not is_explained(again, outcome, failed)]
    story.line(
        f"  documents      {counted.submitted} handed in, {counted.documents_indexed} indexed, {counted.documents_published} published"
    )
    story.line(f"  workflows lost {len(counted.lost)}")
    story.line(f"  entries        {counted.entries_doubled} doubled, {counted.publications_doubled} publications doubled")
    story.line(f"  steps          {counted.steps_begun} begun, {counted.steps_ended} ended")
    story.line(f"  begun again after their result was answered OK: {len(stored_again)}")
    for again in counted.again:
        story.line(f"  beyond one     {why(again, outcome, failed)}")
    story.line(f"  one key        started {STARTS} times at once: {outcome.created} workflow")
    story.line(f"  late Complete  {outcome.refusal or 'was ACCEPTED'}")
    story.line(f"  Watch          cut and resumed: {watched.missing} missing, {watched.repeated} repeated of {watched.changes}")
    story.line(f"  store          {outcome.store}")
    setup = setup_seconds()
    story.line(
        f"  seconds        set-up {'unknown' if setup is None else f'{setup:.0f}'} (aim {SETUP_AIM_SECONDS}), run {outcome.seconds:.0f} (aim {RUN_AIM_SECONDS})"
    )
    faults = {
        f"{len(counted.lost)} workflows lost": bool(counted.lost),
        f"{counted.documents_indexed} of {counted.submitted} documents indexed": counted.documents_indexed != counted.submitted,
        f"{counted.entries_doubled} entries doubled": bool(counted.entries_doubled),
        f"{counted.publications_doubled} publications doubled": bool(counted.publications_doubled),
        f"{len(stored_again)} steps begun again after their result was stored": bool(stored_again),
        f"{len(unexplained)} attempts beyond one that no kill explains": bool(unexplained),
        f"{outcome.created} workflows from one key": outcome.created != 1,
        "a late Complete was not refused": not outcome.refusal,
        "the watch missed or repeated changes, or saw none": bool(watched.missing or watched.repeated or not watched.changes),
    }
    return [text for text, wrong in faults.items() if wrong]


def begun_after_stored(records: Sequence[Record], stored: Mapping[tuple[int, str], int]) -> list[Record]:
    """Executions that began though a result of the step was stored: of a later claim than the one that is stored, or of it again."""
    found: list[Record] = []
    seen: set[tuple[int, str, int]] = set()
    for record in records:
        step = (record.document, record.step)
        if record.event != "begin" or step not in stored:
            continue
        if record.claim_no > stored[step] or (*step, record.claim_no) in seen:
            found.append(record)
        seen.add((*step, record.claim_no))
    return found


Failed = Mapping[tuple[int, int, str, int, int], str]


def is_explained(again: Again, outcome: PerdureOutcome, failed: Failed) -> bool:
    """Whether the worker of the execution before was killed, or that execution failed by itself, which the retry policy answers."""
    return again.before.pid in outcome.killed or again.before.execution in failed


def why(again: Again, outcome: PerdureOutcome, failed: Failed) -> str:
    """`summarise(doc 33), attempt 2, on 4730: its worker 4711 was killed`."""
    record, before = again.record, again.before
    cause = "nobody knows why"
    if before.pid in outcome.killed:
        cause = f"its worker {before.pid} was killed"
    elif before.execution in failed:
        cause = f"it had failed with {failed[before.execution]}"
    return f"{record.step}(doc {record.document}), attempt {record.attempt}, on {record.pid}: {cause}"


def paid_twice(counted: Count) -> str:
    """`31 steps run again though they had been run to their end, 0.9 s of work`."""
    return f"{len(counted.paid_twice)} steps run again though they had been run to their end, {counted.paid_twice_seconds:.1f} s of work"


def tell_answers(story: Narrator, answers: Sequence[Answer]) -> list[str]:
    """The queries with what they found; a fault for each whose document is not among the first three."""
    for answer in answers:
        story.line(f"  {'found ' if answer.found else 'MISSED'}  {answer.query}")
        story.line("            " + ", ".join(f"{'*' * (hit.name == answer.expected)}{hit.name}" for hit in answer.hits))
    return [f"{answer.expected} is not among the first three for: {answer.query}" for answer in answers if not answer.found]


def named(numbers: Sequence[int], documents: Sequence[Document]) -> str:
    """The first few documents by name, and how many more."""
    names = {document.number: document.name for document in documents}
    shown = ", ".join(f"doc {number} {names[number]}" for number in numbers[:NAMED])
    return shown + (f" and {len(numbers) - NAMED} more" if len(numbers) > NAMED else "") if numbers else "none"
