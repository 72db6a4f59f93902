"""What must hold of cone NMF whatever the data: invariances, and a bound that is never broken."""

import warnings

import numpy as np
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from provenmf import ConeNMF
from provenmf.certificate.measurement import Fit
from provenmf.data import as_blocks
from provenmf.datasets.cones import equiangular_axes, sample_cones
from provenmf.methods.cones.guarantee import certify
from provenmf.methods.cones.solver import cones

SEEDS = st.integers(0, 2**32 - 1)


def separated_rows(seed, spread="random"):
    """Rows of a few cones, sometimes far enough apart for inequality (1), sometimes not."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    axes = equiangular_axes(
        k, int(rng.integers(k + 1, 30)), rng.uniform(0.3, 1.57), random_state=rng
    )
    angles = rng.uniform(0.0, 0.45, k)
    return sample_cones(40, axes, angles=angles, spread=spread, random_state=rng), k


def certified(X, k):
    """A fit and what cones alone say of it: statements about any method take longer."""
    model = ConeNMF(k, certify=False).fit(X)
    return model, certify(Fit(as_blocks(X), model.factorization_))


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_the_bound_is_never_broken(seed):
    sample, k = separated_rows(seed)
    model, certificate = certified(sample.data, k)
    error = model.reconstruction_err_ / np.linalg.norm(sample.data)
    assert error <= certificate.bounds["cluster_relative_error"] + 1e-14
    if "relative_error" in certificate.bounds:
        assert error <= certificate.bounds["relative_error"] + 1e-14


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_certified_clusters_are_found_from_every_row(seed):
    sample, k = separated_rows(seed)
    model, certificate = certified(sample.data, k)
    same = next(c for c in certificate.checks if c.name.startswith("same clusters"))
    if same.status == "holds":
        for first in range(0, 40, 7):
            other = cones(as_blocks(sample.data), k, first=first)
            pairs = set(zip(model.labels_.tolist(), other.labels.tolist()))
            assert len(pairs) == model.n_components_


def test_statements_are_made_of_some_of_these_rows_and_not_of_others():
    fits = [certified(sample.data, k)[1] for sample, k in map(separated_rows, range(12))]
    for made in (
        {"relative_error" in certificate.bounds for certificate in fits},
        {c.status == "holds" for f in fits for c in f.checks if c.name.startswith("same clusters")},
    ):
        assert made == {True, False}


@settings(max_examples=40, deadline=None)
@given(
    X=arrays(np.float64, (12, 4), elements=st.floats(0, 1e6)),
    k=st.integers(1, 6),
)
def test_any_nonnegative_matrix_is_factorized_within_its_bound(X, k):
    X[0, 0] += 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer directions than components are fine here
        model, certificate = certified(X, k)
    error = model.reconstruction_err_ / np.linalg.norm(X)
    assert error <= certificate.bounds["cluster_relative_error"] + 1e-14
    np.testing.assert_array_equal(model.labels_ == -1, np.linalg.norm(X, axis=1) < 1e-140)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS)
def test_positive_row_scales_do_not_move_clusters(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((30, 5)) ** 2
    plain = cones(as_blocks(X), 4, first=0)
    scaled = cones(as_blocks(X * rng.uniform(0.1, 10, (30, 1))), 4, first=0)
    np.testing.assert_array_equal(plain.anchors, scaled.anchors)
    np.testing.assert_array_equal(plain.labels, scaled.labels)
