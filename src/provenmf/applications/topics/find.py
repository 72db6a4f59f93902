"""Find the topics of a corpus: the public function and its three strategies.

"counts" (the default): separable NMF over words in k coordinates finds k anchor words (`solver`);
vertices are averaged around them; topics are probabilities of words, and weights of documents
their posterior means.

"tf-idf" (Nguyen22, Section V-B; Arora13): separable NMF over words in 2k coordinates; topics by
nonnegative least squares of the co-occurrence on the anchors' rows; weights of documents by
nonnegative least squares of their features on the topics (`tf_idf`).

"documents" (any method without anchors, such as AND): documents of unit length ≈ weights @ topics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.confirm import confirm
from provenmf.applications.fitting import (
    check_number,
    fit_matrix,
    for_real_data,
    found_fewer,
    simplex_weights,
)
from provenmf.applications.topics.answer import Topics, TopicSettings
from provenmf.applications.topics.corpus import WordCounts
from provenmf.applications.topics.given import as_word_counts, usable_words, whole_matrix
from provenmf.applications.topics.measures import measured, pooled_shares
from provenmf.applications.topics.refinement import documents_to_judge
from provenmf.applications.topics.solver import (
    count_problem,
    find_number,
    notes_on_counts,
    topics_at,
)
from provenmf.applications.topics.tf_idf import (
    rarity_of,
    topics_from_anchors,
    unit_documents,
    weights_in,
    word_problem,
)
from provenmf.data import Blocks
from provenmf.data.door import check_unchanged, fingerprint_of
from provenmf.errors import InvalidInput, counted
from provenmf.io.texts import Counts
from provenmf.linalg.scaling import rows_to_sum_one
from provenmf.methods import estimator_class
from provenmf.methods.error_bars import error_bars, resampled
from provenmf.results import Factorization
from provenmf.results.answers import numbered
from provenmf.results.error_bars import ErrorBars
from provenmf.results.factorization import with_estimates

NOT_REFINED = (
    "topics were not refined by the documents' weights, because that did not make held-out "
    "documents more likely"
)


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
    settings = replace(settings, n_topics=len(found.topics))
    quiet = {**options, "certify": False, "callback": None, "checkpoint": None}

    find = WAYS[settings.features]
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


LONGEST_NAME = 255


def find_topics(
    documents: Any,
    n_topics: int | None = None,
    *,
    method: str = "spa",
    features: str = "counts",
    vocabulary: Any = None,
    min_anchor_documents: int | None = None,
    weights_from: str | None = None,
    n_resamples: int = 0,
    evidence: bool = True,
    random_state: Any = None,
    **options: Any,
) -> Topics:
    """Find the topics of a corpus.

    Parameters
    ----------
    documents : texts, Corpus, Counts or matrix of counts (documents, words)
        Texts as a list or from `read_texts`; word counts from `count_words` (which has options)
        or `read_counts`; or a matrix of counts.
    n_topics : int or None, default None
        Number of topics. None counts the eigenvalues of the words' co-occurrence above its noise
        level, up to the largest drop; with other features, the method chooses the number.
    method : str, default "spa"
        "spa", "merit", "xray", "fast_anchor", "fast_gradient" find anchor words; any other
        method, such as "and_descent", factorizes the documents.
    features : {"counts", "tf-idf"}, default "counts"
        Find anchor words from the unbiased co-occurrence of counts, or from that of tf-idf as in
        Nguyen et al. 2022. Methods that factorize documents always use tf-idf.
    vocabulary : sequence of str, optional
        The words of a matrix, or those to count in texts.
    min_anchor_documents : int, optional
        A word in fewer documents cannot become an anchor. By default the words' standard errors
        decide; with tf-idf, 1 % of the documents and at least 2 (docs/decisions.md).
    weights_from : {"likelihood", "counts", "tfidf"}, optional
        How document weights are computed: by likelihood with a Dirichlet prior (the default for
        topics from counts), or by least squares of counts (the default otherwise) or of tf-idf.
    n_resamples : int, default 0
        Number of times to find the topics again, in documents drawn with replacement, for their
        standard errors (`Topics.error_bars`): 0 for none, otherwise 10 or more. Each takes as long
        as a fit.
    evidence : bool, default=True
        Whether to find the topics again in two halves of the documents and judge each by the other
        half (see `provenmf.confirm`); takes about as long as the topics themselves.
    random_state, options
        Passed to the method's estimator.

    Returns
    -------
    Topics

    Examples
    --------
    >>> from provenmf.applications import find_topics
    >>> texts = ["ship sail wave", "bread oven yeast", "sail wave ship", "oven bread yeast"]
    >>> sorted(sorted(words) for words in find_topics(texts, 2).top_words(3))
    [['bread', 'oven', 'yeast'], ['sail', 'ship', 'wave']]
    >>> from provenmf.datasets.corpora import topic_corpus
    >>> corpus = topic_corpus(2000, 300, 4, word_concentration=0.05, random_state=0)
    >>> find_topics(corpus.counts, certify=False, evidence=False)
    Topics(4 topics of 2,000 documents, method='spa')
    """
    by_words = estimator_class(method).traits.anchors
    way = way_of(by_words, features)
    weights_from = checked_weights(weights_from, way)
    corpus = as_word_counts(documents, vocabulary)
    counts = WordCounts(corpus.matrix)
    kept, notes = usable_words(counts)
    notes = [*corpus.notes, *notes]
    check_number("n_topics", n_topics, counts.shape[0], "documents")
    if len(kept) < counts.shape[1]:
        counts = counts.of_words(kept)
    used = Counts(counts.matrix, corpus.vocabulary[kept], corpus.texts, corpus.names)
    given = corpus.matrix if isinstance(corpus.matrix, Blocks) else None
    del documents, corpus  # counts of all words take as much memory again
    settings = TopicSettings(n_topics, min_anchor_documents, way)
    options = {"random_state": random_state, **options}
    found = WAYS[way](counts, settings, method, options)
    bars = None
    if n_resamples:
        bars = topic_error_bars(counts, found, settings, method, options, n_resamples)
        found = replace(
            found, factorization=with_estimates(found.factorization, bars, found.topics)
        )
    rarity = rarity_of(counts.documents, counts.shape[0]) if weights_from == "tfidf" else None
    prior = found.prior if weights_from == "likelihood" else None
    weights = weights_in(counts, found.topics, prior, rarity)
    word_shares = None
    if found.word_shares is not None:
        word_shares = pooled_shares(found.word_shares, weights, counts)
    notes += [*found.notes, *found_fewer(found.factorization, n_topics, "topics")]
    empty = int(np.count_nonzero(counts.lengths == 0))
    if empty:
        verb = "has" if empty == 1 else "have"
        notes.append(f"{counted(empty, 'document')} {verb} no words left, and so no weights")
    names = numbered("Topic", len(found.topics))
    if given is not None and given.first_seen is not None:
        check_unchanged(given.first_seen, fingerprint_of(given), "documents")
    answer = Topics(
        factorization=found.factorization,
        notes=(*notes, *(bars.notes(names) if bars else ())),
        error_bars=bars,
        topics=found.topics,
        vocabulary=used.vocabulary,
        word_columns=kept,
        document_weights=weights,
        anchor_columns=found.anchors,
        candidate_words=found.candidates,
        document_names=None if used.names is None else names_of(used.names),
        rarity=rarity,
        prior=prior,
        word_frequency=found.frequency,
        eigenvalues=found.eigenvalues,
        noise_edge=found.noise_edge,
        settings=replace(settings, n_topics=found.n_topics or n_topics),
        corpus=used,
        **measured(found.topics, found.frequency, word_shares, weights, counts, used.texts),
    )
    return confirm(used, answer) if evidence else answer


def names_of(names: Sequence[str]) -> NDArray[np.str_]:
    """Names of documents; a long one is cut, since an array has room for the longest in all."""
    return np.array([name[:LONGEST_NAME] for name in names], dtype=np.str_)
