"""Sums of leading eigenvalues are never underrated, smallest singular values never overrated."""

import numpy as np
import pytest

from provenmf.certificate import singular_values as leading_sum
from provenmf.certificate.singular_values import (
    amplification_of,
    gap_at_least,
    has_independent_rows,
    leading_sum_at_most,
    least_stretch,
)
from provenmf.linalg.spectral import leading_eigenpairs


def gram_with(spectrum, seed=0):
    """A symmetric matrix with these eigenvalues, up to rounding."""
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(spectrum),) * 2))[0]
    gram = (turn * spectrum) @ turn.T
    return (gram + gram.T) / 2


SPECTRA = {
    "falling": 0.8 ** np.arange(60.0),
    "flat": np.ones(60),
    "repeated first": np.r_[np.full(20, 9.0), np.linspace(5, 0, 40)],
    "repeated at k": np.r_[50.0, 20.0, np.full(30, 9.0), np.zeros(28)],
    "one value": np.r_[1.0, np.zeros(59)],
    "rank three": np.r_[3.0, 2.0, 1.0, np.zeros(57)],
    "tiny tail": np.r_[1.0, np.full(59, 1e-14)],
}


@pytest.mark.parametrize("dense", [True, False], ids=["dense", "krylov"])
@pytest.mark.parametrize("scale", [1e-180, 1.0, 1e120])
@pytest.mark.parametrize("k", [1, 7])
@pytest.mark.parametrize("name", SPECTRA)
def test_bound_is_safe_and_tight(name, k, scale, dense, monkeypatch):
    monkeypatch.setattr("provenmf.linalg.spectral.DENSE_SIZE", 1000 if dense else 10)
    spectrum = np.sort(SPECTRA[name])[::-1]
    bound = leading_sum_at_most(scale * gram_with(spectrum), k) / scale
    exact = spectrum[:k].sum()
    assert exact - 1e-14 * spectrum[0] <= bound <= exact + 1e-7 * spectrum[0]


@pytest.mark.parametrize("scale", [1e-180, 1.0, 1e120])
@pytest.mark.parametrize(("name", "k"), [("falling", 3), ("repeated at k", 2), ("flat", 5)])
def test_the_gap_after_the_kth_value_is_safe_and_tight(name, k, scale):
    spectrum = np.sort(SPECTRA[name])[::-1]
    gap = gap_at_least(scale * gram_with(spectrum), k, scale * spectrum.sum(), 60) / scale
    exact = spectrum[k - 1] - spectrum[k]
    assert exact - 1e-6 * spectrum[0] <= gap <= exact


def test_vectors_that_miss_an_eigenvalue_prove_nothing_false(monkeypatch):
    """Residuals are zero for any eigenvectors; here the leading one was not found."""
    spectrum = np.r_[5.0, 4.0, 3.0, 2.0, np.zeros(20)]
    gram = np.diag(spectrum)

    def wrong(gram, k):
        return spectrum[1 : k + 1], np.eye(len(gram))[:, 1 : k + 1], 0.0

    monkeypatch.setattr(leading_sum, "leading_eigenpairs", wrong)
    bound = leading_sum_at_most(gram, 2)
    assert bound is None or bound >= 9.0


def test_repeated_counts_of_one_hot_rows():
    """ARPACK missed some of eight equal leading values, and died of fourteen."""
    for repeated in (8, 14):
        counts = np.r_[np.full(repeated, 100.0), np.arange(90, 8, -9.0), np.ones(1100)]
        gram = np.diag(counts)
        for k in (repeated, 8):
            exact = np.sort(counts)[::-1][:k].sum()
            assert exact <= leading_sum_at_most(gram, k) <= exact * (1 + 1e-6)
            assert leading_eigenpairs(gram, k)[0].sum() <= exact * (1 + 1e-9)


def smallest(rows, of_differences):
    k = len(rows)
    if of_differences:
        across = np.linalg.qr(np.vstack([np.eye(k - 1), -np.ones(k - 1)]))[0]
        rows = across.T @ rows
    return np.linalg.svd(rows, compute_uv=False)[-1]


@pytest.mark.parametrize("of_differences", [False, True])
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("seed", range(8))
def test_smallest_value_is_safe_and_tight(seed, scale, of_differences):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    rows = rng.standard_normal((k, k + int(rng.integers(0, 20))))
    amplified = amplification_of(scale * rows, of_differences=of_differences)
    found = 1 / amplified.all_weights / scale
    exact = smallest(rows, of_differences)
    assert 0.999999 * exact <= found <= exact * (1 + 1e-12)


@pytest.mark.parametrize("distance", [1e-3, 1e-5, 1e-9, 1e-15, 0.0])
def test_nearly_dependent_rows(distance):
    rng = np.random.default_rng(0)
    rows = rng.random((3, 12))
    rows[2] = rows[0] + rows[1] + distance * rng.random(12)
    exact, found = smallest(rows, False), least_stretch(rows)
    assert found <= exact + 1e-16
    assert found >= 0.9 * exact or distance < 1e-6


def test_rows_of_very_different_length():
    rng = np.random.default_rng(0)
    rows = rng.random((3, 12)) * np.array([[1.0], [1e-9], [1e7]])
    rotated = np.linalg.qr(rows.T)[1].T
    assert least_stretch(rows) <= smallest(rotated, False) * (1 + 1e-6)
    assert least_stretch(rows) > 1e-10


def test_zero_rows_too_many_rows_and_numbers_that_are_none():
    assert least_stretch(np.zeros((2, 3))) == 0
    assert least_stretch(np.ones((4, 3))) == 0
    assert least_stretch(np.array([[1.0, np.nan]])) == 0


def test_independent_rows_are_counted():
    rows = np.vstack([np.eye(3, 5), np.ones((2, 5)), np.eye(3, 5)[0] + np.eye(3, 5)[1]])
    assert has_independent_rows(rows, 0) and has_independent_rows(rows, 4)
    assert not has_independent_rows(rows, 5)


@pytest.mark.parametrize("of_differences", [False, True])
def test_each_weight_has_a_bound_of_its_own(of_differences):
    """|v_j| over ‖vA‖ ≤ 1 is one over the distance of row j to the span of the others."""
    rows = np.random.default_rng(0).random((4, 9)) * [[1], [10], [0.1], [1]]
    found = amplification_of(rows, of_differences=of_differences).by_component
    for j in range(4):
        others = np.delete(rows, j, axis=0)
        origin = others[0] if of_differences else np.zeros(9)
        edges = (others[1:] if of_differences else others) - origin
        away = rows[j] - origin
        away = away - np.linalg.lstsq(edges.T, away, rcond=None)[0] @ edges
        exact = 1 / np.linalg.norm(away)
        assert exact <= found[j] * (1 + 1e-12) <= exact * (1 + 1e-9)
