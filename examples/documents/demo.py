"""The proof: the same job on the same documents under the same kills, first the old way, then on Perdure.

    make demo                 or   .venv/bin/python examples/documents/demo.py
    KILL=me make demo         prints the pids and lets you do the killing
    DOCS=directory make demo  your own documents
    KEEP=1 make demo          leaves everything running, with lines to try

Every number is counted from a log that the activities write and from the index that they fill. The exit code is not zero if
a number is wrong or a kill missed the step that it was meant for.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.documents import config, corpus, report
from examples.documents.corpus import CorpusError, Document
from examples.documents.kills import MissedError
from examples.documents.narration import Narrator
from examples.documents.old_way.run import OldWay
from examples.documents.processes import ProcessError

THE_OLD_WAY = """\
One function per document (read, clean, vectorise, summarise, index, wait for `publish` or 5 s, publish), a status column in
SQLite, a real Redis list as the queue, two workers of eight threads, a backend with a reaper that puts back what was not
touched for 6 s, everything started again 1 s after it dies. examples/documents/old_way/__init__.py says all of what it does."""


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


def main() -> int:
    """Tells the story; 0 if every number is right."""
    settings = config.from_environment()
    story = Narrator()
    try:
        with tempfile.TemporaryDirectory(prefix="perdure-demo-") as home:
            documents = the_documents(story, settings)
            the_old_way(story, settings, documents, Path(home))
    except (CorpusError, ProcessError, MissedError) as error:
        story.fault(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
