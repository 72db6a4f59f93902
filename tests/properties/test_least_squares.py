"""Constrained least squares on small integer problems: every kind of degeneracy comes up."""

import numpy as np
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from provenmf.linalg.nnls import nonnegative_least_squares, simplex_least_squares


@st.composite
def integer_problems(draw):
    k, d, n = draw(st.integers(1, 6)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    entries = st.integers(-3, 3)
    components = draw(arrays(np.int64, (k, d), elements=entries))
    data = draw(arrays(np.int64, (n, d), elements=entries))
    return components.astype(float), data.astype(float)


@settings(max_examples=200, deadline=None)
@given(integer_problems())
def test_weights_satisfy_the_optimality_conditions(problem):
    components, data = problem
    gram, cross = components @ components.T, data @ components.T
    weights = nonnegative_least_squares(gram, cross)
    descent = cross - weights @ gram
    assert weights.min() >= 0
    assert descent.max() <= 1e-9
    assert np.abs((weights * descent).sum(axis=1)).max() <= 1e-9
    weights = simplex_least_squares(gram, cross)
    descent = cross - weights @ gram
    frank_wolfe_gap = descent.max(axis=1) - (weights * descent).sum(axis=1)
    assert weights.min() >= 0
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-12)
    assert frank_wolfe_gap.max() <= 1e-9
