"""Assumption-free statements hold on random data, in every storage."""

import numpy as np
import pytest
import scipy.sparse as sp

import provenmf
from provenmf.certificate import optimality, singular_values as rank_bound
from provenmf.certificate.measurement import Fit
from provenmf.data import as_blocks
from provenmf.results import Factorization


def any_fit(blocks, k):
    """A fit with weights and components of no interest."""
    n, d = blocks.shape
    return Fit(blocks, Factorization("x", np.zeros((n, k)), np.ones((k, d))))


def best_rank_k_error(matrix, k):
    values = np.linalg.svd(matrix, compute_uv=False)
    return np.sqrt((values[k:] ** 2).sum() / (values**2).sum())


@pytest.mark.parametrize("shape", [(60, 20), (20, 60), (30, 30)])
@pytest.mark.parametrize("k", [1, 5, 19])
def test_lower_bound_is_the_tail_of_the_spectrum(shape, k):
    dense = np.random.default_rng(0).random(shape)
    dense[dense < 0.5] = 0
    for matrix in (dense, sp.csr_array(dense)):
        blocks = as_blocks(matrix)
        lower = any_fit(blocks, k).rank_bound.relative_error
        best = best_rank_k_error(dense, k)
        assert lower <= best + 1e-12
        assert lower == pytest.approx(best, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("storage", ["dense", "sparse", "disk"])
@pytest.mark.parametrize("k", [1, 3])
def test_large_data_are_bounded_by_parts(storage, k, tmp_path, monkeypatch):
    """Safe, and not far from the best bound; rows in order of their kind lose nothing in memory."""
    monkeypatch.setattr(rank_bound, "GRAM_COLUMNS", 10)
    monkeypatch.setattr(rank_bound, "PART_ROWS", 40)
    rng = np.random.default_rng(0)
    matrix = np.kron(np.eye(3), rng.random((41, 8))) + 0.3 * rng.random((123, 24))
    np.save(tmp_path / "x.npy", matrix)
    data = {"dense": matrix, "sparse": sp.csr_array(matrix), "disk": tmp_path / "x.npy"}[storage]
    lower = any_fit(as_blocks(data), k).rank_bound.relative_error
    best = best_rank_k_error(matrix, k)
    assert 0.8 * best <= lower <= best


@pytest.mark.parametrize("constraint", ["nonnegative", "simplex"])
def test_weights_residual_is_zero_only_at_the_best_weights(constraint):
    from provenmf.linalg.nnls import encoder

    rng = np.random.default_rng(2)
    blocks = as_blocks(rng.random((30, 8)))
    components = rng.random((4, 8))
    best = blocks.map_rows(encoder(components, blocks.dtype, constraint))
    at_best = Fit(blocks, Factorization("x", best, components), constraint)
    assert optimality.weights_residual(at_best) < 1e-6
    worse = Fit(blocks, Factorization("x", np.roll(best, 1, axis=0), components), constraint)
    assert optimality.weights_residual(worse) > 0.1


def test_simplex_residual_bounds_the_suboptimality():
    from provenmf.linalg.nnls import encoder

    rng = np.random.default_rng(3)
    matrix, components = rng.random((30, 8)), rng.random((4, 8))
    blocks = as_blocks(matrix)
    best = blocks.map_rows(encoder(components, blocks.dtype, "simplex"))
    weights = rng.dirichlet(np.ones(4), 30)
    loss = [0.5 * np.linalg.norm(matrix - w @ components) ** 2 for w in (weights, best)]
    given = Fit(blocks, Factorization("x", weights, components), "simplex")
    bound = optimality.weights_residual(given) ** 2
    assert loss[0] - loss[1] <= bound + 1e-12


def test_the_gap_is_what_the_error_exceeds_the_floor_by():
    certificate = provenmf.SPA(3).fit(np.random.default_rng(1).random((40, 8))).certificate_
    gap = certificate.measures["relative_error"] - certificate.bounds["relative_error_lower_bound"]
    assert gap > 0.05 and certificate.bounds["relative_error_gap"] == pytest.approx(gap, rel=1e-9)


def test_zero_data_do_not_divide_by_zero():
    blocks = as_blocks(np.zeros((4, 3)))
    certificate = optimality.certify(any_fit(blocks, 1))
    assert certificate.measures == {"error": 0.0}


def test_spaces_of_equally_good_products_are_within_the_angle():
    """The leading space is turned until the product is as bad as the fit, in many directions."""
    rng = np.random.default_rng(0)
    rows = rng.random((40, 3)) @ rng.random((3, 8)) + 0.01 * rng.random((40, 8))
    fitted = provenmf.HALS(3, random_state=0).fit(rows)
    angle = fitted.certificate_.bounds["space_angle_degrees"]
    assert angle < 10
    _, values, right = np.linalg.svd(rows, full_matrices=False)
    error = np.linalg.norm(rows - fitted.factorization_.weights @ fitted.components_)
    for _ in range(200):
        mixed = rng.standard_normal((3, 5)) * [[0.1], [0.3], [1.0]]
        low, high = 0.0, 2.0
        for _ in range(40):
            middle = (low + high) / 2
            basis = np.linalg.qr((right[:3] + middle * mixed @ right[3:]).T)[0]
            worse = np.linalg.norm(rows - rows @ basis @ basis.T) > error
            low, high = (low, middle) if worse else (middle, high)
        basis = np.linalg.qr((right[:3] + low * mixed @ right[3:]).T)[0]
        cosine = np.linalg.svd(right[:3] @ basis, compute_uv=False)[-1]
        assert np.degrees(np.arccos(min(cosine, 1.0))) <= angle * (1 + 1e-6)
