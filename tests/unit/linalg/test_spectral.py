from dataclasses import fields, replace

import numpy as np
import pytest

from provenmf.linalg import spectral
from provenmf.linalg.spectral import block_krylov, dense_eigenpairs


@pytest.mark.parametrize("size", [50, 72])
def test_equal_eigenvalues_are_not_lost(size):
    """LAPACK's bisection returned none here."""
    values, vectors = dense_eigenpairs(np.eye(size) + 1e-17, 1)
    np.testing.assert_allclose(values, [1.0], rtol=1e-14)
    assert vectors.shape == (size, 1)


@pytest.mark.parametrize("factor", [0.5, 2])
@pytest.mark.parametrize("name", [field.name for field in fields(spectral.SETTINGS)])
def test_half_and_twice_a_setting_give_the_same_eigenvalues(name, factor, monkeypatch):
    value = getattr(spectral.SETTINGS, name)
    changed = replace(spectral.SETTINGS, **{name: type(value)(factor * value)})
    monkeypatch.setattr(spectral, "SETTINGS", changed)
    rows = np.random.default_rng(0).standard_normal((90, 70))
    gram, expected = rows.T @ rows, np.linalg.svd(rows, compute_uv=False)[:4] ** 2
    np.testing.assert_allclose(dense_eigenpairs(gram, 4)[0], expected)
    np.testing.assert_allclose(block_krylov(lambda v: gram @ v, 70, 4, tol=1e-10)[0], expected)
