"""One trial of Nguyen22's topic experiment: anchors, topics, and the three measures.

Documents of K classes; words in at least two of them; tf-idf; co-occurrence; words scaled to sum
one; projection on 2K singular vectors; anchors; topics by nonnegative least squares; document
weights from tf-idf documents, scaled to unit length; ClustAcc is the mean over ten runs of k-means,
each the best of ten starts. Coherence counts every pair of the 20 top words twice, as the authors'
program does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.decomposition import LatentDirichletAllocation

from provenmf.applications.answers import fit_matrix
from provenmf.applications.topics import (
    TopicResult,
    WordProblem,
    document_weights,
    find_topics,
    topics_from_anchors,
    word_problem,
)
from provenmf.linalg.scaling import unit_rows
from provenmf.metrics.clustering import clustering_accuracy
from provenmf.metrics.topics import similarity_count, top_words, topic_coherence

N_TOP_WORDS = 20
MEASURES = ("Coherence", "SimCount", "ClustAcc")


@dataclass(frozen=True)
class Contender:
    """A method with its options.

    most_words keeps it from problems that take too much memory or time, most_trials from too many.
    """

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    most_words: int | None = None
    most_trials: int | None = None


def measure_trial(
    counts: sp.csr_array,
    classes: NDArray[Any],
    k: int,
    contenders: Mapping[str, Contender],
    *,
    seed: int = 0,
    k_means_runs: int = 10,
) -> dict[str, tuple[float, float, float]]:
    """Coherence, SimCount and ClustAcc of each contender on one trial."""
    problem = word_problem(counts, k, 2)
    results = {}
    for name, contender in contenders.items():
        if contender.most_words is not None and counts.shape[1] > contender.most_words:
            continue
        topics, weights = _topics_and_weights(counts, k, contender, problem, seed)
        best = top_words(topics, N_TOP_WORDS)
        results[name] = (
            2 * float(topic_coherence(best, counts).mean()),
            float(similarity_count(best)),
            k_means_accuracy(weights, classes, k, runs=k_means_runs, seed=seed),
        )
    return results


def _topics_and_weights(
    counts: sp.csr_array, k: int, contender: Contender, problem: WordProblem, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if contender.method == "lda":
        model = LatentDirichletAllocation(k, random_state=seed, **contender.options)
        weights = model.fit_transform(counts)
        return model.components_, weights
    if contender.method == "find_topics":
        result = find_topics(counts, k, random_state=seed, certify=False, **contender.options)
        return in_all_columns(result, counts.shape[1]), result.document_weights
    options = {"random_state": seed, "certify": False, **contender.options}
    anchors = fit_matrix(problem.points, k, contender.method, options).anchors
    assert anchors is not None  # every method here chooses rows
    topics = topics_from_anchors(problem.cooccurrence, problem.candidates[anchors])
    return topics, document_weights(counts, topics, "tfidf")


def in_all_columns(result: TopicResult, n_words: int) -> NDArray[np.float64]:
    """Topics over all words of the counts, zero for words that were left out."""
    topics = np.zeros((len(result.topics), n_words))
    topics[:, result.word_columns] = result.topics
    return topics


def k_means_accuracy(
    weights: NDArray[np.float64], classes: NDArray[Any], k: int, *, runs: int, seed: int
) -> float:
    """ClustAcc of k-means on rows of unit length, mean over the runs."""
    rows = unit_rows(weights)
    scores = [
        clustering_accuracy(
            KMeans(k, n_init=10, random_state=seed + run).fit_predict(rows), classes
        )
        for run in range(runs)
    ]
    return float(np.mean(scores))
