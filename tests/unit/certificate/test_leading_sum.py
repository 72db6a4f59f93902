"""The sum of leading eigenvalues is never underrated, whatever the spectrum, and nearly met."""

import re
from pathlib import Path

import numpy as np
import pytest

import provenmf
from provenmf.certificate import singular_values as leading_sum
from provenmf.certificate.singular_values import leading_sum_at_most
from provenmf.linalg.spectral import dense_eigenpairs, leading_eigenpairs


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
@pytest.mark.parametrize("k", [1, 3, 7, 14])
@pytest.mark.parametrize("name", SPECTRA)
def test_bound_is_safe_and_tight(name, k, scale, dense, monkeypatch):
    monkeypatch.setattr(leading_sum, "DENSE_SIZE", 1000 if dense else 10)
    spectrum = np.sort(SPECTRA[name])[::-1]
    bound = leading_sum_at_most(scale * gram_with(spectrum), k) / scale
    exact = spectrum[:k].sum()
    assert exact - 1e-14 * spectrum[0] <= bound <= exact + 1e-7 * spectrum[0]


def test_vectors_that_miss_an_eigenvalue_prove_nothing_false(monkeypatch):
    """Residuals are zero for any eigenvectors; here the leading one was not found."""
    spectrum = np.r_[5.0, 4.0, 3.0, 2.0, np.zeros(20)]
    gram = np.diag(spectrum)

    def wrong(gram, k):
        return spectrum[1 : k + 1], np.eye(len(gram))[:, 1 : k + 1], 0.0

    monkeypatch.setattr(leading_sum, "_leading_pairs", wrong)
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
            spectrum = leading_eigenpairs(gram, len(gram), k)
            assert spectrum.values.sum() <= exact * (1 + 1e-9)


def test_numbers_of_very_different_size_end():
    """LAPACK's MRRR hung on a 3 x 3 matrix with entries from 1e-190 to 1e120."""
    rows = np.array([[1e60, 1e-95, 0.0], [1e-95, 1e-130, 1e-20], [3e59, 1e10, 1e-40]])
    values, vectors = dense_eigenpairs(rows.T @ rows, 2)
    assert values[0] == pytest.approx(1.09e120)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(2), atol=1e-12)


def test_one_place_only_takes_another_driver_than_divide_and_conquer():
    """MRRR and bisection are kept to matrices that were scaled: numpy's eigh is neither."""
    sources = Path(provenmf.__file__).parent.rglob("*.py")
    imports = re.compile(r"scipy\.linalg import.*\beigh\b")
    users = [file.name for file in sources if imports.search(file.read_text())]
    assert users == ["spectral.py"]
