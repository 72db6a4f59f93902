"""Topics once more where words repeat: a step of likelihood from what the points say.

A word that occurs once in a text is likelier to occur again than topics explain, so that neither
the spread of a word's point nor what the other words of a document leave open follows the model
that `refine` rests on. What stays true is that topics and weights should make the words likely.
A step of scoring from a start as close to the truth as the noise would have the limit of the
maximum of the likelihood (Le Cam's one-step estimators). A step of expectation and maximisation
goes uphill too, stays positive and needs no derivatives, but has no such theorem: each occurrence
is shared out by its document's weights, and counted.

Likelihood makes words of other documents likelier and documents' weights better, but it ties words
to topics by a few long documents; the points say which words stand together. So topics are those
after the step, and words are ranked by the shares that the points give (docs/decisions.md).
"""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.topics.corpus_counts import WordCounts, by_rank
from provenmf.applications.topics.crossing import added_up, padded
from provenmf.applications.topics.document_posterior import infer_documents

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

UNSEEN = 0.01  # occurrences that each word has in each topic besides those counted


def assigned_shares(
    counts: WordCounts, topics: Floats, prior: Floats, left_out: NDArray[np.intp]
) -> Floats:
    """p(topic | word) (n_words, k) after one step of expectation and maximisation.

    Parameters
    ----------
    counts : WordCounts (n_documents, n_words)
    topics : array (k, n_words), p(word | topic).
    prior : array (k,), Dirichlet parameters of the documents' weights.
    left_out : array of int, documents that are not used.
    """
    used = np.ones(counts.shape[0], dtype=np.float32)
    used[left_out] = 0.0
    words = topics.T.astype(np.float32)
    share = partial(assigned, topics.astype(np.float32), prior, counts.rank, words[counts.order])
    sums = counts.blocks.map_reduce(share, used)
    occurrences = topics.T * sums[counts.rank] + UNSEEN
    return np.asarray(occurrences / occurrences.sum(axis=1, keepdims=True))


def assigned(
    topics: Singles,
    prior: Floats,
    rank: NDArray[np.int32],
    ordered: Singles,
    block: sp.csr_array,
    used: Singles,
) -> Floats:
    """Σ_d c_dw θ_dt / Σ_s p(w | s) θ_ds; words of `ordered` and of the sums are by frequency."""
    weights = infer_documents(block, topics, prior) * used[:, None]
    folds = np.zeros(block.nnz, dtype=np.int8)
    return added_up(by_rank(rank, block), folds, padded(weights)[:, None, :], ordered)
