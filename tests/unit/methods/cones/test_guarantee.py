import math
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import ConeNMF
from provenmf.certificate.measurement import Fit
from provenmf.data import as_blocks
from provenmf.datasets.cones import equiangular_axes, sample_cones
from provenmf.methods.cones.guarantee import (
    certify,
    largest_side_of_inequality_1,
    measured_clusters,
    weighted_bound,
)
from provenmf.results import Factorization


def factorized(X, labels):
    """Rank-one fits of given clusters, by full decompositions."""
    k = labels.max() + 1
    components, weights = np.zeros((k, X.shape[1])), np.zeros((X.shape[0], k))
    for j in range(k):
        components[j] = np.abs(np.linalg.svd(X[labels == j])[2][0])
        weights[labels == j, j] = X[labels == j] @ components[j]
    return Factorization("cones", weights, components, labels=labels)


def check_of(certificate, start):
    return next(check for check in certificate.checks if check.name.startswith(start))


@pytest.fixture(scope="module")
def sample():
    axes = equiangular_axes(4, 30, 1.3, random_state=0)
    return sample_cones(200, axes, angles=[0.05, 0.1, 0.2, 0.3], random_state=1)


def test_right_side_of_inequality_1_by_brute_force():
    rng = np.random.default_rng(0)
    for _ in range(50):
        a = rng.random(rng.integers(2, 6))
        brute = max(
            max(a[i] + 3 * a[j], 3 * a[i] + a[j])
            for i in range(a.size)
            for j in range(a.size)
            if i != j
        )
        assert largest_side_of_inequality_1(a) == pytest.approx(brute)


def test_certified_data(sample):
    certificate = certify(Fit(as_blocks(sample.data), factorized(sample.data, sample.labels)))
    assert check_of(certificate, "cones far apart").status == "holds"
    assert check_of(certificate, "same clusters").status == "holds"
    bounds, measures = certificate.bounds, certificate.measures
    error = check_of(certificate, "error within").value
    assert error <= bounds["relative_error"] <= bounds["relative_error_max_form"]
    assert bounds["relative_error_max_form"] == pytest.approx(
        math.sin(max(measures["size_angles"]))
    )
    # Never worse than what the truth about the cones would give.
    fit = Fit(as_blocks(sample.data), factorized(sample.data, sample.labels))
    true_bound = weighted_bound(np.array([0.05, 0.1, 0.2, 0.3]), measured_clusters(fit))
    assert bounds["relative_error"] <= true_bound


def test_overlapping_cones_have_a_bound_for_their_clusters_only():
    X = np.random.default_rng(2).random((100, 8))
    labels = np.arange(100) % 3
    certificate = certify(Fit(as_blocks(X), factorized(X, labels)))
    assert check_of(certificate, "cones far apart").status == "fails"
    assert check_of(certificate, "same clusters").status == "unknown"
    assert set(certificate.bounds) == {"cluster_relative_error"}


def test_a_factorization_of_something_else_gets_no_bound(sample):
    wrong = factorized(sample.data, sample.labels)
    wrong = Factorization("cones", 0 * wrong.weights, wrong.components, labels=wrong.labels)
    certificate = certify(Fit(as_blocks(sample.data), wrong))
    assert check_of(certificate, "error within").status == "fails"
    assert not certificate.bounds


def test_rows_of_no_cluster_are_not_explained(sample):
    """Labels set to -1 must not make cones narrow: what is left out counts as a whole."""
    honest = factorized(sample.data, sample.labels)
    for forged in (np.full(200, -1), np.where(sample.labels == 3, -1, sample.labels)):
        certificate = certify(Fit(as_blocks(sample.data), replace(honest, labels=forged)))
        assert check_of(certificate, "every row").status == "fails"
        assert "relative_error" not in certificate.bounds
        assert all(c.status != "holds" for c in certificate.checks if "clusters" in c.name)
    share = (sample.data[sample.labels == 3] ** 2).sum() / (sample.data**2).sum()
    assert certificate.bounds["cluster_relative_error"] >= math.sqrt(share)


def partition(labels):
    return {frozenset(np.flatnonzero(labels == k).tolist()) for k in np.unique(labels)}


def test_same_clusters_from_any_start_allows_for_the_rounding_of_the_choice():
    """Angles of a millionth: cosines differ in decimals that are not compared; the start decides.

    Rows at 0, 0.5 and 1.3 millionths are {0, 0.5} and {1.3} from one end, {1.3, 0.5} and {0} from
    the other, although the first two are nearer to each other than to the third.
    """
    claimed = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        angles = np.append(np.sort(rng.random(3)), 3) * 10.0 ** rng.uniform(-6.5, -4.5)
        X = np.column_stack([np.ones(4), angles]) * rng.uniform(0.5, 2, (4, 1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fits = [ConeNMF(2, first=row, certify=False).fit(X) for row in range(4)]
        found = {frozenset(partition(fit.labels_)) for fit in fits}
        for fit in fits:
            certificate = certify(Fit(as_blocks(X), fit.factorization_))
            holds = check_of(certificate, "same clusters").status == "holds"
            claimed += holds
            assert len(found) == 1 or not holds
    assert claimed > 20


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_the_bound_is_not_below_the_error_in_exact_arithmetic(dtype, storage):
    """Rows along few rays: the error is rounding of the factors, and the bound must allow it."""
    rng = np.random.default_rng(9)
    for _ in range(10):
        rays = rng.random((2, 4))
        rows = rng.uniform(0.1, 3, (12, 1)) * rays[rng.integers(0, 2, 12)]
        X = (rows * (1 + rng.choice([0, 1e-8, 1e-4]) * rng.random(rows.shape))).astype(dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = ConeNMF(2).fit(storage(X))
        left, whole = exact_squares(X, model.factorization_)
        for name, bound in model.certificate_.bounds.items():
            if name.startswith("relative_error") and "lower" not in name and "gap" not in name:
                assert Fraction(bound) ** 2 * whole >= left, name


def exact_squares(X, factorization):
    """‖X − WC‖² and ‖X‖² as rational numbers."""
    left = whole = Fraction(0)
    components = [[Fraction(float(c)) for c in row] for row in factorization.components]
    for row, weights in zip(X, factorization.weights):
        for j, entry in enumerate(row):
            exact = Fraction(float(entry))
            fitted = sum(Fraction(float(w)) * c[j] for w, c in zip(weights, components))
            left, whole = left + (exact - fitted) ** 2, whole + exact**2
    return left, whole


def test_an_error_that_meets_its_bound_is_within_it():
    """Two rows at right angles in one cone: error and bound are both the root of one half."""
    X = np.zeros((12, 4))
    X[0, 1] = X[1, 0] = 14384.0
    bounds = ConeNMF(1).fit(X).certificate_.bounds
    assert bounds["cluster_relative_error"] == pytest.approx(math.sqrt(0.5), rel=1e-12)
