"""How much of each topic is in each document, once the topics are known."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.topics.corpus_counts import WordCounts
from provenmf.applications.topics.document_posterior import weights_of_documents
from provenmf.applications.topics.tf_idf import tf_idf
from provenmf.data import Blocks
from provenmf.data.mapped import MappedBlocks
from provenmf.linalg.scaling import rows_to_sum_one
from provenmf.methods.weights import encode


def weights_in(
    counts: WordCounts,
    topics: NDArray[np.float64],
    prior: NDArray[np.float64] | None,
    rarity: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Weights of documents, by likelihood where there is a prior, otherwise by least squares."""
    if prior is not None:
        return weights_of_documents(counts, topics, prior)
    return least_squares_weights(counts, topics, rarity)


def least_squares_weights(
    counts: WordCounts,
    topics: NDArray[np.float64],
    rarity: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Weight of each topic in each document: nonnegative least squares, rows to sum one.

    They are fitted to the counts, or with the `rarity` of the words to tf-idf features.
    """
    features: Blocks = counts.blocks
    if rarity is not None:
        features = MappedBlocks(features, partial(tf_idf, rarity=rarity))
    return rows_to_sum_one(encode(features, topics))
