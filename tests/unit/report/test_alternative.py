"""Another factorization is drawn where there is one, and only there."""

from dataclasses import replace

import numpy as np

from provenmf import certify
from provenmf.report.alternative import other_parts
from provenmf.report.page import render
from provenmf.results import Factorization


def certified(weights, components):
    bare = Factorization("hals", weights, components)
    return replace(bare, certificate=certify(weights @ components, bare))


def test_positive_factors_have_others_which_are_drawn():
    rng = np.random.default_rng(0)
    fit = certified(rng.random((30, 3)) + 0.2, rng.random((3, 20)) + 0.2)
    (chart,) = other_parts(fit)
    found, other = (y for _, _, y in chart.figure.series)
    assert np.abs(found - other).max() > 0.01
    assert "same product" in render(fit)


def test_unique_parts_have_no_such_chart():
    fit = certified(
        np.vstack([np.eye(3), np.ones((2, 3))]), np.hstack([np.eye(3), np.ones((3, 2))])
    )
    assert other_parts(fit) == []
