"""The steps of the job, each as an activity that logs itself; both ways of doing the job run these and no others.

They take what they need and return what the next one needs. What a step changes outside (the index) is keyed by the
execution's idempotency key.
"""

from collections.abc import Iterable
from pathlib import Path

from examples.documents import cleaning, summary, vectoriser
from examples.documents.cleaning import Clean
from examples.documents.corpus import Document
from examples.documents.index import Entry, Index
from examples.documents.journal import Execution, Journal

JOURNAL = "activity.jsonl"
INDEX = "index.db"


class Activities:
    """The activities of one worker process, over the log, the index and the models in one directory."""

    def __init__(self, directory: Path, pace_seconds: float = 0.0) -> None:
        self._directory = directory
        self._journal = Journal(directory / JOURNAL, pace_seconds)
        self._index = Index(directory / INDEX)

    def fit(self, execution: Execution, documents: Iterable[Document]) -> str:
        """Learns the vectoriser from the corpus; the path of the saved model."""
        with self._journal.step(execution):
            texts = (cleaning.clean(cleaning.read(document), document.kind, document.name).text for document in documents)
            return str(vectoriser.save(vectoriser.fit(texts), self._directory))

    def read(self, execution: Execution, document: Document) -> str:
        """The file's text."""
        with self._journal.step(execution):
            return cleaning.read(document)

    def clean(self, execution: Execution, document: Document, raw: str) -> Clean:
        """Plain text and a title."""
        with self._journal.step(execution):
            return cleaning.clean(raw, document.kind, document.name)

    def vectorise(self, execution: Execution, text: str, model: str) -> list[float]:
        """The document's vector under a saved model."""
        with self._journal.step(execution):
            return [float(value) for value in vectoriser.load(Path(model)).vector(text)]

    def summarise(self, execution: Execution, text: str) -> list[str]:
        """The sentences that stand for the document."""
        with self._journal.step(execution):
            return summary.summarise(text)

    def index(self, execution: Execution, entry: Entry) -> int:
        """Adds the entry, once per idempotency key; its id."""
        with self._journal.step(execution):
            return self._index.add(entry, execution.key)

    def publish(self, execution: Execution, reason: str, fence: int) -> int:
        """Makes the document findable, once per idempotency key and never behind a newer fence; the publication's id."""
        with self._journal.step(execution):
            return self._index.publish(execution.document, reason, idempotency_key=execution.key, fence=fence)
