"""What the demo says at the end: the numbers of both ways, and which of them are wrong."""

from collections.abc import Sequence

from examples.documents.corpus import Document
from examples.documents.counting import Count
from examples.documents.narration import Narrator
from examples.documents.old_way.run import Outcome
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
