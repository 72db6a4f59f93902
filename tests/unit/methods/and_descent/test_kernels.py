import numpy as np
import pytest

from provenmf.methods.and_descent.estimator import require_independent
from provenmf.methods.and_descent.kernels import (
    after_all_gradient_steps,
    after_gradient_steps,
    decoder_of,
)


def problem(rng, n=40, k=5, d=7, rank=None):
    weights = rng.random((n, k))
    if rank is not None:
        weights[:, rank:] = 0.0
    data = rng.standard_normal((n, d))
    return weights.T @ weights, weights.T @ data, rng.standard_normal((k, d))


def literal_steps(start, cross, gram, step_size, steps):
    current = start.copy()
    for _ in range(steps):
        current = current + step_size * (cross - gram @ current)
    return current


@pytest.mark.parametrize("steps", [1, 2, 50, 1000])
@pytest.mark.parametrize("share", [1e-9, 0.3, 1.0, 1.7])
def test_closed_form_equals_the_loop(steps, share):
    gram, cross, start = problem(np.random.default_rng(0))
    step_size = share / np.linalg.eigvalsh(gram)[-1]
    expected = literal_steps(start, cross, gram, step_size, steps)
    found = after_gradient_steps(start, cross, gram, step_size=step_size, steps=steps)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_limit_solves_the_normal_equations_and_keeps_unused_components():
    gram, cross, start = problem(np.random.default_rng(2), rank=3)
    found = after_all_gradient_steps(start, cross, gram)
    np.testing.assert_allclose(gram @ found, cross, atol=1e-9)
    np.testing.assert_array_equal(found[3:], start[3:])


@pytest.mark.parametrize("shape", [(3, 8), (8, 8), (9, 4)])
def test_decoder_is_the_pseudo_inverse(shape):
    components = np.random.default_rng(4).standard_normal(shape)
    decoder, _ = decoder_of(components)
    np.testing.assert_allclose(decoder, np.linalg.pinv(components), atol=1e-12)


def test_decoder_of_dependent_components_is_finite_and_says_so():
    components = np.random.default_rng(5).standard_normal((4, 9))
    components[3] = components[0] + components[1]
    decoder, independence = decoder_of(components)
    np.testing.assert_allclose(decoder, np.linalg.pinv(components, rcond=1e-10), atol=1e-10)
    assert independence < 1e-14
    with pytest.raises(ValueError, match="init has linearly dependent rows"):
        require_independent(components, "init")
