"""The job as two definitions: `corpus` fits the vectoriser once, `document` is done per document. Each step calls one activity."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from examples.documents.activities import Activities
from examples.documents.cleaning import Clean
from examples.documents.config import PUBLISH_WAIT_SECONDS
from examples.documents.corpus import Document
from examples.documents.index import Entry
from examples.documents.journal import Execution
from perdure import Context, Definition, Woken

CORPUS = "corpus"
DOCUMENT = "document"
PUBLISH = "publish"

NEEDED_BY = {
    "fit": ("read",),
    "read": ("clean",),
    "clean": ("vectorise", "summarise"),
    "vectorise": ("index",),
    "summarise": ("index",),
    "index": ("publish",),
}
"""What cannot begin before a step's result is stored and answered OK; `fit` comes before every document."""


@dataclass(frozen=True)
class Job:
    """Input of a `document` workflow: the document, and the saved model that the corpus workflow made."""

    document: Document
    model: str


def corpus_definition(activities: Activities) -> Definition:
    """One step: learn the vectoriser from all documents."""
    corpus = Definition(CORPUS, version="1")

    @corpus.step()
    def fit(ctx: Context[None], input: list[Document]) -> str:
        return activities.fit(_execution(ctx, 0), input)

    return corpus


def document_definition(activities: Activities) -> Definition:
    """Read -> clean -> (vectorise || summarise) -> index -> wait for `publish` or 5 s -> release."""
    plan = Definition(DOCUMENT, version="1")

    @plan.step()
    def read(ctx: Context[None], input: Job) -> str:
        return activities.read(_execution(ctx, input.document.number), input.document)

    @plan.step()
    def clean(ctx: Context[None], input: Job, read: str) -> Clean:
        return activities.clean(_execution(ctx, input.document.number), input.document, read)

    @plan.step()
    def vectorise(ctx: Context[None], input: Job, clean: Clean) -> list[float]:
        return activities.vectorise(_execution(ctx, input.document.number), clean.text, input.model)

    @plan.step()
    def summarise(ctx: Context[None], input: Job, clean: Clean) -> list[str]:
        return activities.summarise(_execution(ctx, input.document.number), clean.text)

    @plan.step()
    def index(ctx: Context[None], input: Job, clean: Clean, vectorise: list[float], summarise: list[str]) -> int:
        document = input.document
        entry = Entry(document.number, document.name, clean.title, clean.text, summarise, vectorise)
        return activities.index(_execution(ctx, document.number), entry)

    plan.wait("go", after=index, signal=PUBLISH, timeout=timedelta(seconds=PUBLISH_WAIT_SECONDS))

    @plan.step()
    def publish(ctx: Context[None], input: Job, go: Woken[None]) -> int:
        reason = "timer" if go.timed_out else "click"
        return activities.publish(_execution(ctx, input.document.number), reason, ctx.fence)

    return plan


def _execution(ctx: Context[Any], document: int) -> Execution:
    return Execution(document, ctx.step, ctx.attempt, ctx.claim_no, ctx.idempotency_key)
