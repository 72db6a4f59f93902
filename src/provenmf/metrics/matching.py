"""Match found components, clusters or communities with true ones, which come in any order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata

from provenmf.errors import InvalidInput
from provenmf.linalg.norms import unit_rows


@dataclass(frozen=True, eq=False)
class Matching:
    """Which found row stands for which true row, and by what factor.

    true_rows, found_rows : matched pairs, true rows ascending. If one side has fewer rows, the
        rows of the other side that are left over appear in no pair.
    scales : truth[true_rows] ≈ scales[:, None] * found[found_rows], best in least squares.
    cosines : of the angles between matched rows; 0 where a row is zero.
    """

    true_rows: NDArray[np.intp]
    found_rows: NDArray[np.intp]
    scales: NDArray[np.float64]
    cosines: NDArray[np.float64]

    def components_like_truth(self, found: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return found components in the order and at the scale of the true ones they match."""
        return self.scales[:, None] * found[self.found_rows]


def match_components(
    found: NDArray[np.floating], truth: NDArray[np.floating], *, signed: bool = False
) -> Matching:
    """Match rows one to one so that the sum of their cosines is largest.

    signed : allow a negative factor between matched rows; the sum is then of absolute cosines.
    """
    cosines = cosine_table(truth, found)
    true_rows, found_rows = best_assignment(np.abs(cosines) if signed else cosines)
    chosen = cosines[true_rows, found_rows]
    true_lengths = np.linalg.norm(truth[true_rows], axis=1)
    found_lengths = np.linalg.norm(found[found_rows], axis=1)
    scales = np.divide(
        chosen * true_lengths, found_lengths, out=np.zeros_like(chosen), where=found_lengths > 0
    )
    return Matching(true_rows, found_rows, scales, chosen)


def best_assignment(similarity: NDArray[np.floating]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Solve the assignment problem: one-to-one pairs (row, column) with the largest total."""
    rows, columns = linear_sum_assignment(similarity, maximize=True)
    return rows, columns


def cosine_table(a: NDArray[np.floating], b: NDArray[np.floating]) -> NDArray[np.float64]:
    """Compute the cosines between all rows of two matrices; 0 for zero rows."""
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise InvalidInput(
            f"matrices of shapes {a.shape} and {b.shape} cannot be matched: "
            "both need one component per row and equally many columns"
        )
    return unit_rows(a) @ unit_rows(b).T


def clustering_accuracy(labels: ArrayLike, classes: ArrayLike) -> float:
    """Return the share of points in the class matched with their cluster, at the best matching.

    Clusters and classes are matched one to one (Kuhn-Munkres); Nguyen22's ClustAcc.
    """
    clusters = np.unique(np.ravel(labels), return_inverse=True)[1]
    truth = np.unique(np.ravel(classes), return_inverse=True)[1]
    if clusters.shape != truth.shape or not len(truth):
        raise InvalidInput(
            f"labels has {clusters.size} entries and classes {truth.size}: equal numbers are needed"
        )
    table = np.zeros((clusters.max() + 1, truth.max() + 1), dtype=np.int64)
    np.add.at(table, (clusters, truth), 1)
    return float(table[best_assignment(table)].sum() / len(truth))


def averaged_spearman(found: ArrayLike, true: ArrayLike) -> float:
    """Compute SRC: Spearman's rank correlation, the mean over matched columns (Nguyen22, V-C).

    Ties get their mean rank. A constant column orders nothing; its correlation is zero.
    """
    correlations = _standard_ranks(found).T @ _standard_ranks(true)
    if correlations.shape[0] != correlations.shape[1]:
        raise InvalidInput(
            f"found has {correlations.shape[0]} communities and true {correlations.shape[1]}: "
            "equal numbers are needed"
        )
    return float(correlations[best_assignment(correlations)].mean())


def _standard_ranks(memberships: ArrayLike) -> NDArray[np.float64]:
    """Return the ranks within each column, centered and scaled to unit length."""
    ranks = rankdata(np.asarray(memberships), axis=0)
    ranks -= ranks.mean(axis=0)
    lengths = np.linalg.norm(ranks, axis=0)
    return np.asarray(np.divide(ranks, lengths, out=np.zeros_like(ranks), where=lengths > 0))
