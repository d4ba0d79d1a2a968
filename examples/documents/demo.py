"""The proof: the same job on the same documents under the same kills, first the old way, then on Perdure.

    make demo                 or   .venv/bin/python examples/documents/demo.py
    KILL=me make demo         prints the pids and lets you do the killing
    DOCS=directory make demo  your own documents
    KEEP=1 make demo          leaves everything running, with lines to try

Every number is counted from a log that the activities write and from the index that they fill. The exit code is not zero if
a number is wrong or a kill missed the step that it was meant for.
"""

import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path

# Both before numpy is imported, here and in every child: several activities run at once already, and BLAS threads would only
# spin beside them; on a busy machine that made `fit` five times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from grpc.aio import AioRpcError

from examples.documents import cleaning, config, corpus, queries, report, vectoriser
from examples.documents.activities import INDEX
from examples.documents.corpus import CorpusError, Document
from examples.documents.counting import Count
from examples.documents.index import Index
from examples.documents.kills import MissedError
from examples.documents.narration import Narrator
from examples.documents.old_way.run import OldWay
from examples.documents.perdure_way.cluster import running_cluster
from examples.documents.perdure_way.keeping import keep_running
from examples.documents.perdure_way.run import Outcome, PerdureWay
from examples.documents.processes import ProcessError
from examples.documents.vectoriser import NothingToLearnError
from perdure import Client, PerdureError
from perdure_server.embedded import EmbeddedError

INTERRUPTED = 130
FAILURES = (ProcessError, MissedError, NothingToLearnError, PerdureError, EmbeddedError, AioRpcError)

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
    if settings.pace_seconds:
        story.line(f"So that there is time to aim, each step waits {settings.pace_seconds} s before its work; nothing else is slowed.")
    return documents


def the_old_way(story: Narrator, settings: config.Settings, documents: list[Document], home: Path) -> Count:
    """Second: a worker killed in the middle of a step, then the backend, then the queue flushed, the way it is often built."""
    story.chapter("The old way")
    story.line(THE_OLD_WAY)
    outcome = OldWay(story, settings, home).run(documents)
    report.tell_old_way(story, outcome, documents)
    return outcome.count


async def on_perdure(story: Narrator, settings: config.Settings, documents: list[Document], home: Path, old: Count) -> list[str]:
    """Third: the same kills on Perdure, and what came of both ways; a sentence for each number that is wrong."""
    before = story.seconds
    story.chapter("On Perdure")
    story.line(ON_PERDURE)
    async with running_cluster(story, settings, home) as cluster, Client(cluster.address) as client:
        up = story.seconds
        outcome = await PerdureWay(story, settings, cluster, client).run(documents)
        story.chapter("What came of it")
        faults = report.tell_perdure(story, outcome)
        faults += the_queries(story, settings, documents, outcome, home / INDEX)
        story.chapter("Side by side")
        report.tell_side_by_side(story, old, outcome.count)
        report.tell_seconds(story, {"the old way": before, "Perdure's start": up - before, "the job on Perdure": story.seconds - up})
        for fault in faults:
            story.fault(fault)
        if not faults:
            story.line("\nAll numbers are right.")
        if settings.keep:
            await keep_running(story, cluster, documents, outcome.model)
    return faults


def the_queries(story: Narrator, settings: config.Settings, documents: list[Document], outcome: Outcome, index: Path) -> list[str]:
    """Last: whether what was indexed is found; a fault for each query that does not find its document."""
    own: dict[int, str] = {}
    if settings.directory is not None:
        own = {document.number: cleaning.clean(cleaning.read(document), document.kind, document.name).text for document in documents}
    asked = queries.queries_for(documents, own)
    story.chapter(f"{len(asked)} queries, each with the document that must be among the first {queries.FIRST}")
    return report.tell_answers(story, queries.ask(Index(index), vectoriser.load(Path(outcome.model)), asked))


def tell(story: Narrator, settings: config.Settings, home: Path) -> int:
    """The whole story in `home`; the exit code."""
    try:
        documents = the_documents(story, settings)
        old = the_old_way(story, settings, documents, home / "old-way")
        return int(bool(asyncio.run(on_perdure(story, settings, documents, home / "perdure", old))))
    except CorpusError as error:
        story.fault(str(error))
    except FAILURES as error:
        story.fault(f"{type(error).__name__}: {error}")
        report.tell_logs(story, home)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 1


def main() -> int:
    """Tells the story; 0 if every number is right. The directory stays if the reader wants it to, or if something went wrong."""
    settings = config.from_environment()
    story = Narrator()
    home = Path(tempfile.mkdtemp(prefix="perdure-demo-"))
    code = tell(story, settings, home)
    if any(home.iterdir()) and (settings.keep or code == 1):
        story.line(f"Logs and data are in {home}")
    else:
        shutil.rmtree(home, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
