"""The order of decay from counts over parts is that of the sorted weights."""

import math

import numpy as np
import pytest

from provenmf.data.parts import LocalParts
from provenmf.methods.and_descent import guarantee as decay
from provenmf.methods.and_descent.guarantee import NONZERO, decay_order

DRAWS = {
    "uniform": lambda rng, shape: rng.random(shape),
    "steep": lambda rng, shape: rng.random(shape) ** 4,
    "flat": lambda rng, shape: rng.random(shape) ** 0.2,
    "ties": lambda rng, shape: np.round(rng.random(shape), 1),
    "binary": lambda rng, shape: (rng.random(shape) < 0.5) * 1.0,
    "rare": lambda rng, shape: rng.random(shape) * (rng.random(shape) < 0.1),
    "nearly one": lambda rng, shape: 1 - 2.0**-45 * rng.random(shape),
}


def by_sorting(weights):
    order = math.inf
    for column in weights.T:
        values = np.sort(column[column > NONZERO])
        below = values[values < 1]
        shares = np.arange(1, len(below) + 1) / max(1, len(values))
        order = min(order, np.min(np.log(shares) / np.log(below), initial=math.inf))
    return max(order, 0.0)


def in_parts(weights, rng):
    parts = LocalParts()
    for part in np.split(weights, np.sort(rng.integers(0, len(weights) + 1, 4))):
        parts.append(part)
    return parts


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
@pytest.mark.parametrize("at_once", [1 << 20, 5])
def test_counts_find_the_least(draw, at_once, monkeypatch):
    monkeypatch.setattr(decay, "AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    for n in (1, 2, 50, 2000):
        weights = draw(rng, (n, 3))
        weights[0] = 1.0
        assert decay_order(weights) == by_sorting(weights)
        assert decay_order(in_parts(weights, rng)) == pytest.approx(by_sorting(weights), rel=1e-11)


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_what_is_reported_where_too_many_are_left_satisfies_the_condition(draw, monkeypatch):
    monkeypatch.setattr(decay, "AT_ONCE", 0)
    monkeypatch.setattr(decay, "ROUNDS", 2)
    rng = np.random.default_rng(1)
    weights = draw(rng, (1000, 2))
    weights[0] = 1.0
    assert 0 <= decay_order(in_parts(weights, rng)) <= by_sorting(weights)


def test_only_those_that_may_decide_are_brought(monkeypatch):
    brought, within = [], decay._within

    def counted(*arguments):
        found = within(*arguments)
        brought.append(len(found))
        return found

    monkeypatch.setattr(decay, "_within", counted)
    monkeypatch.setattr(decay, "AT_ONCE", 100)
    rng = np.random.default_rng(2)
    weights = rng.dirichlet(np.full(4, 0.3), 5000)
    weights /= weights.max(axis=0)
    assert decay_order(in_parts(weights, rng)) == by_sorting(weights)
    assert sum(brought) <= 100
