"""Rows from observed entries against plain numpy, row by row."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls

from provenmf.linalg import observed as kernels


def problem(k=4, seed=0):
    """Observed entries with stored zeros, an empty row, features (d, k) and rows (n, k)."""
    rng = np.random.default_rng(seed)
    data = rng.poisson(1.0, (12, 9)).astype(float)
    seen = rng.random(data.shape) < 0.6
    seen[5] = False
    rows, columns = np.nonzero(seen)
    pointers = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    entries = sp.csr_array((data[seen], columns, pointers), shape=data.shape)
    return data, seen, entries, rng.random((9, k)), rng.random((12, k))


def parts(entries):
    return entries.indptr, entries.indices, entries.data


def test_normal_equations():
    data, seen, entries, features, _ = problem()
    gram, cross = np.empty((4, 4)), np.empty(4)
    here = slice(entries.indptr[2], entries.indptr[3])
    kernels.normal_equations_in_place.py_func(
        entries.indices[here], entries.data[here], features, gram, cross
    )
    kept = features[seen[2]]
    np.testing.assert_allclose(gram, kept.T @ kept)
    np.testing.assert_allclose(cross, data[2, seen[2]] @ kept)


def plain_descent(data, seen, features, rows, known, l1, l2, sweeps):
    rows = rows.copy()
    for row, values, there in zip(rows, data, seen, strict=True):
        kept = features[there]
        for _ in range(sweeps):
            for j in range(known, len(row)):
                curvature = kept[:, j] @ kept[:, j] + l2
                if curvature > 0:
                    slope = kept[:, j] @ (values[there] - kept @ row) - l1 - l2 * row[j]
                    row[j] = max(row[j] + slope / curvature, 0)
    return rows


@pytest.mark.parametrize("known, l1, l2", [(0, 0.0, 0.0), (2, 0.0, 0.0), (1, 0.3, 0.2)])
def test_descend_observed_rows(known, l1, l2):
    data, seen, entries, features, rows = problem()
    found = rows.copy()
    kernels.descend_observed_rows_in_place(*parts(entries), features, found, known, l1, l2, 3)
    expected = plain_descent(data, seen, features, rows, known, l1, l2, 3)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_array_equal(found[:, :known], rows[:, :known])


@pytest.mark.parametrize("known", [0, 2])
def test_solve_observed_rows(known):
    data, seen, entries, features, rows = problem(seed=1)
    found = rows.copy()
    kernels.solve_observed_rows_in_place(*parts(entries), features, found, known, 0.0, 0.0, 1e-16)
    for row, values, there, before in zip(found, data, seen, rows, strict=True):
        target = values[there] - features[there][:, :known] @ before[:known]
        if not there.any():
            assert not row[known:].any()
            continue
        best = nnls(features[there][:, known:], target)[0]
        np.testing.assert_allclose(row[known:], best, atol=1e-9)


def test_solve_observed_rows_with_penalties():
    data, seen, entries, features, rows = problem(seed=2)
    found = rows.copy()
    kernels.solve_observed_rows_in_place(*parts(entries), features, found, 0, 0.4, 0.3, 1e-16)
    settled = plain_descent(data, seen, features, found, 0, 0.4, 0.3, 1)
    np.testing.assert_allclose(found, settled, atol=1e-9)  # no sweep moves the best rows


def test_residual_entries():
    data, seen, entries, features, rows = problem(seed=3)
    out = np.empty(entries.nnz)
    kernels.residual_entries_in_place(*parts(entries), features, rows, out)
    np.testing.assert_allclose(out, (data - rows @ features.T)[seen])
