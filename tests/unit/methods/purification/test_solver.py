import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.data import as_blocks
from provenmf.datasets.purification import (
    noisy_sample,
    orthogonal_array_weights,
    overlapping_features,
    sample_purification,
    warm_start,
)
from provenmf.errors import DegenerateData, InvalidInput
from provenmf.linalg.left_inverse import mixing_of
from provenmf.methods.purification.kernels import pair_moments, relu_decode
from provenmf.methods.purification.solver import (
    Rule,
    purification,
)


@pytest.fixture
def sample():
    return sample_purification(
        400,
        30,
        4,
        sparsity=1.5,
        values="uniform",
        noise="unbiased",
        noise_level=0.01,
        random_state=0,
    )


@pytest.fixture
def start(sample):
    return warm_start(sample.components, mixing=0.3, outside=0.1, random_state=1)


def pair_expectation(data, weights):
    """Ê[(y − y′)(x − x′)ᵀ] over all n² ordered pairs, as the paper writes it."""
    total = np.zeros((weights.shape[1], data.shape[1]))
    for y, x in zip(data, weights):
        total += (x - weights).T @ (y - data)
    return total / len(data) ** 2


@pytest.mark.parametrize("as_data", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("block_rows", [7, 400])
def test_twice_the_covariance_is_the_expectation_over_pairs(sample, start, as_data, block_rows):
    state = Rule(alpha=0.05).first(as_blocks(sample.data), start)
    weights = relu_decode(sample.data, state.inverse.rows, 0.05)
    blocks = as_blocks(as_data(sample.data), block_rows=block_rows)
    found = pair_moments(blocks, state.inverse.rows, state.threshold)
    np.testing.assert_allclose(found.update, pair_expectation(sample.data, weights), atol=1e-13)
    np.testing.assert_allclose(found.squares, (weights**2).mean(axis=0))


def test_one_iteration_is_the_formula_of_the_paper(sample, start):
    blocks = as_blocks(sample.data)
    state = Rule(alpha=0.05).first(blocks, start)
    following, _ = Rule(alpha=0.05, r=3.0, step_size=0.25).after(blocks, state)
    weights = relu_decode(sample.data, state.inverse.rows, 0.05)
    expected = 0.75 * start + 3.0 * 0.25 * pair_expectation(sample.data, weights)
    np.testing.assert_allclose(following.components, expected, atol=1e-12)
    assert following.scaling == 3.0 and following.threshold == 0.05


@pytest.mark.parametrize("kind", ["min-inf", "moore-penrose"])
def test_features_are_purified_from_a_bad_start(kind):
    weights = orthogonal_array_weights(7, 7, hits=2)
    sample = noisy_sample(weights, overlapping_features(7, 60, random_state=4))
    start = warm_start(sample.components, mixing=1.0, random_state=5)
    found = purification(
        as_blocks(sample.data), start, Rule(kind), truth=sample.components, tol=1e-9
    )
    assert found.stop_reason == "converged"
    assert found.trace["truth_mixing"][-1] < 1e-7
    assert found.trace["truth_outside"][-1] < 1e-10


def test_scales_settle_where_the_variances_of_decoded_weights_agree():
    """σ² = r·2Var(x) in the coordinates that are iterated: [A D][D⁻¹x], D² = E[x²] if balanced."""
    sparsity = np.array([0.3, 0.8, 1.5, 2.5])
    sample = sample_purification(20_000, 40, 4, sparsity=sparsity, random_state=7)
    start = warm_start(sample.components, random_state=8)
    variances, squares = sample.weights.var(axis=0), (sample.weights**2).mean(axis=0)
    for balance, expected in ((False, variances), (True, variances / squares)):
        found = purification(as_blocks(sample.data), start, balance=balance)
        ratios = mixing_of(found.components, sample.components).diagonal / np.sqrt(expected)
        assert ratios.max() < 1.05 * ratios.min(), balance


def test_a_threshold_that_leaves_rounding_leaves_nothing():
    """Rows that are features decode to one; α = 1 then refused sparse data and took dense ones."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        start = rng.random((2, 8))
        data = np.vstack([np.eye(2), rng.dirichlet(np.ones(2), 20)]) @ start
        for matrix in (data, sp.csr_array(data)):
            blocks = as_blocks(matrix)
            inverse = Rule().first(blocks, start).inverse.rows
            assert not pair_moments(blocks, inverse, 1.0).squares.any(), seed
            assert not relu_decode(matrix, inverse, 1.0).any(), seed
            with pytest.raises(InvalidInput, match="do not vary"):
                purification(blocks, start, Rule(alpha=1.0))


def test_dependent_starts_are_refused_by_name(sample, start):
    start[3] = start[1] - 2 * start[0]
    with pytest.raises(InvalidInput, match="components 0, 1, 3 are linearly dependent"):
        purification(as_blocks(sample.data), start)


def test_weights_that_sum_to_one_end_with_a_warning_and_the_last_good_features():
    rng = np.random.default_rng(9)
    components = rng.random((2, 8))
    data = rng.dirichlet([0.5, 0.5], 200) @ components
    with pytest.warns(DegenerateData, match="components 0, 1"):
        found = purification(as_blocks(data), components)
    assert found.stop_reason == "features_became_dependent"
    assert np.isfinite(found.components).all()


def test_data_that_say_nothing_are_refused(sample, start):
    for data, words in (
        (sample.data[:1], "n_samples=1: X must have"),
        (np.ones((20, 30)), "do not vary"),
        (np.zeros((20, 30)), "do not vary"),
    ):
        with pytest.raises(InvalidInput, match=words):
            purification(as_blocks(data), start)
    for value in np.random.default_rng(0).random(30):  # whatever rounding makes of equal rows
        for dtype in (np.float64, np.float32):
            equal = as_blocks(np.full((12, 1), value, dtype=dtype))
            with pytest.raises(InvalidInput, match="do not vary"):
                purification(equal, np.ones((1, 1)), Rule(alpha=0.0))
    with pytest.raises(InvalidInput, match="alpha must leave some weights"):
        purification(as_blocks(sample.data), start, Rule(alpha=100.0))
