"""What must not matter to methods that begin with given components: order, scale and unit."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from provenmf.data import as_blocks
from provenmf.datasets.and_descent import sample_dirichlet, start_nearby, topic_components
from provenmf.datasets.purification import sample_purification, warm_start
from provenmf.linalg.left_inverse import left_inverse
from provenmf.methods.and_descent.solver import StageRule, and_descent
from provenmf.methods.purification.kernels import relu_decode
from provenmf.methods.purification.solver import purification

seeds = st.integers(0, 10_000)
few = settings(max_examples=15, deadline=None)


def topics(seed):
    components = topic_components(5, 20, random_state=seed)
    sample = sample_dirichlet(150, components, random_state=seed)
    return sample, start_nearby(components, random_state=seed)


def features(seed):
    sample = sample_purification(
        300, 24, 4, sparsity=1.5, values="uniform", noise="unbiased",
        noise_level=0.005, random_state=seed,
    )  # fmt: skip
    return sample, warm_start(sample.components, mixing=0.3, random_state=seed)


def by_and(data, start):
    return and_descent(as_blocks(data), start, rule=StageRule(), max_iter=5).components


def by_purification(data, start, **options):
    return purification(as_blocks(data), start, max_iter=5, tol=0, **options).components


@pytest.mark.parametrize(("draw", "solve"), [(topics, by_and), (features, by_purification)])
@few
@given(seed=seeds)
def test_order_of_rows_columns_and_components_does_not_matter(draw, solve, seed):
    sample, start = draw(seed)
    rng = np.random.default_rng(seed)
    rows, columns, order = map(rng.permutation, (*sample.data.shape, len(start)))
    usual = solve(sample.data, start)
    other = solve(sample.data[np.ix_(rows, columns)], start[np.ix_(order, columns)])
    np.testing.assert_allclose(other, usual[np.ix_(order, columns)], atol=1e-7 * usual.max())


@few
@given(seeds)
def test_scales_of_rows_and_of_the_start_do_not_matter_to_and(seed):
    sample, start = topics(seed)
    rng = np.random.default_rng(seed)
    usual = by_and(sample.data, start)
    scales = rng.uniform(0.1, 10, (150, 1)), rng.uniform(0.1, 10, (5, 1))
    other = by_and(sample.data * scales[0], start * scales[1])
    unit = [c / np.linalg.norm(c, axis=1, keepdims=True) for c in (usual, other)]
    np.testing.assert_allclose(unit[1], unit[0], atol=1e-7)


@few
@given(seed=seeds, power=st.integers(-12, 12))
def test_the_unit_of_the_data_does_not_matter_to_purification(seed, power):
    sample, start = features(seed)
    usual = by_purification(sample.data, start, balance=True)
    other = by_purification(2.0**power * sample.data, 2.0**power * start, balance=True)
    np.testing.assert_allclose(other / 2.0**power, usual, atol=1e-9)


@given(seed=seeds, level=st.floats(0, 1), kind=st.sampled_from(["min-inf", "moore-penrose"]))
@settings(max_examples=40, deadline=None)
def test_no_noise_moves_a_decoded_weight_beyond_the_bound(seed, level, kind):
    sample, _ = features(seed)
    rng = np.random.default_rng(seed)
    noise = level * rng.choice([-1.0, 0.0, 1.0], size=sample.data.shape)
    inverse = left_inverse(sample.components, kind)
    decoded = relu_decode(sample.weights @ sample.components + noise, inverse.rows, 0.0)
    moved = np.abs(decoded - sample.weights).max()
    assert moved <= level * inverse.infinity_norm + 1e-9
