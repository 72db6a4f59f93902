"""Averages of rows around anchors: smoothed SPA, k-means before SPA, pruning of lonely rows."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree
from sklearn.cluster import KMeans


def successive(rows, k, average=1):
    """SPA whose components are means of the rows farthest along each direction; 1 is SPA itself."""
    left, found = rows.copy(), []
    for _ in range(k):
        lengths = np.einsum("ij,ij->i", left, left)
        direction = left[lengths.argmax()]
        farthest = np.argsort(-(left @ direction))[:average]
        found.append(rows[farthest].mean(axis=0))
        basis = np.linalg.qr(np.array(found).T)[0]
        left = rows - rows @ basis @ basis.T
    return np.array(found)


def centres(rows, number):
    return KMeans(number, n_init=1, random_state=0).fit(rows).cluster_centers_


def pruned(rows, k, share):
    # Neighbours are compared in the span of the signal, as SPACL does.
    points = rows @ np.linalg.svd(rows, full_matrices=False)[2][:k].T
    lengths = np.linalg.norm(points, axis=1)
    outer = np.flatnonzero(lengths > np.quantile(lengths, 0.9))
    alone = KDTree(points).query(points[outer], k=11)[0][:, 1:].mean(axis=1)
    dropped = outer[alone > np.quantile(alone, 1 - share)]
    return np.delete(rows, dropped, axis=0)
