"""One trial of Nguyen22's topic experiment: anchors, topics, and the three measures.

Documents of K classes; words in at least two of them; tf-idf; co-occurrence; words scaled to sum
one; projection on 2K singular vectors; anchors; topics by nonnegative least squares; document
weights from counts, as in the first version of the authors' program (the second takes tf-idf),
scaled to unit length; ClustAcc is the mean over ten runs of k-means, each the best of ten starts.
Coherence counts every pair of the 20 top words twice, as that program does.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.decomposition import LatentDirichletAllocation

from provenmf.applications.fitting import fit_matrix
from provenmf.applications.topics import Topics, find_topics
from provenmf.applications.topics.corpus import WordCounts
from provenmf.applications.topics.tf_idf import (
    least_squares_weights,
    topics_from_anchors,
    word_problem,
)
from provenmf.linalg.scaling import unit_rows
from provenmf.metrics.matching import clustering_accuracy
from provenmf.metrics.topics import similarity_count, top_words, topic_coherence

N_TOP_WORDS = 20
MEASURES = ("Coherence", "SimCount", "ClustAcc")


@dataclass(frozen=True)
class Contender:
    """A method with its options, and the trials it takes part in.

    most_words keeps it from problems that take too much memory or time.
    """

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    trials: Sequence[int] = ()
    most_words: int | None = None


@dataclass(frozen=True, eq=False)
class Trial:
    """Documents of k classes, with their classes."""

    counts: sp.csr_array
    classes: NDArray[np.integer]
    k: int
    seed: int = 0
    k_means_runs: int = 10

    def measure(self, contender: Contender) -> dict[str, float]:
        """Coherence, SimCount and ClustAcc; seconds of the processor up to the weights."""
        started = time.process_time()
        topics, weights = self.topics_and_weights(contender)
        seconds = time.process_time() - started
        best = top_words(topics, N_TOP_WORDS)
        coherence = 2 * float(topic_coherence(best, self.counts).mean())
        accuracy = k_means_accuracy(
            weights, self.classes, self.k, runs=self.k_means_runs, seed=self.seed
        )
        return {
            "Coherence": coherence,
            "SimCount": float(similarity_count(best)),
            "ClustAcc": accuracy,
            "words": self.counts.shape[1],
            "seconds": round(seconds, 2),
        }

    def topics_and_weights(
        self, contender: Contender
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Topics over all words, and the weights of the documents."""
        if contender.method == "lda":
            model = LatentDirichletAllocation(self.k, random_state=self.seed, **contender.options)
            weights = model.fit_transform(self.counts)
            return model.components_, weights
        options = {"random_state": self.seed, "certify": False, **contender.options}
        if contender.method == "find_topics":
            result = find_topics(self.counts, self.k, **options)
            return in_all_columns(result, self.counts.shape[1]), result.document_weights
        problem = word_problem(self.counts, self.k, 2)
        anchors = fit_matrix(problem.points, self.k, contender.method, options).anchors
        assert anchors is not None  # every method here chooses rows
        topics = topics_from_anchors(problem.cooccurrence, problem.candidates[anchors])
        return topics, least_squares_weights(WordCounts(self.counts), topics)


def in_all_columns(result: Topics, n_words: int) -> NDArray[np.float64]:
    """Topics over all words of the counts, zero for words that were left out."""
    topics = np.zeros((len(result.topics), n_words))
    topics[:, result.word_columns] = result.topics
    return topics


def k_means_accuracy(
    weights: NDArray[np.float64], classes: NDArray[np.integer], k: int, *, runs: int, seed: int
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
