"""What follows from algebra: order, scale and repetition of rows change nothing that matters."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.methods import make_estimator

pytestmark = pytest.mark.filterwarnings("ignore")  # few iterations, and they say so
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=4, deadline=None)
ANCHORS = {"spa": {}, "xray": {}, "fast_anchor": {}, "merit": {}}
ITERATIVE = {
    "hals": {"init": "spa", "max_iter": 15, "tol": 0.0},
    "anls": {"init": "spa", "max_iter": 15, "tol": 0.0},
    "and_descent": {"max_iter": 10},
    "cones": {},
}
every_method = pytest.mark.parametrize("method", [*ANCHORS, *ITERATIVE])


def fit(method, X, k=3):
    options = {**ANCHORS, **ITERATIVE}[method]
    return make_estimator(method, k, random_state=0, certify=False, **options).fit(X)


def noisy(seed, n=30, d=8, k=3):
    sample = dirichlet_mixtures(n, d, k, random_state=seed)
    return sample.data + 0.01 * np.random.default_rng(seed).random((n, d))


def relative_error(X, model):
    f = model.factorization_
    return np.linalg.norm(X - f.weights @ f.components) / np.linalg.norm(X)


@pytest.mark.parametrize("method", ANCHORS)
@few
@given(seed=seeds)
def test_the_order_of_rows_does_not_matter(method, seed):
    X = noisy(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    anchors = fit(method, X).anchors_
    permuted = fit(method, X[order])
    assert set(order[permuted.anchors_].tolist()) == set(anchors.tolist())


@every_method
@few
@given(seed=seeds, exponent=st.integers(-100, 100))
def test_a_scale_changes_nothing_else(method, seed, exponent):
    X, scale = noisy(seed), 2.0**exponent
    plain, scaled = fit(method, X), fit(method, X * scale)
    products = [m.factorization_.weights @ m.components_ for m in (plain, scaled)]
    np.testing.assert_allclose(products[1] / scale, products[0], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("method", ["spa", "xray", "fast_anchor"])
@few
@given(seed=seeds)
def test_a_second_copy_of_the_rows_changes_no_anchor(method, seed):
    X = noisy(seed)
    once, twice = fit(method, X), fit(method, np.vstack([X, X]))
    assert set((twice.anchors_ % len(X)).tolist()) == set(once.anchors_.tolist())
    np.testing.assert_allclose(relative_error(np.vstack([X, X]), twice), relative_error(X, once))


@every_method
@few
@given(seed=seeds, share=st.floats(0.1, 0.9))
def test_a_row_split_in_two_splits_its_weights(method, seed, share):
    X = noisy(seed)
    model = make_estimator(method, 3, certify=False, **{**ANCHORS, **ITERATIVE}[method])
    if "constraint" in model.get_params():
        model.set_params(constraint="nonnegative")
    model.fit(X)
    whole = model.transform(X)
    parts = model.transform(np.vstack([share * X, (1 - share) * X]))
    together = parts[: len(X)] + parts[len(X) :]
    np.testing.assert_allclose(together @ model.components_, whole @ model.components_, atol=1e-6)
