"""Three strategies to find topics in counts, and standard errors by resampling documents.

Standard errors: topics are found again in documents drawn with replacement. A document drawn twice
adds its pairs of words twice, so the co-occurrence stays unbiased. Measured is the spread of topics
before negative shares are cut, because cut ones would look too well known. Errors that all
resamples have in common are not measured, such as vertices moved by words that are nearly
exclusive: docs/topics.md has how often the intervals hold the truth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.fitting import fit_matrix, for_real_data, simplex_weights
from provenmf.applications.topics.answer import TopicSettings
from provenmf.applications.topics.corpus import WordCounts
from provenmf.applications.topics.given import whole_matrix
from provenmf.applications.topics.refinement import documents_to_judge
from provenmf.applications.topics.solver import (
    count_problem,
    find_number,
    notes_on_counts,
    topics_at,
)
from provenmf.applications.topics.tf_idf import topics_from_anchors, unit_documents, word_problem
from provenmf.errors import InvalidInput
from provenmf.linalg.norms import rows_to_sum_one
from provenmf.methods.error_bars import error_bars, resampled
from provenmf.results import Factorization
from provenmf.results.estimates import ErrorBars

NOT_REFINED = (
    "topics were not refined by the documents' weights, because that did not make held-out "
    "documents more likely"
)


def strategy_of(by_words: bool, features: str) -> str:
    """Return the name of the strategy; "documents" for methods without anchors."""
    if features not in ("counts", "tf-idf"):
        raise InvalidInput(f"features={features!r} is not 'counts' or 'tf-idf'")
    return features if by_words else "documents"


def checked_weights(weights_from: str | None, strategy: str) -> str:
    """Return how weights of documents are found: by default the first that the strategy allows."""
    known = ("likelihood", "counts", "tfidf") if strategy == "counts" else ("counts", "tfidf")
    if weights_from is None:
        return known[0]
    if weights_from not in known:
        allowed = " or ".join(repr(name) for name in known)
        raise InvalidInput(f"weights_from={weights_from!r} is not {allowed}")
    return weights_from


@dataclass(frozen=True, eq=False)
class Found:
    """Topics by one of the strategies; anchors and candidates are columns of the vocabulary.

    start : where topics from counts start, see `TopicView`.
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
    start: str | None = None
    notes: tuple[str, ...] = ()
    unbounded: NDArray[np.float64] | None = None
    word_shares: NDArray[np.float64] | None = None

    def ordered(self, order: NDArray[np.intp]) -> Found:
        """Return the topics in another order."""

        def rows(values: NDArray[Any] | None) -> Any:
            return None if values is None else values[order]

        return replace(
            self,
            factorization=reordered(self.factorization, order),
            topics=self.topics[order],
            anchors=rows(self.anchors),
            prior=rows(self.prior),
            unbounded=rows(self.unbounded),
            word_shares=None if self.word_shares is None else self.word_shares[:, order],
        )


def reordered(fit: Factorization, order: NDArray[np.intp]) -> Factorization:
    """Return the factorization with its components, and what is measured of each, in an order."""
    certificate = fit.certificate
    if certificate is not None:
        measures = {
            name: tuple(value[i] for i in order)
            if isinstance(value, tuple) and len(value) == len(order)
            else value
            for name, value in certificate.measures.items()
        }
        certificate = replace(certificate, measures=measures)
    return replace(
        fit,
        weights=fit.weights[:, order],
        components=fit.components[order],
        anchors=None if fit.anchors is None else fit.anchors[order],
        labels=None if fit.labels is None else np.argsort(order)[fit.labels],
        certificate=certificate,
    )


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
    problem = count_problem(counts, number, settings.min_anchor_documents, settings.start)
    options = {**simplex_weights(method), **options}
    factorization = fit_matrix(problem.points, number, method, options, argument="n_topics")
    assert factorization.anchors is not None  # every method here chooses rows
    anchors = problem.candidates[factorization.anchors]
    found = topics_at(counts, problem.view, problem.words, anchors, refine=refine)
    if refine and not found.refined and number > 1 and len(documents_to_judge(counts.shape[0])):
        notes.append(NOT_REFINED)
    return Found(
        factorization,
        found.topics,
        anchors,
        problem.candidates,
        prior=found.prior,
        frequency=found.frequencies,
        eigenvalues=problem.view.spectrum.values if values is None else values,
        noise_edge=edge,
        n_topics=number,
        start=problem.view.start,
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


STRATEGIES = {"counts": from_counts, "tf-idf": from_words, "documents": from_documents}


ASSUMES = (
    "documents are drawn independently from one source, every word by itself from its document's "
    "topics, and the topics found are off by chance alone"
)


def topic_error_bars(
    counts: WordCounts,
    found: Found,
    settings: TopicSettings,
    method: str,
    options: dict[str, Any],
    n_resamples: int,
) -> ErrorBars:
    """Error bars of the topics that `found` has in these counts."""
    settings = replace(settings, n_topics=len(found.topics), start=found.start)
    quiet = {**options, "certify": False, "callback": None, "checkpoint": None}

    find = STRATEGIES[settings.features]
    if find is from_counts:  # the spread is measured before topics are refined
        find = partial(from_counts, refine=False)

    matrix = whole_matrix(counts, "find_topics with n_resamples")

    def refit(drawn: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        again = find(WordCounts(matrix[drawn]), settings, method, quiet)
        return again.topics, again.topics if again.unbounded is None else again.unbounded

    spread = resampled(
        refit,
        found.topics,
        counts.shape[0],
        n_resamples,
        np.random.default_rng(0),
        callback=options.get("callback"),
        verbose=options.get("verbose") or 0,
    )
    return error_bars(found.topics, spread, ASSUMES, unit=_one_occurrence(counts, found))


def _one_occurrence(counts: WordCounts, found: Found) -> NDArray[np.float64]:
    """What one more occurrence of a word adds to its share in a topic (k, 1)."""
    if found.frequency is None or found.prior is None:
        return np.zeros((len(found.topics), 1))
    shares = found.prior / found.prior.sum()
    return np.asarray(1.0 / np.maximum(shares * counts.lengths.sum(), 1.0))[:, None]
