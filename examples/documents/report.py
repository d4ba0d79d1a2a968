"""What the demo says at the end: the numbers of both ways, and which of them are wrong."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from examples.documents.config import RUN_AIM_SECONDS, SETUP_AIM_SECONDS, setup_seconds
from examples.documents.corpus import Document
from examples.documents.counting import Count
from examples.documents.kills import describe
from examples.documents.narration import Narrator
from examples.documents.old_way.run import Outcome
from examples.documents.perdure_way.promises import STARTS
from examples.documents.perdure_way.run import Outcome as PerdureOutcome
from examples.documents.perdure_way.verdict import begun_after_stored, cause, ended_without_server, faults_of
from examples.documents.queries import Answer

LOG_LINES = 10
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


def tell_perdure(story: Narrator, outcome: PerdureOutcome) -> list[str]:
    """What Perdure came to, counted from the activity log, the index and the store; a fault for each number that is wrong."""
    counted, watched = outcome.count, outcome.watched
    stored_again = begun_after_stored(outcome.records, outcome.stored.claims)
    story.line(
        f"  documents      {counted.submitted} handed in, {counted.documents_indexed} indexed, {counted.documents_published} published"
    )
    story.line(
        f"  workflows lost {len(outcome.stored.unfinished)}: the store has {counted.submitted - len(outcome.stored.unfinished)} COMPLETED"
    )
    story.line(f"  doubled        {counted.entries_doubled} entries in the index, {counted.publications_doubled} publications")
    steps = len({(record.document, record.step) for record in outcome.records if record.event == "end"})
    story.line(f"  steps run      {steps}, in {counted.steps_begun} attempts: {len(counted.again)} beyond one")
    for again in counted.again:
        story.line(f"                 {describe(again.record)}: {cause(again, outcome) or 'nobody knows why'}")
    story.line(f"  stored, again  {len(stored_again)} steps begun again after their result was answered OK")
    if outcome.outages:
        waited = len(ended_without_server(outcome))
        story.line(f"  no server      {waited} steps came to their end while there was none; their results were kept and answered later")
    story.line(f"  one key        started {STARTS} times at once: {outcome.started.runs} workflow")
    story.line(f"  late Complete  {outcome.late.text}")
    story.line(f"                 what is stored is still {outcome.late.stored}")
    story.line(f"  Watch          cut and resumed: {watched.missing} missing, {watched.repeated} repeated of {watched.changes}")
    story.line(f"  store          {outcome.store}")
    return faults_of(outcome)


def tell_side_by_side(story: Narrator, old: Count, new: Count) -> None:
    """The numbers of both ways."""
    rows = {
        "documents handed in": (old.submitted, new.submitted),
        "documents lost": (len(old.lost), len(new.lost)),
        "entries and publications doubled": (
            old.entries_doubled + old.publications_doubled,
            new.entries_doubled + new.publications_doubled,
        ),
        "steps run again though they had been run": (len(old.paid_twice), len(new.paid_twice)),
    }
    story.line(f"  {'':42}{'the old way':>12}{'on Perdure':>12}")
    for name, (before, after) in rows.items():
        story.line(f"  {name:42}{before:12}{after:12}")


def tell_seconds(story: Narrator, parts: Mapping[str, float]) -> None:
    """Set-up and run against what they should take; `parts` of the run by name."""
    setup = setup_seconds()
    took = ", ".join(f"{name} {seconds:.0f}" for name, seconds in parts.items())
    story.line(
        f"  seconds        set-up {'unknown' if setup is None else f'{setup:.0f}'} (aim {SETUP_AIM_SECONDS}),"
        f" run {story.seconds:.0f} (aim {RUN_AIM_SECONDS}): {took}"
    )


def tell_logs(story: Narrator, home: Path) -> None:
    """The end of what each process printed, for when something went wrong."""
    for log in sorted(home.rglob("*.log")):
        lines = log.read_text(errors="replace").splitlines()[-LOG_LINES:]
        if lines:
            story.line(f"The end of {log}:")
        for line in lines:
            story.line(f"    {line}")


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
