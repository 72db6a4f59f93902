"""Topics merged by hand or by likeness: weights refitted, and a new certificate.

The merged topics are known components: documents of unit length are factorized with these
components fixed, so that the certificate speaks of the topics as they are now. Weights of the
documents are found as they were before, by likelihood or least squares.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.topics.corpus import (
    WordCounts,
    counts_of_words,
    whole_matrix,
)
from provenmf.applications.topics.inference import weights_in
from provenmf.applications.topics.solver import factorized_by
from provenmf.errors import InvalidInput
from provenmf.io.texts import Corpus, Counts, TextFile

if TYPE_CHECKING:
    from provenmf.applications.topics.answer import Topics

Floats = NDArray[np.float64]


def merge(answer: Topics, numbers: Sequence[int], documents: object = None) -> Topics:
    """Merge several topics into one, with refitted weights and a new certificate.

    Parameters
    ----------
    numbers : sequence of int
        The topics to merge, counted from 1 as in their names.
    documents : texts, Counts or matrix of counts, optional
        The documents that the topics were found in; needed for topics loaded from a file.

    Returns
    -------
    Topics
        Without anchor words: the certificate is that of documents of unit length factorized
        with these topics. Default names are renumbered; names that you gave are kept.

    Examples
    --------
    >>> from provenmf.applications import find_topics
    >>> texts = ["ship sail wave", "bread oven yeast", "ship wave harbour", "oven bread"] * 3
    >>> topics = find_topics(texts, 2).labelled({1: "one", 2: "two"})
    >>> topics.merge([1, 2]).component_names
    ('one + two',)
    """
    chosen = places_of(answer, numbers)
    counts = counts_behind(answer, documents)
    mass = words_of_topics(answer, counts.matrix)
    groups = [[i] for i in range(answer.n_components) if i not in chosen[1:]]
    groups[groups.index([chosen[0]])] = list(chosen)
    told = f"{', '.join(answer.component_names[i] for i in chosen)} were merged"
    return regrouped(answer, groups, mass, counts, told)


def reduced_to(answer: Topics, n_topics: int, documents: object = None) -> Topics:
    """Merge topics until `n_topics` are left, each time those that differ least; see `merge`.

    The loss of a merger is the information about words that is lost (Slonim & Tishby 1999).
    """
    if not 1 <= n_topics <= answer.n_components:
        raise InvalidInput(
            f"cannot reduce {answer.n_components} topics to {n_topics}: give a number from 1 to "
            f"{answer.n_components}"
        )
    counts = counts_behind(answer, documents)
    mass = words_of_topics(answer, counts.matrix)
    joined = {i: [i] for i in range(answer.n_components)}
    order = joining_order(answer.topics, mass)[: answer.n_components - n_topics]
    for number, (i, j, _) in enumerate(order, answer.n_components):
        joined[number] = sorted(joined.pop(i) + joined.pop(j))
    groups = sorted(joined.values())
    told = f"{answer.n_components} topics were reduced to {n_topics} by merging similar topics"
    return regrouped(answer, groups, mass, counts, told)


def places_of(answer: Topics, numbers: Sequence[int]) -> list[int]:
    """Validate one-based topic numbers and return them as sorted zero-based indices."""
    places = sorted({int(number) - 1 for number in numbers})
    wrong = next((place for place in places if not 0 <= place < answer.n_components), None)
    if wrong is not None:
        raise InvalidInput(f"there is no topic {wrong + 1}: they are 1 to {answer.n_components}")
    if len(places) < 2:
        raise InvalidInput(f"numbers has {len(places)} topics: name at least 2")
    return places


def counts_behind(answer: Topics, documents: object) -> Counts:
    """Return the counts of the answer's words in its documents, from memory or from given data."""
    if documents is None:
        if answer.corpus is None:
            raise InvalidInput(
                "the topics were loaded from a file, which does not hold the documents",
                argument="documents",
                remedy="give the texts or counts that they were found in",
            )
        documents = answer.corpus
    counts, _ = counts_of_words(documents, answer.vocabulary, answer.word_columns)
    matrix = whole_matrix(counts, "a change of topics")
    if matrix.shape[0] != len(answer.document_weights):
        raise InvalidInput(
            f"{matrix.shape[0]} documents for topics of {len(answer.document_weights)}: give those "
            "that the topics were found in"
        )
    texts: Sequence[str] | TextFile | None = None
    if isinstance(documents, Corpus | Counts):
        texts = documents.texts
    elif isinstance(documents, TextFile):
        texts = documents
    return Counts(matrix, answer.vocabulary, texts, None)


def words_of_topics(answer: Topics, matrix: sp.csr_array) -> Floats:
    """Compute the expected number of word occurrences in each topic."""
    lengths = np.asarray(matrix.sum(axis=1), dtype=np.float64)
    return np.maximum(np.asarray(lengths @ answer.document_weights), np.finfo(float).tiny)


def joining_order(topics: Floats, mass: Floats) -> list[tuple[int, int, float]]:
    """Return all pairs of topics with the loss of merging them, the least first.

    Merging i and j loses (m_i + m_j) times the weighted Jensen-Shannon divergence of their words
    (Slonim & Tishby 1999). A merged topic takes the next number.
    """
    rows = {i: np.array(row) for i, row in enumerate(topics)}
    sizes = {i: float(m) for i, m in enumerate(mass)}

    def mixed(i: int, j: int) -> Floats:
        total = max(sizes[i] + sizes[j], np.finfo(float).tiny)
        return np.asarray((sizes[i] * rows[i] + sizes[j] * rows[j]) / total)

    def loss(i: int, j: int) -> float:
        own = sizes[i] * entropy(rows[i]) + sizes[j] * entropy(rows[j])
        return (sizes[i] + sizes[j]) * entropy(mixed(i, j)) - own

    losses = {(i, j): loss(i, j) for j in rows for i in range(j)}
    order = []
    for number in range(len(topics), 2 * len(topics) - 1):
        i, j = min(losses, key=lambda pair: losses[pair])
        order.append((i, j, max(losses[i, j], 0.0)))
        rows[number], sizes[number] = mixed(i, j), sizes[i] + sizes[j]
        del rows[i], rows[j]
        losses = {pair: v for pair, v in losses.items() if i not in pair and j not in pair}
        losses |= {(other, number): loss(other, number) for other in rows if other != number}
    return order


def entropy(row: Floats) -> float:
    """Compute the entropy −Σ p log p of a distribution."""
    positive = row[row > 0]
    return float(-(positive * np.log(positive)).sum())


def regrouped(
    answer: Topics, groups: list[list[int]], mass: Floats, counts: Counts, told: str
) -> Topics:
    """Merge each group of topics into their mean, weighted by their numbers of words.

    Documents get new weights, and the answer a new certificate and new measures.
    """
    from provenmf.applications.topics.answer import measured

    topics = np.array([mass[group] @ answer.topics[group] / mass[group].sum() for group in groups])
    prior, shares = None, None
    if answer.prior is not None:
        prior = np.array([answer.prior[group].sum() for group in groups])
    if answer.word_shares is not None:
        shares = np.array([answer.word_shares[group].sum(axis=0) for group in groups])
    names = [" + ".join(answer.component_names[i] for i in group) for group in groups]
    known = WordCounts(counts.matrix)
    fit = factorized_by(topics, known, {})
    weights = weights_in(known, topics, prior)
    return replace(
        answer,
        error_bars=None,  # those of the topics before
        factorization=replace(fit, origin=answer.factorization.origin),
        notes=(*answer.notes, told),
        component_names=tuple(renumbered(names)),
        topics=topics,
        document_weights=weights,
        prior=prior,
        anchor_columns=None,
        candidate_words=None,
        **measured(topics, answer.word_frequency, shares, weights, known, counts.texts),
    )


def renumbered(names: Sequence[str]) -> list[str]:
    """Number default topic names anew from 1, and keep custom names."""
    plain = re.compile(r"Topic \d+( \+ Topic \d+)*")
    return [f"Topic {n}" if plain.fullmatch(name) else name for n, name in enumerate(names, 1)]
