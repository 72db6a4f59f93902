"""A divergence that no pair of k nonnegative factors can go below.

Columns are split into groups, and each group G is given factors of its own, which can only help:

    D(X || WC) >= Σ_G min over Y of rank k of D(X_G || Y).

At the minimum the row sums of Y are those of X_G, since scaling a row of the weights is free; so no
entry of row i of Y exceeds r_i = Σ_{j in G} x_ij. With h(u) = (1 + u) log(1 + u) − u, which is at
least u² / (2 + 2u/3) for u >= −1 (Bennett and Bernstein),

    x log(x/y) − x + y = y h((x − y)/y) >= 3 (x − y)² / (2 (x + 2y)) >= (x − y)² / (2 m_i),
    m_i = (max_j x_ij + 2 r_i) / 3,

and the weighted sum of squares is bounded by Eckart and Young: half the sum of all but the k
largest eigenvalues of Σ_i x_i x_iᵀ / m_i. What is lost is that entries of Y are taken to be as
large as their row's sum: the bound is a few per cent of what can be reached. For k = 1 the best
pair is known, the product of the margins.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.blocks import Block
from provenmf.guarantees.fit import Fit
from provenmf.linalg.hull import product_rounding
from provenmf.storage import as_dense

Floats = NDArray[np.float64]

# Columns of a group for each component: fewer leave little besides the k largest eigenvalues, more
# make the entries' bound r_i worse.
COLUMNS = 3


def least_divergence(fit: Fit) -> float:
    """The bound for two factors and more, rounded down, of the data divided by `fit.unit`."""
    n, d = fit.blocks.shape
    k = fit.n_components
    edges = np.linspace(0, d, max(1, d // (COLUMNS * k)) + 1).astype(int).tolist()
    groups = list(zip(edges[:-1], edges[1:], strict=True))

    def moments(block: Block) -> Floats:
        columns = sp.csc_array(block) if sp.issparse(block) else block
        return np.concatenate([_weighted_moments(columns[:, a:b]).ravel() for a, b in groups])

    found = np.asarray(fit.blocks.map_reduce(moments))
    least, start = 0.0, 0
    for a, b in groups:
        gram = found[start : start + (b - a) ** 2].reshape(b - a, b - a)
        start += gram.size
        left = np.linalg.eigvalsh(gram)[: max(0, b - a - k)]
        rounding = 8 * product_rounding(n + b - a) * float(np.trace(gram))
        least += max(0.0, float(left.sum()) - len(left) * rounding) / 2
    return least


def _weighted_moments(columns: Block) -> Floats:
    """Σ_i x_i x_iᵀ / m_i of some columns; rows of zeros add nothing."""
    rows = as_dense(columns).astype(np.float64)
    sizes = (rows.max(axis=1) + 2 * rows.sum(axis=1)) / 3
    sizes *= 1 + product_rounding(rows.shape[1])
    some = sizes > 0
    scaled = rows[some] / np.sqrt(sizes[some])[:, None]
    return np.asarray(scaled.T @ scaled)
