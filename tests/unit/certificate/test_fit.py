"""The one measurement of a fit: right in any storage, precision and scale, in one pass."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.certificate.measurement import Fit
from provenmf.data import as_blocks
from provenmf.results import Factorization


def example(seed=0, n=40, d=12, k=3):
    rng = np.random.default_rng(seed)
    data = rng.random((n, d)) * (rng.random((n, d)) < 0.6)
    return data, rng.random((n, k)), rng.random((k, d))


@pytest.mark.parametrize("storage", [np.asarray, np.asfortranarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("block_rows", [None, 7])
def test_everything_agrees_with_its_definition(storage, dtype, block_rows):
    data, weights, components = (array.astype(dtype) for array in example())
    fit = Fit(
        as_blocks(storage(data), block_rows=block_rows), Factorization("x", weights, components)
    )
    X, W, C = (array.astype(np.float64) for array in (data, weights, components))
    close = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(fit.lengths, np.linalg.norm(X, axis=1), **close)
    np.testing.assert_allclose(fit.sums, X.sum(axis=1), **close)
    np.testing.assert_allclose(fit.residuals, np.linalg.norm(X - W @ C, axis=1), **close)
    np.testing.assert_allclose(fit.cross.array(), X @ C.T, **close)
    np.testing.assert_allclose(fit.weights_data, W.T @ X, **close)
    np.testing.assert_allclose(fit.gram, X.T @ X, **close)
    assert fit.largest_residual_entry == pytest.approx(np.abs(X - W @ C).max(), rel=1e-12)
    expected = np.linalg.norm(X - W @ C) / np.linalg.norm(X)
    assert fit.relative_error == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("exponent", [-1060, -565, -400, 0, 66, 400, 1000])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_scale_changes_nothing_but_the_unit(exponent, storage):
    """Data of 1e-170 had squares of zero and a relative error of exactly 0."""
    data, weights, components = example(1)
    data, components = np.round(data, 3), np.round(components, 3)
    plain = Fit(as_blocks(storage(data)), Factorization("x", weights, components))
    factor = 2.0**exponent if exponent > -1023 else 2.0**-1000 * 2.0 ** (exponent + 1000)
    scaled = Fit(
        as_blocks(storage(factor * data)), Factorization("x", weights, factor * components)
    )
    few_digits = exponent < -1000  # subnormal data have lost digits before we see them
    near = 1e-3 if few_digits else 1e-13
    assert scaled.relative_error == pytest.approx(plain.relative_error, rel=near)
    assert scaled.error * (scaled.unit / factor) == pytest.approx(plain.error, rel=near)


def test_weights_may_carry_the_scale():
    data, weights, components = example(2)
    plain = Fit(as_blocks(data), Factorization("x", weights, components))
    odd = Fit(as_blocks(1e-170 * data), Factorization("x", 1e-170 * weights, components))
    assert odd.relative_error == pytest.approx(plain.relative_error, rel=1e-12)
    assert np.isfinite(odd.components_gram).all()


def test_rows_of_very_different_sizes_have_lengths():
    data = np.array([[3e-200, 4e-200], [3.0, 4.0], [0.0, 0.0]])
    fit = Fit(as_blocks(data), Factorization("x", np.zeros((3, 1)), np.zeros((1, 2))))
    np.testing.assert_allclose(fit.lengths, [5e-200, 5.0, 0.0], rtol=1e-14)
