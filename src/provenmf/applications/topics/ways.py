"""Three ways to find topics: from counts, from tf-idf over words, from documents.

Each takes the counts of the usable words and returns what it found; `search.py` makes the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.fitting import fit_matrix, for_real_data, simplex_weights
from provenmf.applications.topics.anchor_words import topics_from_anchors, word_problem
from provenmf.applications.topics.corpus_counts import WordCounts
from provenmf.applications.topics.counted_words import count_problem, find_number, notes_on_counts
from provenmf.applications.topics.given_counts import whole_matrix
from provenmf.applications.topics.refinement import documents_to_judge
from provenmf.applications.topics.spectral import topics_at
from provenmf.applications.topics.tf_idf import unit_documents
from provenmf.errors import InvalidInput
from provenmf.linalg.scaling import rows_to_sum_one
from provenmf.results import Factorization

NOT_REFINED = (
    "topics were not refined by the documents' weights, because that did not make held-out "
    "documents more likely"
)


@dataclass(frozen=True)
class TopicSettings:
    """What is needed, besides the documents, to build the factorized matrix again."""

    n_topics: int | None = None
    min_anchor_documents: int | None = None
    features: str = "tf-idf"


def way_of(by_words: bool, features: str) -> str:
    """Which of the three ways; "documents" for methods without anchors."""
    if features not in ("counts", "tf-idf"):
        raise InvalidInput(f"features={features!r} is not 'counts' or 'tf-idf'")
    return features if by_words else "documents"


def checked_weights(weights_from: str | None, way: str) -> str:
    """How the weights of documents are found; the first of those that the way allows by default."""
    known = ("likelihood", "counts", "tfidf") if way == "counts" else ("counts", "tfidf")
    if weights_from is None:
        return known[0]
    if weights_from not in known:
        allowed = " or ".join(repr(name) for name in known)
        raise InvalidInput(f"weights_from={weights_from!r} is not {allowed}")
    return weights_from


@dataclass(frozen=True, eq=False)
class Found:
    """Topics by one of the three ways; anchors and candidates are columns of the vocabulary.

    unbounded : the topics with shares of words that may be negative, for their standard errors.
    word_shares : p(topic | word) (words, k) for ranking words.
    """

    factorization: Factorization
    topics: NDArray[np.float64]
    anchors: NDArray[np.intp] | None = None
    candidates: NDArray[np.intp] | None = None
    prior: NDArray[np.float64] | None = None
    frequency: NDArray[np.float64] | None = None
    eigenvalues: NDArray[np.float64] | None = None
    noise_edge: float = np.nan
    n_topics: int | None = None
    notes: tuple[str, ...] = ()
    unbounded: NDArray[np.float64] | None = None
    word_shares: NDArray[np.float64] | None = None


def from_counts(
    counts: WordCounts,
    settings: TopicSettings,
    method: str,
    options: dict[str, Any],
    *,
    refine: bool = True,
) -> Found:
    """Anchor words in unbiased co-occurrence, vertices around them; see `counted_words`."""
    notes = []
    number, values, edge = settings.n_topics, None, np.nan
    if number is None:
        shown = find_number(counts)
        number, values, edge = shown.number, shown.eigenvalues, shown.noise_edge
        notes.append(shown.note())
    problem = count_problem(counts, number, settings.min_anchor_documents)
    options = {**simplex_weights(method), **options}
    factorization = fit_matrix(problem.points, number, method, options, argument="n_topics")
    assert factorization.anchors is not None  # every method here chooses rows
    anchors = problem.candidates[factorization.anchors]
    found = topics_at(counts, problem.spectrum, problem.words, anchors, refine=refine)
    if refine and not found.refined and number > 1 and len(documents_to_judge(counts.shape[0])):
        notes.append(NOT_REFINED)
    return Found(
        factorization,
        found.topics,
        anchors,
        problem.candidates,
        prior=found.prior,
        frequency=found.frequencies,
        eigenvalues=problem.spectrum.values if values is None else values,
        noise_edge=edge,
        n_topics=number,
        notes=(*notes, *notes_on_counts(counts, problem)),
        unbounded=found.unbounded,
        word_shares=found.shares,
    )


def from_words(
    counts: WordCounts, settings: TopicSettings, method: str, options: dict[str, Any]
) -> Found:
    """Anchor words in the co-occurrence of tf-idf features; see `anchor_words`."""
    matrix = whole_matrix(counts, "find_topics")
    problem = word_problem(matrix, settings.n_topics, settings.min_anchor_documents)
    options = {**simplex_weights(method), **options}
    factorization = fit_matrix(
        problem.points, settings.n_topics, method, options, argument="n_topics"
    )
    assert factorization.anchors is not None  # every method here chooses rows
    anchors = problem.candidates[factorization.anchors]
    topics = topics_from_anchors(problem.cooccurrence, anchors)
    return Found(factorization, topics, anchors, problem.candidates)


def from_documents(
    counts: WordCounts, settings: TopicSettings, method: str, options: dict[str, Any]
) -> Found:
    """Components of documents of unit length, for methods without anchors."""
    options = {**for_real_data(method, settings.n_topics), **options}
    documents = unit_documents(whole_matrix(counts, "find_topics"))
    factorization = fit_matrix(documents, settings.n_topics, method, options, argument="n_topics")
    positive = np.maximum(factorization.components, 0.0).astype(np.float64)
    return Found(factorization, rows_to_sum_one(positive))


WAYS = {"counts": from_counts, "tf-idf": from_words, "documents": from_documents}
