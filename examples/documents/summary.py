"""Extractive summary by TextRank (Mihalcea and Tarau, 2004): the sentences that the other sentences resemble most.

Sentences are compared in blocks, block by block, and then the winners with one another, so that a document of thousands of
sentences needs neither their square in memory nor a cut at the end.
"""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from examples.documents.words import sentences_of, words_of

SENTENCES = 3
BLOCK = 400
WINNERS_PER_BLOCK = 40
DAMPING = 0.85
ROUNDS = 50
SETTLED = 1e-6


def summarise(text: str, sentences: int = SENTENCES) -> list[str]:
    """At most `sentences` sentences of the text, in its order; empty if it has none that can stand alone."""
    candidates = sentences_of(text)
    while len(candidates) > BLOCK:
        blocks = [candidates[start : start + BLOCK] for start in range(0, len(candidates), BLOCK)]
        candidates = [sentence for block in blocks for sentence in _best(block, WINNERS_PER_BLOCK)]
    return _best(candidates, sentences)


def _best(sentences: list[str], count: int) -> list[str]:
    """The `count` highest ranked, in their own order."""
    if len(sentences) <= count:
        return sentences
    ranks = _ranks(_similarity(sentences))
    return [sentences[index] for index in sorted(np.argsort(-ranks, kind="stable")[:count])]


def _similarity(sentences: list[str]) -> NDArray[np.float64]:
    """Cosine of every pair over their TF-IDF terms, nothing with itself."""
    bags = [Counter(words_of(sentence)) for sentence in sentences]
    presence = Counter(word for bag in bags for word in bag)
    positions = {word: index for index, word in enumerate(presence)}
    matrix = np.zeros((len(sentences), max(1, len(positions))))
    for row, bag in enumerate(bags):
        for word, count in bag.items():
            matrix[row, positions[word]] = (1 + np.log(count)) * np.log(len(sentences) / presence[word] + 1)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    matrix /= np.where(lengths == 0, 1, lengths)
    similarity: NDArray[np.float64] = matrix @ matrix.T
    np.fill_diagonal(similarity, 0)
    return similarity


def _ranks(similarity: NDArray[np.float64]) -> NDArray[np.float64]:
    """PageRank over the graph of similarities, until it settles."""
    size = len(similarity)
    outgoing = similarity.sum(axis=1, keepdims=True)
    steps = np.where(outgoing == 0, 1 / size, similarity / np.where(outgoing == 0, 1, outgoing)).T
    ranks = np.full(size, 1 / size)
    for _ in range(ROUNDS):
        moved = (1 - DAMPING) / size + DAMPING * (steps @ ranks)
        settled = float(np.abs(moved - ranks).sum()) < SETTLED
        ranks = moved
        if settled:
            break
    return ranks
