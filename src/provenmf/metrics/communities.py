"""How well memberships agree with the truth, in the order they give the nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from provenmf.errors import InvalidInput
from provenmf.metrics.matching import best_assignment


def spearman_correlations(found: ArrayLike, true: ArrayLike) -> NDArray[np.float64]:
    """Spearman's rank correlation of each column of `found` with each column of `true`.

    Ties get their mean rank. A constant column orders nothing; its correlation is zero.
    """
    return _standard_ranks(found).T @ _standard_ranks(true)


def averaged_spearman(found: ArrayLike, true: ArrayLike) -> float:
    """SRC: mean over the communities after the best one-to-one matching (Nguyen22, V-C)."""
    correlations = spearman_correlations(found, true)
    if correlations.shape[0] != correlations.shape[1]:
        raise InvalidInput(
            f"found has {correlations.shape[0]} communities and true {correlations.shape[1]}: "
            "equal numbers are needed"
        )
    return float(correlations[best_assignment(correlations)].mean())


def _standard_ranks(memberships: ArrayLike) -> NDArray[np.float64]:
    """Ranks of each column, centred and of unit length."""
    ranks = rankdata(np.asarray(memberships), axis=0)
    ranks -= ranks.mean(axis=0)
    lengths = np.linalg.norm(ranks, axis=0)
    return np.asarray(np.divide(ranks, lengths, out=np.zeros_like(ranks), where=lengths > 0))
