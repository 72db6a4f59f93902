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
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.confirm import confirm
from provenmf.applications.fitting import check_number, found_fewer
from provenmf.applications.topics.answer import Topics, TopicSettings
from provenmf.applications.topics.corpus import WordCounts
from provenmf.applications.topics.given import as_word_counts, usable_words
from provenmf.applications.topics.measures import measured, pooled_shares
from provenmf.applications.topics.strategies import (
    STRATEGIES,
    checked_weights,
    strategy_of,
    topic_error_bars,
)
from provenmf.applications.topics.texts import Tokenizer
from provenmf.applications.topics.tf_idf import rarity_of, weights_in
from provenmf.arguments import Within, checked
from provenmf.data import Blocks
from provenmf.data.door import check_unchanged, fingerprint_of
from provenmf.errors import counted
from provenmf.io.texts import Counts
from provenmf.methods import estimator_class, options_of_method
from provenmf.results.answers import numbered
from provenmf.results.factorization import with_estimates

LONGEST_NAME = 255


@checked(options_of=options_of_method)
def find_topics(
    documents: Any,
    n_topics: int | None = None,
    *,
    method: str = "spa",
    features: str = "counts",
    vocabulary: Any = None,
    stop_words: str | Sequence[str] | None = "auto",
    ngram_range: tuple[int, int] = (1, 1),
    min_documents: int = 2,
    max_share: float = 0.5,
    tokenizer: Tokenizer | None = None,
    min_anchor_documents: int | None = None,
    weights_from: str | None = None,
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
        level, up to the largest drop; with other features, the method chooses the number.
    method : str, default "spa"
        "spa", "merit", "xray", "fast_anchor", "fast_gradient" find anchor words; any other
        method, such as "and_descent", factorizes the documents.
    features : {"counts", "tf-idf"}, default "counts"
        Find anchor words from the unbiased co-occurrence of counts, or from that of tf-idf as in
        Nguyen et al. 2022. Methods that factorize documents always use tf-idf.
    vocabulary : sequence of str or dict, optional
        The words of a matrix, or those to count in texts; a dict has their columns.
    stop_words, ngram_range, min_documents, max_share, tokenizer
        How words of texts are counted, see `count_words`. By default the language of the texts
        decides which stop words are left out.
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
    strategy = strategy_of(by_words, features)
    weights_from = checked_weights(weights_from, strategy)
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
    settings = TopicSettings(n_topics, min_anchor_documents, strategy)
    options = {"random_state": random_state, **options}
    found = STRATEGIES[strategy](counts, settings, method, options)
    rarity = rarity_of(counts.documents, counts.shape[0]) if weights_from == "tfidf" else None
    likely = weights_from == "likelihood"
    weights = weights_in(counts, found.topics, found.prior if likely else None, rarity)
    order = np.argsort(-weights.sum(axis=0), kind="stable")
    if np.any(np.diff(order) < 0):  # weights are computed as `transform` will, to the last bit
        found = found.ordered(order)
        weights = weights_in(counts, found.topics, found.prior if likely else None, rarity)
    bars = None
    if n_resamples:
        bars = topic_error_bars(counts, found, settings, method, options, n_resamples)
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
        prior=found.prior if likely else None,
        word_frequency=found.frequency,
        eigenvalues=found.eigenvalues,
        noise_edge=found.noise_edge,
        settings=replace(settings, n_topics=found.n_topics or n_topics, start=found.start),
        corpus=used,
        tokenizer=tokenizer,
        **measured(found.topics, found.frequency, word_shares, weights, counts, used.texts),
    )
    return confirm(used, answer) if evidence else answer


def names_of(names: Sequence[str]) -> NDArray[np.str_]:
    """Names of documents; a long one is cut, since an array has room for the longest in all."""
    return np.array([name[:LONGEST_NAME] for name in names], dtype=np.str_)
