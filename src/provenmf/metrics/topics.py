"""How good topics are: do their words occur together, do they share words."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from provenmf.errors import InvalidInput


def top_words(topics: ArrayLike, n_words: int = 20) -> NDArray[np.intp]:
    """Columns of the largest entries of each topic (k, words), largest first; ties by column."""
    matrix = np.asarray(topics)
    if n_words < 1:
        raise InvalidInput(f"n_words={n_words} must be at least 1")
    return np.argsort(-matrix, axis=1, kind="stable")[:, :n_words]


def topic_coherence(
    words: ArrayLike, counts: Any, *, smoothing: float = 0.01
) -> NDArray[np.float64]:
    """Coherence of each topic (Mimno et al. 2011; Nguyen22, Section V-B); higher is better.

    For the top words v_1, v_2, … of a topic, Σ_{i ≥ 2} Σ_{j < i} log((D(v_i, v_j) + ε)/D(v_j)),
    where D counts the documents that contain the word or both words.

    Parameters
    ----------
    words : (k, m) columns of each topic's top words, most frequent first.
    counts : (documents, words); an entry that is not zero means that the word occurs.
    smoothing : ε.
    """
    chosen = np.asarray(words)
    used, position = np.unique(chosen, return_inverse=True)
    position = position.reshape(chosen.shape)
    occurs = sp.csc_array(counts)[:, used] != 0
    together = (occurs.T.astype(np.float64) @ occurs.astype(np.float64)).toarray()
    documents = np.diagonal(together)
    if np.any(documents == 0):
        missing = used[documents == 0][0]
        raise InvalidInput(f"word {missing} occurs in no document: leave such words out")
    logarithms = np.log((together + smoothing) / documents[None, :])
    later, earlier = np.tril_indices(chosen.shape[1], k=-1)
    return logarithms[position[:, later], position[:, earlier]].sum(axis=1)


def similarity_count(words: ArrayLike) -> int:
    """Words shared by the top words of two topics, summed over all pairs; lower is better."""
    uses = np.unique(np.sort(np.asarray(words), axis=1), return_counts=True)[1]
    return int((uses * (uses - 1) // 2).sum())
