"""The first-order certificate: holds at a stationary point, fails elsewhere."""

import numpy as np
import pytest

from provenmf.certificate.measurement import Fit
from provenmf.data import as_blocks
from provenmf.methods.alternating.guarantee import certify, components_residual
from provenmf.results import Factorization


def test_holds_for_an_exact_factorization_and_fails_away_from_it():
    rng = np.random.default_rng(0)
    weights, components = rng.random((30, 3)), rng.random((3, 10))
    blocks = as_blocks(weights @ components)
    exact = certify(Fit(blocks, Factorization("hals", weights, components)))
    assert exact.checks[0].status == "holds"
    worse = certify(Fit(blocks, Factorization("hals", weights, 0.9 * components)))
    assert worse.checks[0].status == "fails"
    assert worse.measures["components_optimality_residual"] > 1e-3


def test_components_at_zero_may_have_a_positive_gradient():
    data = np.array([[1.0, 0.0], [0.0, 1.0]])
    exact = Fit(as_blocks(data), Factorization("hals", data, data))
    assert components_residual(exact) == 0.0
    pushed = Factorization("hals", np.ones((2, 1)), np.array([[0.5, 0.0]]))
    assert components_residual(Fit(as_blocks(data), pushed)) > 0.1


def test_scale_of_a_component_does_not_decide():
    """A component times 1e-4, its weights times 1e4: the same fit failed once and held once."""
    rng = np.random.default_rng(1)
    data = rng.random((40, 12))
    weights, components = rng.random((40, 3)), rng.random((3, 12))
    for j, factor in ((0, 1e-4), (1, 1e4), (2, 1e-12)):
        scaled, shrunk = weights.copy(), components.copy()
        scaled[:, j], shrunk[j] = scaled[:, j] / factor, shrunk[j] * factor
        one = certify(Fit(as_blocks(data), Factorization("hals", weights, components)))
        two = certify(Fit(as_blocks(data), Factorization("hals", scaled, shrunk)))
        assert two.checks[0].status == one.checks[0].status == "fails"
        assert two.checks[0].value == pytest.approx(one.checks[0].value, rel=1e-6)


def test_weights_that_are_nearly_zero_count_as_zero():
    """At a minimum with a positive gradient, a weight of 1e-12 in place of 0 changes nothing."""
    data = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    weights = np.array([[1.0, 1e-12], [1e-12, 1.0], [1.0, 1e-12]])
    found = certify(Fit(as_blocks(data), Factorization("hals", weights, np.eye(2) + 0.0)))
    assert found.checks[0].status == "holds"
