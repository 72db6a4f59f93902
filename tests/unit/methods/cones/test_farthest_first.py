"""The pool must choose exactly the centroids that a pass for every centroid chooses."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.data import as_blocks
from provenmf.methods.cones.solver import farthest_first

DECIMALS = 12


def literal(X, k, first):
    """Liu17, Algorithm 1, as printed: all rows, once for every centroid."""
    lengths = np.linalg.norm(X, axis=1)
    candidates = np.flatnonzero(lengths)
    unit = X[candidates] / lengths[candidates, None]
    chosen = [int(np.flatnonzero(candidates == first)[0])]
    best = unit @ unit[chosen[0]]
    while len(chosen) < k and np.round(best.min(), DECIMALS) < 1:
        chosen.append(int(np.argmin(np.round(best, DECIMALS))))
        best = np.maximum(best, unit @ unit[chosen[-1]])
    return [int(candidates[c]) for c in chosen]


def chosen_rows(X, k, first, pool_rows=40, **options):
    blocks = as_blocks(X, **options)
    dense = X.toarray() if sp.issparse(X) else X
    lengths = np.linalg.norm(dense.astype(float), axis=1)
    found = farthest_first(blocks, lengths, first, DECIMALS, range(k), pool_rows=pool_rows)
    return [row for row, _, _ in found]


@pytest.mark.parametrize("pool_rows", [1, 3, 40, 1000])
@pytest.mark.parametrize("seed", range(4))
def test_same_centroids_as_the_literal_algorithm(pool_rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((200, 7)) ** 4
    assert chosen_rows(X, 25, 11, pool_rows) == literal(X, 25, 11)


@pytest.mark.parametrize("pool_rows", [1, 2, 5, 1000])
def test_ties_go_to_the_lowest_row(pool_rows):
    rng = np.random.default_rng(0)
    X = np.eye(6)[rng.integers(6, size=50)] * rng.random((50, 1))
    found = chosen_rows(X, 10, 3, pool_rows)
    assert found == literal(X, 10, 3)
    assert len(found) == 6
    first_of_each = [int(np.flatnonzero(X[:, j])[0]) for j in range(6) if X[3, j] == 0]
    assert found == [3, *sorted(first_of_each)]
