"""Dual ascent of MERIT against the definition of the charges."""

import numpy as np
import pytest

from provenmf.methods.merit import kernels


def charges_of(products, levels):
    return np.maximum(levels[:, None] - products, 0).sum(axis=0)


def test_add_charges():
    rng = np.random.default_rng(0)
    products, levels = rng.standard_normal((9, 5)), rng.standard_normal(9)
    charges = np.ones(5)
    kernels.add_charges_in_place(products, levels, charges)
    np.testing.assert_allclose(charges, 1 + charges_of(products, levels), atol=1e-13)


def plain_raise(products, levels, slack, fraction):
    """Each row in turn goes up by a fraction of the least room that any column leaves it."""
    levels, slack = levels.copy(), slack.copy()
    for row, prices in enumerate(products):
        before = np.maximum(levels[row] - prices, 0)
        allowed = (np.maximum(prices - levels[row], 0) + slack).min()
        if allowed > 0:
            levels[row] += fraction * allowed
            slack -= np.maximum(levels[row] - prices, 0) - before
    return levels, slack


def test_raise_levels():
    rng = np.random.default_rng(1)
    products, levels = rng.standard_normal((9, 5)), rng.standard_normal(9) - 1
    lam = charges_of(products, levels).max() + 0.3
    slack = lam - charges_of(products, levels)
    expected, left = plain_raise(products, levels, slack, 0.5)
    found = levels.copy()
    kernels.raise_levels_in_place(products, found, slack, 0.5)
    np.testing.assert_allclose(found, expected, atol=1e-13)
    np.testing.assert_allclose(slack, left, atol=1e-13)
    assert (found > levels).any()
    np.testing.assert_allclose(slack, lam - charges_of(products, found), atol=1e-12)
    assert slack.min() >= -1e-12  # no column is overcharged: the levels still prove the bound


def test_add_margins():
    rng = np.random.default_rng(2)
    products, margins = rng.standard_normal((9, 5)), np.ones(5)
    total = kernels.add_margins_in_place(products, margins)
    ordered = np.sort(products, axis=1)
    assert total == pytest.approx(ordered[:, 0].sum())
    expected = np.ones(5)
    np.add.at(expected, products.argmin(axis=1), ordered[:, 1] - ordered[:, 0])
    np.testing.assert_allclose(margins, expected, atol=1e-13)
