"""What must not matter to Purification: order, scale, blocks; and what must hold for all data."""

import numpy as np
from hypothesis import given, settings, strategies as st

from provenmf.data import as_blocks
from provenmf.datasets.purification import sample_purification, warm_start
from provenmf.linalg.left_inverse import left_inverse
from provenmf.methods.purification.kernels import relu_decode
from provenmf.methods.purification.solver import purification

seeds = st.integers(0, 10_000)


def small(seed):
    sample = sample_purification(
        300,
        24,
        4,
        sparsity=1.5,
        values="uniform",
        noise="unbiased",
        noise_level=0.005,
        random_state=seed,
    )
    return sample, warm_start(sample.components, mixing=0.3, random_state=seed)


def components(data, start, **options):
    return purification(as_blocks(data), start, max_iter=5, tol=0, **options).components


@given(seed=seeds)
@settings(max_examples=15, deadline=None)
def test_order_of_rows_columns_and_features_does_not_matter(seed):
    sample, start = small(seed)
    rng = np.random.default_rng(seed)
    rows, columns, features = (rng.permutation(n) for n in (*sample.data.shape, 4))
    usual = components(sample.data, start)
    other = components(sample.data[rows][:, columns], start[features][:, columns])
    np.testing.assert_allclose(other, usual[features][:, columns], atol=1e-7)


@given(seed=seeds, power=st.integers(-12, 12))
@settings(max_examples=15, deadline=None)
def test_the_unit_of_the_data_does_not_matter(seed, power):
    sample, start = small(seed)
    unit = 2.0**power
    usual = components(sample.data, start, balance=True)
    other = components(unit * sample.data, unit * start, balance=True)
    np.testing.assert_allclose(other / unit, usual, atol=1e-9)


@given(seed=seeds, level=st.floats(0, 1), kind=st.sampled_from(["min-inf", "moore-penrose"]))
@settings(max_examples=40, deadline=None)
def test_no_noise_moves_a_decoded_weight_beyond_the_bound(seed, level, kind):
    sample, _ = small(seed)
    rng = np.random.default_rng(seed)
    noise = level * rng.choice([-1.0, 0.0, 1.0], size=sample.data.shape)
    inverse = left_inverse(sample.components, kind)
    decoded = relu_decode(sample.weights @ sample.components + noise, inverse.rows, 0.0)
    moved = np.abs(decoded - sample.weights).max()
    assert moved <= level * inverse.infinity_norm + 1e-9
