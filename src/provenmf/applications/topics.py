"""Topics of a corpus, with anchor words and the weight of each topic in each document.

By anchor words (Nguyen22, Section V-B; Arora13): features F = tf-idf (documents, words);
co-occurrence P = FᵀF/n, never formed; each word's vector scaled to sum one and projected on the
2k leading singular vectors; separable NMF over words finds k anchor words; topics by nonnegative
least squares of P on the anchors' rows, each scaled to sum one; weights of documents by
nonnegative least squares of their features on the topics.

By documents (any other method, such as AND): documents of unit length ≈ weights @ topics.

The Factorization is that of the solver: words (candidates for anchors) in projected coordinates
for the first, documents × words for the second. Its extras hold, besides those of `answers`:

    topics            (k, words)      rows sum to one
    vocabulary        (words,)        text, of the words kept
    word_columns      (words,)        their columns in the given counts
    topic_share       (k,)            mean weight of the topic over the documents
    document_weights  (documents, k)  rows sum to one; all zero for a document without words
    anchor_words      (k,)            text; absent where the method has no anchor words
    anchor_columns    (k,)            columns of the vocabulary; likewise
    candidate_words   (rows,)         column of the vocabulary behind each row; likewise
    coherence         (k,)            of the 20 top words, see `metrics.topics`
    similarity_count  ()              words shared by the topics' 20 top words
    example_documents (k, 3)          documents with the largest weight, −1 where there is none
    example_names, example_texts (k, 3)  their names and first characters, if texts are known
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.answers import (
    check_number,
    fit_matrix,
    for_real_data,
    found_fewer,
    simplex_weights,
    with_answer,
)
from provenmf.applications.words import as_word_counts, document_frequency, tf_idf
from provenmf.blocks import as_blocks
from provenmf.errors import InvalidInput
from provenmf.io.notes import counted
from provenmf.io.texts import Counts
from provenmf.linalg.cooccurrence import Cooccurrence
from provenmf.linalg.nnls import nonnegative_least_squares
from provenmf.metrics.topics import similarity_count, top_words, topic_coherence
from provenmf.records import Factorization
from provenmf.solvers.weights import encode

ANCHOR_METHODS = frozenset({"merit", "spa", "xray", "fast_anchor", "fast_gradient"})
N_TOP_WORDS = 20
N_EXAMPLES = 3
SNIPPET = 400


@dataclass(frozen=True, eq=False)
class TopicResult:
    """Topics (k, words), their anchor words, and document weights (documents, k).

    Words are those that can carry a topic; `word_columns` says where they are in the counts.
    """

    factorization: Factorization
    topics: NDArray[np.float64]
    vocabulary: NDArray[np.str_]
    word_columns: NDArray[np.intp]
    document_weights: NDArray[np.float64]
    anchor_words: tuple[str, ...]
    coherence: NDArray[np.float64]
    similarity_count: int
    notes: tuple[str, ...] = ()

    def top_words(self, n_words: int = 10) -> list[list[str]]:
        """The words with the largest weight in each topic, largest first."""
        return [self.vocabulary[row].tolist() for row in top_words(self.topics, n_words)]


def find_topics(
    documents: Any,
    n_topics: int | None,
    *,
    method: str = "spa",
    vocabulary: Any = None,
    min_anchor_documents: int | None = None,
    weights_from: str = "counts",
    random_state: Any = None,
    **options: Any,
) -> TopicResult:
    """Find the topics of a corpus.

    Parameters
    ----------
    documents : texts, as a list or from `read_texts`; their counts, from `count_words` (which has
        options) or `read_counts`; or a matrix of counts (documents, words).
    n_topics : how many; None lets the method find out where it can ("spa", "xray").
    method : "spa", "merit", "xray", "fast_anchor", "fast_gradient" find anchor words; any other
        method, such as "and_descent", factorizes the documents.
    vocabulary : the words of a matrix, or those to count in texts.
    min_anchor_documents : a word in fewer documents cannot become an anchor; None takes 1 % of
        the documents, at least 2. Rare words have noisy co-occurrences (docs/decisions.md).
    weights_from : "counts" or "tfidf": what the documents' weights are fitted to.
    random_state, options : passed to the method's estimator.
    """
    corpus = as_word_counts(documents, vocabulary)
    settings = {"n_topics": n_topics, "min_anchor_documents": min_anchor_documents}
    kept, notes = _usable_words(corpus)
    check_number("n_topics", n_topics, corpus.matrix.shape[0], "documents")
    matrix = sp.csr_array(corpus.matrix[:, kept])
    options = {"random_state": random_state, **options}
    anchored = method.lower().replace("-", "_") in ANCHOR_METHODS
    if anchored:
        problem = word_problem(matrix, n_topics, min_anchor_documents)
        factorization = fit_matrix(
            problem.points, n_topics, method, {**simplex_weights(method), **options}
        )
        assert factorization.anchors is not None  # every method here chooses rows
        anchors = problem.candidates[factorization.anchors]
        topics = topics_from_anchors(problem.cooccurrence, anchors)
    else:
        options = {**for_real_data(method, n_topics), **options}
        factorization = fit_matrix(unit_documents(matrix), n_topics, method, options)
        topics = _scaled_to_sum_one(np.maximum(factorization.components, 0.0))
        anchors = None
    notes += found_fewer(factorization, n_topics, "topics")
    weights = document_weights(matrix, topics, weights_from)
    empty = int(np.count_nonzero(matrix.sum(axis=1) == 0))
    if empty:
        notes.append(f"{counted(empty, 'document')} with no word left: no weights there")
    words = corpus.vocabulary[kept]
    best = top_words(topics, N_TOP_WORDS)
    coherence = topic_coherence(best, matrix)
    arrays = {
        "topics": topics,
        "vocabulary": words,
        "word_columns": kept,
        "topic_share": weights.mean(axis=0),
        "document_weights": weights,
        "coherence": coherence,
        "similarity_count": similarity_count(best),
        **_examples(corpus, weights),
    }
    if anchors is not None:
        arrays |= {
            "anchor_words": words[anchors],
            "anchor_columns": anchors,
            "candidate_words": problem.candidates,
        }
    factorization = with_answer(factorization, "topics", arrays, notes, settings)
    return TopicResult(
        factorization=factorization,
        topics=topics,
        vocabulary=words,
        word_columns=kept,
        document_weights=weights,
        anchor_words=() if anchors is None else tuple(str(word) for word in words[anchors]),
        coherence=coherence,
        similarity_count=similarity_count(best),
        notes=tuple(notes),
    )


@dataclass(frozen=True, eq=False)
class WordProblem:
    """Candidate words as points: rows of the scaled co-occurrence in projected coordinates."""

    points: NDArray[np.float64]
    candidates: NDArray[np.intp]
    cooccurrence: Cooccurrence


def word_problem(
    counts: sp.csr_array, n_topics: int | None, min_anchor_documents: int | None = None
) -> WordProblem:
    """The matrix that separable NMF works on: words in 2k coordinates."""
    documents = document_frequency(counts)
    least = min_anchor_documents
    if least is None:
        least = max(2, counts.shape[0] // 100)
    cooccurrence = Cooccurrence(tf_idf(counts))
    candidates = np.flatnonzero((documents >= least) & (cooccurrence.row_sums() > 0))
    if len(candidates) < (n_topics or 2):
        raise InvalidInput(
            f"only {len(candidates)} words occur in {least} or more documents",
            argument="min_anchor_documents",
            remedy=f"lower {{argument={least}}} or ask for fewer topics",
        )
    dimensions = min(2 * (n_topics or 25), len(candidates), counts.shape[0])
    points, directions = cooccurrence.scaled_projection(dimensions)
    turned = points[candidates] @ turn_to_diagonal(directions.sum(axis=1))
    return WordProblem(turned, candidates, cooccurrence)


def turn_to_diagonal(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """The reflection that takes a vector to a multiple of (1, …, 1).

    Words sum to one in the vocabulary; after this turn their coordinates, too, have nearly equal
    positive sums, which is what XRAY divides by. The other methods do not notice.
    """
    size = len(vector)
    normal = vector / np.linalg.norm(vector) - 1 / np.sqrt(size)
    squared = normal @ normal
    if squared < np.finfo(np.float64).eps:
        return np.eye(size)
    return np.eye(size) - np.outer(normal, normal) * (2 / squared)


def topics_from_anchors(
    cooccurrence: Cooccurrence, anchors: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Topics (k, words): P ≈ H'ᵀ P[anchors] with H ≥ 0, rows of H scaled to sum one."""
    rows = cooccurrence.rows(anchors)
    weights = nonnegative_least_squares(rows @ rows.T, cooccurrence @ rows.T)
    return _scaled_to_sum_one(np.ascontiguousarray(weights.T))


def document_weights(
    counts: sp.csr_array, topics: NDArray[np.float64], weights_from: str = "counts"
) -> NDArray[np.float64]:
    """Weight of each topic in each document: nonnegative least squares, rows to sum one."""
    if weights_from not in ("counts", "tfidf"):
        raise InvalidInput(f"weights_from={weights_from!r} is not 'counts' or 'tfidf'")
    features = counts if weights_from == "counts" else tf_idf(counts)
    return _scaled_to_sum_one(encode(as_blocks(features), topics))


def unit_documents(counts: sp.csr_array) -> sp.csr_array:
    """tf-idf documents scaled to unit length, for methods that factorize documents."""
    features = tf_idf(counts)
    lengths = np.sqrt(features.multiply(features).sum(axis=1))
    scales = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return sp.csr_array(sp.diags_array(scales) @ features)


def _usable_words(corpus: Counts) -> tuple[NDArray[np.intp], list[str]]:
    """Words in at least two documents but not in all; nothing else can carry a topic."""
    n_documents = corpus.matrix.shape[0]
    if n_documents < 2:
        raise InvalidInput(f"the corpus has {n_documents} document: topics need at least two")
    documents = document_frequency(corpus.matrix)
    kept = np.flatnonzero((documents >= 2) & (documents < n_documents))
    if not len(kept):
        raise InvalidInput(
            "no word occurs in two documents but not in all: use longer or more documents"
        )
    notes = list(corpus.notes)
    if len(kept) < len(documents):
        dropped = len(documents) - len(kept)
        notes.append(f"{counted(dropped, 'word')} in fewer than two or in all documents left out")
    return kept, notes


def _examples(corpus: Counts, weights: NDArray[np.float64]) -> dict[str, Any]:
    """The documents in which each topic weighs most."""
    order = np.argsort(-weights, axis=0, kind="stable")[:N_EXAMPLES].T
    has_topic = np.take_along_axis(weights.T, order, axis=1) > 0
    examples = np.where(has_topic, order, -1)
    arrays: dict[str, Any] = {"example_documents": examples}
    if corpus.texts is not None and corpus.names is not None:
        texts, names = corpus.texts, corpus.names

        def of(source: Any, length: int) -> list[list[str]]:
            return [[source[i][:length] if i >= 0 else "" for i in row] for row in examples]

        arrays |= {"example_texts": of(texts, SNIPPET), "example_names": of(names, SNIPPET)}
    return arrays


def _scaled_to_sum_one(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows divided by their sums; rows of zeros stay."""
    sums = rows.sum(axis=1, keepdims=True)
    return np.divide(rows, sums, out=np.zeros_like(rows), where=sums > 0)
