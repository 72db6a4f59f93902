"""How well clusters agree with classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from provenmf.errors import InvalidInput
from provenmf.metrics.matching import best_assignment


def clustering_accuracy(labels: ArrayLike, classes: ArrayLike) -> float:
    """Share of points in the class that their cluster is matched with, at the best matching.

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
