"""Find the topics of a corpus: the public function, its two strategies, and standard errors.

Methods with anchors: separable NMF over words in k coordinates finds k anchor words (`solver`);
vertices are averaged around them; topics are probabilities of words, and weights of documents
their posterior means.

Any other method, such as AND: tf-idf documents of unit length ≈ weights @ topics; weights of
documents by nonnegative least squares of their counts on the topics.

Standard errors: topics are found again in documents drawn with replacement. A document drawn twice
adds its pairs of words twice, so the co-occurrence stays unbiased. Measured is the spread of topics
before negative shares are cut, because cut ones would look too well known. Errors that all
resamples have in common are not measured, such as vertices moved by words that are nearly
exclusive: docs/topics.md has how often the intervals hold the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

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
from provenmf.applications.topics.answer import Topics, TopicSettings, measured, pooled_shares
from provenmf.applications.topics.corpus import (
    WordCounts,
    as_word_counts,
    unit_documents,
    usable_words,
    whole_matrix,
)
from provenmf.applications.topics.inference import weights_in
from provenmf.applications.topics.solver import (
    count_problem,
    find_number,
    notes_on_counts,
    topics_at,
)
from provenmf.applications.topics.texts import Tokenizer
from provenmf.arguments import Within, checked
from provenmf.data import Blocks
from provenmf.data.door import check_unchanged, fingerprint_of
from provenmf.errors import counted
from provenmf.io.texts import Counts
from provenmf.linalg.norms import rows_to_sum_one
from provenmf.methods import estimator_class, options_of_method
from provenmf.methods.error_bars import error_bars, resampled
from provenmf.results import Factorization
from provenmf.results.answers import numbered
from provenmf.results.estimates import ErrorBars
from provenmf.results.factorization import with_estimates

LONGEST_NAME = 255  # an array of names has room for the longest in all


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
    text_options = {
        "stop_words": (stop_words, "auto"),
        "ngram_range": (ngram_range, (1, 1)),
        "min_documents": (min_documents, 2),
        "max_share": (max_share, 0.5),
        "tokenizer": (tokenizer, None),
    }
    chosen = {name: value for name, (value, default) in text_options.items() if value != default}
    corpus = as_word_counts(documents, vocabulary, **chosen)
    counts = WordCounts(corpus.matrix)
    kept, notes = usable_words(counts)
    notes = [*corpus.notes, *notes]
    check_number("n_topics", n_topics, counts.shape[0], "documents")
    if len(kept) < counts.shape[1]:
        counts = counts.of_words(kept)
    used = Counts(counts.matrix, corpus.vocabulary[kept], corpus.texts, corpus.names)
    given = corpus.matrix if isinstance(corpus.matrix, Blocks) else None
    del documents, corpus  # counts of all words take as much memory again
    options = {"random_state": random_state, **options}
    find = from_counts if estimator_class(method).traits.anchors else from_documents
    found = find(counts, TopicSettings(n_topics), method, options)
    weights = weights_in(counts, found.topics, found.prior)
    order = np.argsort(-weights.sum(axis=0), kind="stable")
    if np.any(np.diff(order) < 0):  # weights are computed as `transform` will, to the last bit
        found = found.ordered(order)
        weights = weights_in(counts, found.topics, found.prior)
    bars = None
    if n_resamples:
        bars = topic_error_bars(counts, found, method, options, n_resamples)
        found = replace(
            found, factorization=with_estimates(found.factorization, bars, found.topics)
        )
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
    titles = None
    if used.names is not None:
        titles = np.array([name[:LONGEST_NAME] for name in used.names], dtype=np.str_)
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
        document_names=titles,
        prior=found.prior,
        word_frequency=counts.frequencies,
        eigenvalues=found.eigenvalues,
        noise_edge=found.noise_edge,
        settings=found.settings,
        corpus=used,
        tokenizer=tokenizer,
        **measured(found.topics, counts.frequencies, word_shares, weights, counts, used.texts),
    )
    return confirm(used, answer) if evidence else answer


@dataclass(frozen=True, eq=False)
class Found:
    """Topics by one of the strategies; anchors and candidates are columns of the vocabulary.

    settings : what is needed to build the factorized matrix again.
    unbounded : the topics with shares of words that may be negative, for their standard errors.
    word_shares : p(topic | word) (words, k) for ranking words.
    """

    factorization: Factorization
    topics: NDArray[np.float64]
    settings: TopicSettings
    anchors: NDArray[np.intp] | None = None
    candidates: NDArray[np.intp] | None = None
    prior: NDArray[np.float64] | None = None
    eigenvalues: NDArray[np.float64] | None = None
    noise_edge: float = np.nan
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
    """Find anchor words in unbiased co-occurrence and vertices around them; see `solver`."""
    notes = []
    number, values, edge = settings.n_topics, None, np.nan
    if number is None:
        number, values, edge, note = find_number(counts)
        notes.append(note)
    problem = count_problem(counts, number, settings.start)
    options = {**simplex_weights(method), **options}
    factorization = fit_matrix(problem.points, number, method, options, argument="n_topics")
    assert factorization.anchors is not None  # every method here chooses rows
    anchors = problem.candidates[factorization.anchors]
    found = topics_at(counts, problem.view, problem.words, anchors, refine=refine)
    return Found(
        factorization,
        found.topics,
        TopicSettings(number, problem.view.start),
        anchors,
        problem.candidates,
        prior=found.prior,
        eigenvalues=problem.view.spectrum.values if values is None else values,
        noise_edge=edge,
        notes=(*notes, *notes_on_counts(counts, problem)),
        unbounded=found.unbounded,
        word_shares=found.shares,
    )


def from_documents(
    counts: WordCounts, settings: TopicSettings, method: str, options: dict[str, Any]
) -> Found:
    """Factorize documents of unit length, for methods without anchors."""
    options = {**for_real_data(method, settings.n_topics), **options}
    documents = unit_documents(whole_matrix(counts, "find_topics"))
    factorization = fit_matrix(documents, settings.n_topics, method, options, argument="n_topics")
    positive = np.maximum(factorization.components, 0.0).astype(np.float64)
    return Found(factorization, rows_to_sum_one(positive), settings)


ASSUMES = (
    "documents are drawn independently from one source, every word by itself from its document's "
    "topics, and the topics found are off by chance alone"
)


def topic_error_bars(
    counts: WordCounts,
    found: Found,
    method: str,
    options: dict[str, Any],
    n_resamples: int,
) -> ErrorBars:
    """Estimate error bars of the topics in `found` by resampling the documents."""
    quiet = {**options, "certify": False, "callback": None, "checkpoint": None}
    settings = replace(found.settings, n_topics=len(found.topics))
    matrix = whole_matrix(counts, "find_topics with n_resamples")

    def refit(drawn: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        resample = WordCounts(matrix[drawn])
        if found.anchors is None:
            topics = from_documents(resample, settings, method, quiet).topics
            return topics, topics
        # The spread is measured before topics are refined.
        again = from_counts(resample, settings, method, quiet, refine=False)
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
    """Return what one more occurrence of a word adds to its share in a topic (k, 1)."""
    if found.prior is None:
        return np.zeros((len(found.topics), 1))
    shares = found.prior / found.prior.sum()
    return np.asarray(1.0 / np.maximum(shares * counts.lengths.sum(), 1.0))[:, None]
