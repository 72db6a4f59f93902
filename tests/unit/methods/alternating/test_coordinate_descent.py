"""Coordinate descent on nonnegative weights against plain loops over rows and coordinates."""

import numpy as np
import pytest

from provenmf.methods.alternating import kernels


def plain_descent(gram, cross, weights, sweeps):
    """The best nonnegative value of one coordinate after the other, every row by itself."""
    weights = weights.copy()
    for row, target in zip(weights, cross):
        for _ in range(sweeps):
            for j in range(len(gram)):
                if gram[j, j] > 0:
                    row[j] = max(row[j] + (target[j] - gram[j] @ row) / gram[j, j], 0)
    return weights


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 150])  # tiles of 64 rows
@pytest.mark.parametrize("k", [1, 4, 7])  # four vectors at a time, and the rest
def test_descend_coordinates(rows, k):
    rng = np.random.default_rng(rows + k)
    components = rng.standard_normal((k, 9))
    components[-1] *= k != 4  # a component that is zero stays as it is
    gram, cross = components @ components.T, rng.standard_normal((rows, 9)) @ components.T
    start = rng.random((rows, k))
    found = start.copy()
    kernels.descend_coordinates_in_place(gram, cross, found, 3)
    np.testing.assert_allclose(found, plain_descent(gram, cross, start, 3), atol=1e-12)


def test_descend_coordinates_in_single_precision():
    rng = np.random.default_rng(0)
    components = rng.random((5, 9))
    gram, cross = components @ components.T, rng.random((70, 9)) @ components.T
    start = rng.random((70, 5))
    found = start.astype(np.float32)
    kernels.descend_coordinates_in_place(
        gram.astype(np.float32), cross.astype(np.float32), found, 2
    )
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, plain_descent(gram, cross, start, 2), atol=2e-4)


def test_move():
    coordinate, descent = np.array([1.0, 1.0, 0.0, 7.0]), np.array([2.0, -6.0, 1.0, 9.0])
    kernels.move_in_place(descent, 4.0, 3, coordinate)
    np.testing.assert_allclose(coordinate, [1.5, 0.0, 0.25, 7.0])


@pytest.mark.parametrize("k", [1, 3, 4, 6, 9])
def test_subtract_combination(k):
    rng = np.random.default_rng(k)
    coefficients, vectors = rng.standard_normal(k), rng.standard_normal((k, 12))
    out = rng.standard_normal(12)
    expected = out.copy()
    expected[:10] -= coefficients @ vectors[:, :10]
    kernels.subtract_combination_in_place(coefficients, vectors, 10, out)
    np.testing.assert_allclose(out, expected, atol=1e-13)


def test_look_ahead():
    rng = np.random.default_rng(1)
    new, last = rng.random((6, 4)), rng.random((6, 4))
    ahead = np.full((6, 4), np.nan)
    kernels.look_ahead_in_place(new, last, 2.5, ahead)
    expected = np.maximum(new + 2.5 * (new - last), 0)
    assert (expected == 0).any()
    np.testing.assert_allclose(ahead, expected, atol=1e-15)
