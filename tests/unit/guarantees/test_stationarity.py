"""The first-order certificate: holds at a stationary point, fails elsewhere."""

import numpy as np

from provenmf.blocks import as_blocks
from provenmf.guarantees.fit import Fit
from provenmf.guarantees.stationarity import certify, components_residual
from provenmf.records import Factorization


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
