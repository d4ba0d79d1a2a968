"""TF-IDF over words and word pairs, reduced by latent semantic analysis: fitted from the corpus, kept in one file.

numpy alone: it is installed already (the store's wheel brings it) and imports in 0.4 s, where scikit-learn with scipy
adds 180 MB and 3.6 s of CPU to every worker that starts again after a kill. The mathematics is the same: sublinear term
frequency, smoothed inverse document frequency, unit length, truncated singular value decomposition.
"""

import functools
import hashlib
import io
import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from examples.documents.words import words_of

Matrix = NDArray[np.float32]

PASSAGE_WORDS = 120
PASSAGE_STRIDE = 60  # passages overlap by half, so that no sentence is seen only at an edge
FITTED_PASSAGES = 500  # evenly over the corpus; the decomposition is cubic in it
FITTED_PER_DOCUMENT = 40  # no document may own the model
VOCABULARY = 12_000
RARE = 2  # a term of fewer passages teaches nothing
COMMON = 0.5  # a term of more than half of the passages tells nothing apart
DIMENSIONS = 96


class NothingToLearnError(Exception):
    """The texts have no two passages in common terms; give more or longer documents."""


@dataclass(frozen=True)
class Model:
    """A fitted vectoriser: which terms count, how much, and the directions that they are projected on."""

    terms: dict[str, int]
    weights: Matrix  # inverse document frequency, one per term
    directions: Matrix  # terms x dimensions

    @property
    def dimensions(self) -> int:
        return int(self.directions.shape[1])

    def passage_vectors(self, text: str) -> Matrix:
        """One unit vector per passage of `text`, passages x dimensions; a passage without a known term is all zeros."""
        return np.stack([self._vector(passage) for passage in passages_of(text)])

    def vector(self, text: str) -> Matrix:
        """Unit vector of a whole document: the mean of its passages."""
        return _unit(self.passage_vectors(text).mean(axis=0))

    def _vector(self, words: Sequence[str]) -> Matrix:
        positions, values = _weighted(words, self.terms, self.weights)
        if not len(positions):
            return np.zeros(self.dimensions, dtype=np.float32)
        return _unit(values @ self.directions[positions])


def fit(texts: Iterable[str]) -> Model:
    """Learns a model from documents.

    Raises:
        NothingToLearnError: the texts have no two passages in common terms.
    """
    passages = _sample(texts)
    terms = _vocabulary(passages)
    if not terms:
        raise NothingToLearnError("nothing to learn: no term is in two passages; give more or longer documents")
    presence = Counter(term for passage in passages for term in set(_terms(passage)) if term in terms)
    counts = np.array([presence[term] for term in terms], dtype=np.float32)
    weights: Matrix = (np.log((1 + len(passages)) / (1 + counts)) + 1).astype(np.float32)
    matrix = np.zeros((len(passages), len(terms)), dtype=np.float32)
    for row, passage in enumerate(passages):
        positions, values = _weighted(passage, terms, weights)
        matrix[row, positions] = values
    return Model(terms, weights, _directions(matrix))


def save(model: Model, directory: Path) -> Path:
    """Writes the model under a name made from its content, whole or not at all, and returns the path; the same model again is no change."""
    buffer = io.BytesIO()
    np.savez(buffer, terms=np.array(list(model.terms)), weights=model.weights, directions=model.directions)
    digest = hashlib.sha256(np.ascontiguousarray(model.directions).tobytes() + "\n".join(model.terms).encode()).hexdigest()[:16]
    path = directory / f"model-{digest}.npz"
    partial = path.with_suffix(f".{id(buffer):x}.partial")
    partial.write_bytes(buffer.getvalue())
    partial.replace(path)
    return path


@functools.lru_cache(maxsize=4)
def load(path: Path) -> Model:
    """Reads a saved model; kept in memory, for a model file never changes."""
    with np.load(path, allow_pickle=False) as stored:
        return Model({str(term): position for position, term in enumerate(stored["terms"])}, stored["weights"], stored["directions"])


def passages_of(text: str) -> list[list[str]]:
    """Overlapping windows over the words of a text; at least one, the last one as short as what is left."""
    words = words_of(text)
    starts = range(0, max(1, len(words) - PASSAGE_STRIDE), PASSAGE_STRIDE)
    return [words[start : start + PASSAGE_WORDS] for start in starts]


def _sample(texts: Iterable[str]) -> list[list[str]]:
    """Passages evenly over the corpus."""
    chosen = [passage for text in texts for passage in _evenly(passages_of(text), FITTED_PER_DOCUMENT)]
    return _evenly(chosen, FITTED_PASSAGES)


def _evenly(passages: list[list[str]], limit: int) -> list[list[str]]:
    if len(passages) <= limit:
        return passages
    return [passages[index * len(passages) // limit] for index in range(limit)]


def _vocabulary(passages: list[list[str]]) -> dict[str, int]:
    """The most widespread terms that are neither rare nor everywhere; ties by name, so that a corpus gives one model."""
    presence = Counter(term for passage in passages for term in set(_terms(passage)))
    most = max(RARE, int(COMMON * len(passages)))
    kept = sorted((term for term, count in presence.items() if RARE <= count <= most), key=lambda term: (-presence[term], term))
    return {term: position for position, term in enumerate(kept[:VOCABULARY])}


def _terms(words: Sequence[str]) -> list[str]:
    """Words and neighbouring pairs."""
    return [*words, *(f"{first} {second}" for first, second in itertools.pairwise(words))]


def _weighted(words: Sequence[str], terms: dict[str, int], weights: Matrix) -> tuple[NDArray[np.int64], Matrix]:
    """Positions and TF-IDF values of the known terms of a passage, of unit length together."""
    counts = Counter(terms[term] for term in _terms(words) if term in terms)
    positions = np.fromiter(counts, dtype=np.int64, count=len(counts))
    frequencies = np.fromiter(counts.values(), dtype=np.float32, count=len(counts))
    return positions, _unit((1 + np.log(frequencies)) * weights[positions])


def _directions(matrix: Matrix) -> Matrix:
    """The leading right singular vectors, by the small Gram matrix: passages are fewer than terms."""
    values, vectors = np.linalg.eigh((matrix @ matrix.T).astype(np.float64))
    leading = np.argsort(values)[::-1][:DIMENSIONS]
    leading = leading[values[leading] > 1e-9]
    directions: Matrix = (matrix.T @ (vectors[:, leading] / np.sqrt(values[leading]))).astype(np.float32)
    return directions


def _unit(vector: Matrix) -> Matrix:
    length = float(np.linalg.norm(vector))
    return vector if length == 0 else (vector / length).astype(np.float32)
