"""The proof: the same job on the same documents under the same kills, first the old way, then on Perdure.

    make demo                 or   .venv/bin/python examples/documents/demo.py
    KILL=me make demo         prints the pids and lets you do the killing
    DOCS=directory make demo  your own documents
    KEEP=1 make demo          leaves everything running, with lines to try

Every number is counted from a log that the activities write and from the index that they fill. The exit code is not zero if
a number is wrong or a kill missed the step that it was meant for.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.documents import cleaning, config, corpus, queries, report, vectoriser
from examples.documents.activities import INDEX, JOURNAL
from examples.documents.corpus import CorpusError, Document
from examples.documents.index import Index
from examples.documents.journal import Reader
from examples.documents.kills import MissedError
from examples.documents.narration import Narrator
from examples.documents.old_way.run import OldWay
from examples.documents.perdure_way.run import PerdureWay
from examples.documents.processes import ProcessError

THE_OLD_WAY = """\
One function per document (read, clean, vectorise, summarise, index, wait for `publish` or 5 s, publish), a status column in
SQLite, a real Redis list as the queue, two workers of eight threads, a backend with a reaper that puts back what was not
touched for 6 s, everything started again 1 s after it dies. examples/documents/old_way/__init__.py says all of what it does."""

ON_PERDURE = """\
A `corpus` workflow fits the vectoriser; then a workflow per document: read -> clean -> (vectorise || summarise) -> index -> wait for
`publish` or 5 s -> publish. A store, Redis, one server, two workers of eight slots per step: the same activities, the same kills."""


def the_documents(story: Narrator, settings: config.Settings) -> list[Document]:
    """First: what there is to do."""
    story.chapter("The documents")
    documents = corpus.choose(settings.directory)
    report.tell_corpus(story, documents)
    return documents


def the_old_way(story: Narrator, settings: config.Settings, documents: list[Document], home: Path) -> None:
    """Second: a worker killed in the middle of a step, then the backend, then the queue flushed, the way it is often built."""
    story.chapter("The old way")
    story.line(THE_OLD_WAY)
    outcome = OldWay(story, settings, home / "old-way").run(documents)
    report.tell_old_way(story, outcome, documents)


def on_perdure(story: Narrator, settings: config.Settings, documents: list[Document], home: Path) -> list[str]:
    """Third: the same kills on Perdure; the faults of its numbers, none if all are right."""
    story.chapter("On Perdure")
    story.line(ON_PERDURE)
    directory = home / "perdure"
    outcome = asyncio.run(PerdureWay(story, settings, directory).run(documents))
    story.chapter("What came of it")
    log = Reader(directory / JOURNAL)
    faults = report.tell_perdure(story, outcome, log.news())
    story.chapter("Five queries, each with the document that must be among the first three")
    texts = {document.number: cleaning.clean(cleaning.read(document), document.kind, document.name).text for document in documents}
    asked = queries.queries_for(documents, texts, own=settings.directory is not None)
    answers = queries.ask(Index(directory / INDEX), vectoriser.load(Path(outcome.model)), asked)
    return faults + report.tell_answers(story, answers)


def main() -> int:
    """Tells the story; 0 if every number is right."""
    settings = config.from_environment()
    story = Narrator()
    try:
        with tempfile.TemporaryDirectory(prefix="perdure-demo-", ignore_cleanup_errors=True) as home:
            documents = the_documents(story, settings)
            the_old_way(story, settings, documents, Path(home))
            faults = on_perdure(story, settings, documents, Path(home))
        for fault in faults:
            story.fault(fault)
        if faults:
            return 1
        story.line(f"\nAll numbers are right, {story.seconds:.0f} s in all.")
    except (CorpusError, ProcessError, MissedError) as error:
        story.fault(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
