"""The corpus of this environment, its vectoriser, and the five queries of the demo on it."""

from pathlib import Path

import numpy as np
import pytest

from examples.documents import cleaning, corpus, queries, summary, vectoriser
from examples.documents.corpus import CorpusError, Document
from examples.documents.index import Entry, Index


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return corpus.choose()


@pytest.fixture(scope="module")
def texts(documents: list[Document]) -> dict[int, str]:
    return {document.number: cleaning.clean(cleaning.read(document), document.kind, document.name).text for document in documents}


@pytest.fixture(scope="module")
def model(texts: dict[int, str]) -> vectoriser.Model:
    return vectoriser.fit(texts.values())


def test_forty_documents_come_with_the_installation_in_one_order(documents: list[Document]) -> None:
    assert len(documents) >= corpus.AT_LEAST
    assert [document.number for document in documents] == list(range(1, len(documents) + 1))
    assert documents == corpus.choose()
    assert {"docstrings", "text", "markup"} <= {document.kind for document in documents}
    assert len({document.name for document in documents}) == len(documents)


def test_every_document_has_text_to_work_on(documents: list[Document], texts: dict[int, str]) -> None:
    short = [document.name for document in documents if len(texts[document.number].split()) < 100]
    assert not short


def test_the_five_queries_find_their_documents(
    documents: list[Document], texts: dict[int, str], model: vectoriser.Model, tmp_path: Path
) -> None:
    index = Index(tmp_path / "index.db")
    index.create()
    for document in documents:
        text = texts[document.number]
        entry = Entry(document.number, document.name, document.name, text, [], model.vector(text).tolist())
        index.add(entry, idempotency_key=document.key)
        index.publish(document.number, "signal", idempotency_key=document.key, fence=1)
    for own in (False, True):
        answers = queries.ask(index, model, queries.queries_for(documents, texts if own else {}))
        assert len(answers) == queries.QUERIES
        assert [answer.query for answer in answers if not answer.found] == []


def test_documents_of_ones_own(tmp_path: Path) -> None:
    for name, size in (("b.md", 4_000), ("a.txt", 4_000), ("c.html", 4_000), ("small.txt", 10), ("data.csv", 4_000)):
        (tmp_path / name).write_text((name + " word ") * (size // 8))
    (tmp_path / "copy.txt").write_text((tmp_path / "a.txt").read_text())
    assert [(document.number, document.name, document.kind) for document in corpus.choose(tmp_path)] == [
        (1, "a.txt", "text"),
        (2, "b.md", "markup"),
        (3, "c.html", "html"),
    ]


def test_too_few_documents_are_refused_with_what_counts(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"0 documents in .* 3 are needed: \.py \.txt"):
        corpus.choose(tmp_path)


def test_a_saved_model_is_the_model(model: vectoriser.Model, texts: dict[int, str], tmp_path: Path) -> None:
    path = vectoriser.save(model, tmp_path)
    assert vectoriser.save(model, tmp_path) == path
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
    loaded = vectoriser.load(path)
    assert np.array_equal(loaded.vector(texts[1]), model.vector(texts[1]))
    assert np.linalg.norm(loaded.vector(texts[1])) == pytest.approx(1)


def test_neighbours_are_of_one_subject(documents: list[Document], texts: dict[int, str], model: vectoriser.Model) -> None:
    vectors = np.stack([model.vector(texts[document.number]) for document in documents])
    nearness = vectors @ vectors.T
    np.fill_diagonal(nearness, -1)
    names = [document.name for document in documents]
    near_fractions = np.argsort(-nearness[names.index("python/fractions.py")])[:3]
    assert "python/_pydecimal.py" in [names[position] for position in near_fractions]


def test_text_without_known_words_is_a_zero_vector_and_no_summary(model: vectoriser.Model) -> None:
    assert not model.vector("").any()
    assert summary.summarise("") == []


def test_nothing_can_be_learned_from_nothing() -> None:
    with pytest.raises(vectoriser.NothingToLearnError, match="nothing to learn"):
        vectoriser.fit(["", ""])


def test_the_summary_is_made_of_sentences_of_the_text_in_their_order(texts: dict[int, str], documents: list[Document]) -> None:
    largest = max(documents, key=lambda document: len(texts[document.number]))
    text = " ".join(texts[largest.number].split())
    sentences = summary.summarise(texts[largest.number])
    assert len(sentences) == summary.SENTENCES
    positions = [text.find(sentence) for sentence in sentences]
    assert -1 not in positions
    assert positions == sorted(positions)
