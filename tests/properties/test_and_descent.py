"""AND does not care how rows, columns and components are ordered and scaled."""

import numpy as np
from hypothesis import given, settings, strategies as st

from provenmf.data import as_blocks
from provenmf.datasets.and_descent import sample_dirichlet, start_nearby, topic_components
from provenmf.methods.and_descent.solver import StageRule, and_descent

seeds = st.integers(0, 2**31)
few = settings(max_examples=15, deadline=None)


def problem(seed):
    topics = topic_components(5, 20, random_state=seed)
    data = sample_dirichlet(150, topics, random_state=seed).data
    return data, start_nearby(topics, random_state=seed)


def solve(data, start, **rule):
    return and_descent(as_blocks(data), start, rule=StageRule(**rule), max_iter=5).components


@few
@given(seeds)
def test_permutations(seed):
    data, start = problem(seed)
    rng = np.random.default_rng(seed)
    rows, columns, order = rng.permutation(150), rng.permutation(20), rng.permutation(5)
    usual = solve(data, start)
    other = solve(data[np.ix_(rows, columns)], start[np.ix_(order, columns)])
    np.testing.assert_allclose(other, usual[np.ix_(order, columns)], atol=1e-7 * usual.max())


@few
@given(seeds)
def test_scales_of_rows_and_of_the_start_do_not_matter_when_normalized(seed):
    data, start = problem(seed)
    rng = np.random.default_rng(seed)
    usual = solve(data, start)
    other = solve(data * rng.uniform(0.1, 10, (150, 1)), start * rng.uniform(0.1, 10, (5, 1)))
    unit = [c / np.linalg.norm(c, axis=1, keepdims=True) for c in (usual, other)]
    np.testing.assert_allclose(unit[1], unit[0], atol=1e-7)
