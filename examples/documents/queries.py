"""Five queries, each with the document that must be among the first three; for a corpus of one's own, made from its own words."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from examples.documents.corpus import Document
from examples.documents.index import Hit, Index
from examples.documents.vectoriser import Model
from examples.documents.words import words_of

FIRST = 3
QUERIES = 5
OWN_WORDS = 6  # words that a made query takes from its document

# Written by a person who wants something, not copied from the documents.
ASKED = {
    "find the differing lines of two text files and print a unified diff": "python/difflib.py",
    "move a pen around the screen to draw colourful shapes for beginners": "python/turtle.py",
    "rounding mode and precision of decimal floating point arithmetic": "python/_pydecimal.py",
    "store cookies of a web site and send them back with later requests": "python/http/cookiejar.py",
    "asynchronous access to a MongoDB database from a Tornado web application": "package/motor",
    # In reserve, for a Python that its distributor has split up.
    "arithmetic mean, median and standard deviation of some numbers": "python/statistics.py",
    "walk through a program line by line and set breakpoints": "python/pdb.py",
}


@dataclass(frozen=True)
class Answer:
    """One query, the document that must be found, and what was found."""

    query: str
    expected: str
    hits: list[Hit]

    @property
    def found(self) -> bool:
        return self.expected in [hit.name for hit in self.hits]


def ask(index: Index, model: Model, queries: Mapping[str, str]) -> list[Answer]:
    """Searches for each query, first three hits each."""
    return [Answer(query, expected, index.search(query, model.vector(query), FIRST)) for query, expected in queries.items()]


def queries_for(documents: Sequence[Document], own: Mapping[int, str]) -> dict[str, str]:
    """Query -> name of the document that must be found, five of them.

    `own`: the texts of one's own documents by number; then queries are made from them, each from the words that are frequent in one
    document and in few others, as many as there are documents. Empty: the first five of `ASKED` whose document this environment has.
    """
    if not own:
        names = {document.name for document in documents}
        return dict([(query, name) for query, name in ASKED.items() if name in names][:QUERIES])
    bags = {document.number: Counter(words_of(own[document.number])) for document in documents}
    presence = Counter(word for bag in bags.values() for word in bag)
    chosen = [documents[index * len(documents) // QUERIES] for index in range(QUERIES)] if len(documents) > QUERIES else documents
    made: dict[str, str] = {}
    for document in chosen:
        bag = bags[document.number]
        telling = sorted(bag, key=lambda word: (-bag[word] / presence[word] ** 2, word))
        if telling:
            made.setdefault(" ".join(telling[:OWN_WORDS]), document.name)
    return made
