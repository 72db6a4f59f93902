"""Find the topics of a corpus: the public function, its two strategies, and standard errors.

Methods with anchors: separable NMF over words in k coordinates finds k anchor words (`solver`);
vertices are averaged around them; topics are probabilities of words, and weights of documents
their posterior means.

Any other method, such as AND: tf-idf documents of unit length ≈ weights @ topics; weights of
documents by nonnegative least squares of their counts on the topics.

Standard errors: topics are found again in documents drawn with replacement. A document drawn twice
adds its pairs of words twice, so the co-occurrence stays unbiased. Errors that all resamples have
in common are not measured, such as vertices moved by words that are nearly exclusive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.confirm import confirm
from provenmf.applications.fitting import (
    check_number,
    fit_matrix,
    for_real_data,
    found_fewer,
    reordered,
    simplex_weights,
)
from provenmf.applications.topics.answer import GROUPS, Topics, TopicSettings, measured
from provenmf.applications.topics.cooccurrence import WordSpectrum
from provenmf.applications.topics.corpus import (
    WordCounts,
    as_word_counts,
    unit_documents,
    usable_columns,
    usable_words,
    weights_beside_words,
    whole_matrix,
)
from provenmf.applications.topics.inference import topics_of, weights_in
from provenmf.applications.topics.solver import (
    count_problem,
    factorized_by,
    find_number,
    misleads_anchors,
    noise_beside,
    notes_on_counts,
    shares_by_groups,
    topic_spectrum,
    topics_at,
    with_prior,
)
from provenmf.applications.topics.texts import NOTICED, Tokenizer, listed
from provenmf.arguments import Within, checked
from provenmf.budget import blas_threads_for
from provenmf.data import Blocks
from provenmf.data.door import check_unchanged, fingerprint_of
from provenmf.errors import counted
from provenmf.io.texts import Counts
from provenmf.linalg.norms import rows_to_sum_one
from provenmf.methods import estimator_class, options_of_method
from provenmf.methods.error_bars import error_bars, resampled
from provenmf.results import Factorization
from provenmf.results.answers import numbered, stored_or_numbered
from provenmf.results.estimates import ErrorBars

NAMED_COPIES = 3  # in a note
LONGEST_NAME = 255  # arrays of names reserve room for the longest name


@checked(options_of=options_of_method)
def find_topics(
    documents: Any,
    n_topics: int | None = None,
    *,
    method: str = "spa",
    vocabulary: Any = None,
    stop_words: str | Sequence[str] | None = "auto",
    ngram_range: tuple[int, int] = (1, 1),
    min_documents: int = 2,
    max_share: float = 0.5,
    tokenizer: Tokenizer | None = None,
    n_resamples: Annotated[int, Within(0, 100_000)] = 0,
    evidence: bool = True,
    random_state: Any = None,
    **options: Any,
) -> Topics:
    """Find the topics of a corpus.

    Parameters
    ----------
    documents : texts, Corpus, Counts or matrix of counts (documents, words)
        Texts as a list, a series or from `read_texts`; word counts from `count_words` or
        `read_counts`; or a matrix of counts.
    n_topics : int or None, default None
        Number of topics. None counts the eigenvalues of the words' co-occurrence above its noise
        level, up to the largest drop; methods without anchors choose the number themselves.
    method : str, default "spa"
        "spa", "merit", "xray", "fast_anchor", "fast_gradient" find anchor words; any other
        method, such as "and_descent", factorizes the documents.
    vocabulary : sequence of str or dict, optional
        The words of a matrix, or those to count in texts; a dict has their columns.
    stop_words, ngram_range, min_documents, max_share, tokenizer
        How words of texts are counted, see `count_words`. By default the language of the texts
        decides which stop words are left out.
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
    if stop_words is not None and not isinstance(stop_words, str):
        stop_words = list(stop_words)  # an array, too
    text_options = {
        "stop_words": (stop_words, "auto"),
        "ngram_range": (tuple(ngram_range), (1, 1)),
        "min_documents": (min_documents, 2),
        "max_share": (max_share, 0.5),
        "tokenizer": (tokenizer, None),
    }
    chosen = {name: value for name, (value, default) in text_options.items() if value != default}
    corpus = as_word_counts(documents, vocabulary, **chosen)
    del documents  # counts of all words take as much memory again
    given = corpus.matrix if isinstance(corpus.matrix, Blocks) else None
    counts, columns, corpus = usable_words(corpus)
    check_number("n_topics", n_topics, counts.shape[0], "documents")
    settings, options = TopicSettings(n_topics, method), {"random_state": random_state, **options}
    with blas_threads_for(counts.blocks.stored_entries):
        answer = topics_in(counts, corpus, columns, settings, options, n_resamples)
    if given is not None and given.first_seen is not None:
        check_unchanged(given.first_seen, fingerprint_of(given), "documents")
    answer = replace(answer, tokenizer=tokenizer)
    return confirm(corpus, answer) if evidence else answer


def topics_in(
    counts: WordCounts,
    corpus: Counts,
    columns: NDArray[np.intp],
    settings: TopicSettings,
    options: dict[str, Any],
    n_resamples: int,
) -> Topics:
    """Return the topics of counts, in the order of their size, with what `corpus` knows."""
    find = from_counts if estimator_class(settings.found_by).traits.anchors else from_documents
    found, weights = by_size(find(counts, settings, options), counts)
    names = stored_or_numbered(corpus.names, "document", counts.shape[0])
    bars = None
    if n_resamples:
        bars = topic_error_bars(counts, found, options, n_resamples)
    word_shares = None
    if found.word_shares is not None:
        word_shares = pooled_shares(found.word_shares, weights, counts)
    titles = None
    if corpus.names is not None:
        titles = np.array([name[:LONGEST_NAME] for name in corpus.names], dtype=np.str_)
    return Topics(
        factorization=found.factorization,
        notes=(
            *corpus.notes,
            *notes_on(found, counts, settings.n_topics, bars),
            *notes_on_repeats(found, counts, corpus.vocabulary, names),
        ),
        error_bars=bars,
        topics=found.topics,
        vocabulary=corpus.vocabulary,
        word_columns=columns,
        document_weights=weights,
        anchor_columns=found.anchors,
        candidate_words=found.candidates,
        document_names=titles,
        prior=found.prior,
        word_frequency=counts.frequencies,
        settings=found.settings,
        corpus=corpus,
        **measured(found.topics, counts.frequencies, word_shares, weights, counts, corpus.texts),
    )


@dataclass(frozen=True, eq=False)
class Found:
    """Topics by one of the strategies; anchors and candidates are columns of the vocabulary.

    settings : what is needed to build the factorized matrix again.
    word_shares : p(topic | word) (words, k) for ranking words.
    """

    factorization: Factorization
    topics: NDArray[np.float64]
    settings: TopicSettings
    anchors: NDArray[np.intp] | None = None
    candidates: NDArray[np.intp] | None = None
    prior: NDArray[np.float64] | None = None
    notes: tuple[str, ...] = ()
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
            word_shares=None if self.word_shares is None else self.word_shares[:, order],
        )


def by_size(found: Found, counts: WordCounts) -> tuple[Found, NDArray[np.float64]]:
    """Return the topics, the largest first, and the weights of the documents."""
    weights = weights_in(counts, found.topics, found.prior)
    order = np.argsort(-weights.sum(axis=0), kind="stable")
    if np.any(np.diff(order) < 0):  # weights are computed as `transform` will, to the last bit
        found = found.ordered(order)
        weights = weights_in(counts, found.topics, found.prior)
    return found, weights


def pooled_shares(
    by_points: NDArray[np.float64], weights: NDArray[np.float64], counts: WordCounts
) -> NDArray[np.float32]:
    """Score each word as an indicator of each topic (k, words), by its point and its documents.

    The geometric mean of p(topic | word) as the points have it (words, k), and of the mean weight
    of the topic in the documents that have the word. A word at a vertex need not be in documents
    about the topic, and a word of such documents need not be of the topic: both are asked for.
    """
    sums = counts.blocks.map_reduce(weights_beside_words, weights)
    by_documents = sums / np.maximum(counts.documents, 1)[:, None]
    return np.asarray(np.sqrt(by_points * by_documents).T, dtype=np.float32)


def notes_on(
    found: Found, counts: WordCounts, n_topics: int | None, bars: ErrorBars | None
) -> list[str]:
    """Return what the owner of the documents should know about the topics."""
    notes = list(found.notes)
    notes += found_fewer(found.factorization, n_topics, "topics")
    empty = int(np.count_nonzero(counts.lengths == 0))
    if empty:
        verb = "has" if empty == 1 else "have"
        notes.append(f"{counted(empty, 'document')} {verb} no words left, and so no weights")
    if bars is not None:
        notes += bars.notes(numbered("Topic", len(found.topics)))
    return notes


def notes_on_repeats(
    found: Found, counts: WordCounts, vocabulary: NDArray[np.str_], names: Sequence[str]
) -> list[str]:
    """Return notes on repeated texts: which words and documents the search set aside."""
    notes, sample = [], counts.sample
    words, copies = np.flatnonzero(counts.boilerplate), sample.copies
    if len(words) and found.prior is not None:
        words = words[np.argsort(-counts.documents[words], kind="stable")]
        notes.append(
            f"{listed(vocabulary[words])} with always the same few documents as "
            "company, as of signatures, tables and templates, were set aside in the search for "
            "topics"
        )
    grouped = found.settings.found_by == GROUPS
    if len(copies) and (grouped or len(copies) >= NOTICED * sample.compared):
        some = [f"{names[copy]} (of {names[first]})" for copy, first in copies[:NAMED_COPIES]]
        notes.append(
            f"{len(copies):,} of the {sample.compared:,} documents compared nearly repeat "
            f"an earlier one, such as {', '.join(some)}: "
            + (
                "they were set aside in the search for topics"
                if grouped
                else "a topic may describe what is repeated; keep one of each unless repetition "
                "matters"
            )
        )
    return notes


def from_counts(counts: WordCounts, settings: TopicSettings, options: dict[str, Any]) -> Found:
    """Find topics in unbiased co-occurrence, from anchor words or groups of documents."""
    number, notes = settings.n_topics, []
    if number is None:
        number, note = find_number(counts)
        notes.append(note)
    spectrum = topic_spectrum(counts, number)
    beside = np.nan if spectrum.capped else noise_beside(spectrum)
    grouped = misleads_anchors(spectrum, beside)
    settings = TopicSettings(number, GROUPS if grouped else settings.found_by)
    notes += notes_on_counts(counts, spectrum, beside, grouped=grouped)
    find = from_groups if grouped else from_anchors
    return replace(find(counts, settings, options, spectrum), notes=tuple(notes))


def from_anchors(
    counts: WordCounts,
    settings: TopicSettings,
    options: dict[str, Any],
    spectrum: WordSpectrum,
) -> Found:
    """Find anchor words among the candidates, and the topics around them; see `solver`."""
    number, method = spectrum.vectors.shape[1], settings.found_by
    problem = count_problem(counts, spectrum, number)
    options = {**simplex_weights(method), **options}
    factorization = fit_matrix(problem.points, number, method, options, argument="n_topics")
    assert factorization.anchors is not None  # every method here chooses rows
    anchors = problem.candidates[factorization.anchors]
    found = topics_at(counts, problem, anchors)
    return Found(
        factorization,
        found.topics,
        settings,
        anchors,
        problem.candidates,
        prior=found.prior,
        word_shares=found.shares,
    )


def from_groups(
    counts: WordCounts, settings: TopicSettings, options: dict[str, Any], spectrum: WordSpectrum
) -> Found:
    """Find topics from groups of documents, and factorize the documents by these topics."""
    found = with_prior(counts, spectrum, shares_by_groups(spectrum, counts.sample))
    fit = factorized_by(found.topics, counts, options)
    return Found(fit, found.topics, settings, prior=found.prior, word_shares=found.shares)


def from_documents(counts: WordCounts, settings: TopicSettings, options: dict[str, Any]) -> Found:
    """Factorize documents of unit length, for methods without anchors."""
    number, method = settings.n_topics, settings.found_by
    options = {**for_real_data(method, number), **options}
    documents = unit_documents(counts)
    matrix = documents.everything() if documents.in_memory else documents
    factorization = fit_matrix(matrix, number, method, options, argument="n_topics")
    positive = np.maximum(factorization.components, 0.0).astype(np.float64)
    return Found(factorization, rows_to_sum_one(positive), settings)


def topics_again(
    matrix: sp.csr_array,
    settings: TopicSettings,
    options: dict[str, Any] | None = None,
) -> NDArray[np.float64]:
    """Find only the topics (k, words), in other documents with the same words."""
    counts, options = WordCounts(matrix), options or {"random_state": 0, "certify": False}
    columns = usable_columns(counts)
    counts = counts.of_words(columns)
    assert settings.n_topics is not None
    if settings.found_by != GROUPS and not estimator_class(settings.found_by).traits.anchors:
        found = from_documents(counts, settings, options).topics
    else:
        spectrum = topic_spectrum(counts, settings.n_topics)
        if settings.found_by == GROUPS:
            shares = shares_by_groups(spectrum, counts.sample)
            found = topics_of(shares, counts.frequencies)
        else:
            found = from_anchors(counts, settings, options, spectrum).topics
    topics = np.zeros((len(found), matrix.shape[1]))
    topics[:, columns] = found
    return topics


ASSUMES = (
    "documents are drawn independently from one source, every word by itself from its document's "
    "topics, and the topics found are off by chance alone"
)


def topic_error_bars(
    counts: WordCounts, found: Found, options: dict[str, Any], n_resamples: int
) -> ErrorBars:
    """Estimate error bars of the topics in `found` by resampling the documents."""
    quiet = {**options, "certify": False, "callback": None, "checkpoint": None}
    settings = replace(found.settings, n_topics=len(found.topics))
    matrix = whole_matrix(counts, "find_topics with n_resamples")

    def refit(drawn: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        topics = topics_again(matrix[drawn], settings, quiet)
        return topics, topics

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
    """Return the increase of a word's share in a topic per additional occurrence (k, 1)."""
    if found.prior is None:
        return np.zeros((len(found.topics), 1))
    shares = found.prior / found.prior.sum()
    return np.asarray(1.0 / np.maximum(shares * counts.lengths.sum(), 1.0))[:, None]
