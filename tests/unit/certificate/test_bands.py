"""Bands hold every other factorization, and for two components they are exact."""

import numpy as np
import pytest

from provenmf.certificate.ambiguity import other_factors
from provenmf.certificate.bands import change_at_most
from provenmf.certificate.rigidity import Entries
from provenmf.certificate.uniqueness import examine
from provenmf.data import LocalRows


def sums_of_one(rows):
    return rows / rows.sum(axis=1, keepdims=True)


def changes(components, others):
    """Half the sum of absolute differences of each component to each of the others."""
    left, right = sums_of_one(components), sums_of_one(others)
    return np.abs(left[:, None] - right[None]).sum(axis=2) / 2


def two_parts(seed):
    rng = np.random.default_rng(seed)
    return rng.random((20, 2)) + 0.05, rng.random((2, 9)) + 0.05


def closed_form(weights, components):
    """The largest change of each of two components, from the ratios that stay nonnegative."""
    found = []
    for i in (0, 1):
        here, other = components[i], components[1 - i]
        away = here - (here / other).min() * other
        towards = here + (weights[:, 1 - i] / weights[:, i]).min() * other
        found.append(changes(here[None], np.vstack([away, towards])).max())
    return np.array(found)


@pytest.mark.parametrize("seed", range(12))
def test_two_components_have_their_feasible_bands(seed):
    weights, components = two_parts(seed)
    bound = change_at_most(Entries(weights, components))
    exact = closed_form(weights, components)
    assert (bound >= exact * (1 - 1e-12)).all()
    np.testing.assert_allclose(bound, exact, rtol=1e-6)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("k", [3, 4])
def test_other_factorizations_stay_inside(seed, k):
    rng = np.random.default_rng(seed)
    weights = np.vstack([np.eye(k) + 0.05, rng.dirichlet(np.full(k, 0.3), 40) + 0.01])
    components = rng.random((k, 12)) * (rng.random((k, 12)) > 0.3) + 0.02
    bound = change_at_most(Entries(weights, components))
    others = other_factors(weights, components)
    if bound is None or others is None:
        pytest.skip("no bands or no other parts")
    moved = np.diag(changes(components, others[1]))
    assert (moved <= bound).all() and moved.max() > 0


def test_parts_that_are_unique_do_not_change():
    rng = np.random.default_rng(0)
    weights = np.vstack([np.eye(3), rng.dirichlet(np.ones(3), 10)])
    components = np.hstack([np.eye(3), rng.random((3, 4))])
    assert change_at_most(Entries(weights, components)).max() < 1e-9


def test_components_that_cannot_be_told_apart_have_no_bands():
    """No row says which new component belongs to which old one."""
    weights = np.tile([[1.0, 1.0, 1.0]], (5, 1)) + 0.01 * np.random.default_rng(0).random((5, 3))
    components = np.random.default_rng(1).random((3, 8)) + 0.5
    assert change_at_most(Entries(weights, components)) is None


def test_scale_does_not_matter():
    weights, components = two_parts(3)
    scale = np.array([3.7, 2e-9])
    bound = change_at_most(Entries(weights, components))
    scaled = change_at_most(Entries(weights / scale, components * scale[:, None]))
    np.testing.assert_allclose(scaled, bound, rtol=1e-6)


def test_examine_reports_bands_where_parts_are_not_unique():
    weights, components = two_parts(0)
    found = examine(LocalRows.of(weights), components)
    assert found.ambiguity is not None and 0 < found.change.max() < 1
    assert (
        examine(LocalRows.of(weights), components, affords=lambda seconds: seconds < 0.01).change
        is None
    )
