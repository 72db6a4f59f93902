"""Weights never move further than the bound says, for the transform that is used."""

from fractions import Fraction

import numpy as np
import pytest

from provenmf.certificate import optimality
from provenmf.certificate.measurement import Fit
from provenmf.data import as_blocks
from provenmf.linalg.nnls import encoder
from provenmf.results import Factorization

NAME = "weight_amplification"


def bound_of(data, components, constraint):
    weights = encoder(components, data.dtype, constraint)(data)
    return optimality.certify_weights(
        Fit(as_blocks(data), Factorization("x", weights, components), constraint)
    )


@pytest.mark.parametrize("constraint", ["nonnegative", "simplex"])
@pytest.mark.parametrize("scale", [1e-40, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_no_pair_of_rows_beats_the_bound(constraint, scale, seed):
    rng = np.random.default_rng(seed)
    components = scale * rng.random((4, 9)) * rng.choice([1e-3, 1.0], (4, 1))
    rows = scale * rng.standard_normal((300, 9))
    moved = rows + scale * rng.standard_normal((300, 9)) * 10.0 ** rng.uniform(-6, 1, (300, 1))
    factor = bound_of(rows, components, constraint).bounds[NAME]
    change = encoder(components, rows.dtype, constraint)(rows)
    change = change - encoder(components, moved.dtype, constraint)(moved)
    most = factor * np.linalg.norm(rows - moved, axis=1)
    assert (np.linalg.norm(change, axis=1) <= most * (1 + 1e-6) + 1e-9).all()


def test_the_bound_is_reached():
    components = np.diag([1.0, 0.25])
    row = np.array([[1.0, 1.0]])
    factor = bound_of(row, components, "nonnegative").bounds[NAME]
    moved = encoder(components, row.dtype)(row + [[0.0, 0.1]]) - encoder(components, row.dtype)(row)
    assert np.linalg.norm(moved) / 0.1 == pytest.approx(factor, rel=1e-9)


@pytest.mark.parametrize("constraint", ["nonnegative", "simplex"])
def test_dependent_components_have_no_stable_weights(constraint):
    rng = np.random.default_rng(0)
    first, second = rng.random((2, 6))
    components = np.array([first, second, (first + second) / 2])
    found = bound_of(rng.random((20, 6)), components, constraint)
    assert NAME not in found.bounds and found.checks[0].status == "unknown"
    assert "nearly combinations" in found.verdict


def test_affine_independence_is_enough_on_the_simplex():
    corners = np.array([[0.0], [1.0]])
    rows = np.array([[0.3], [2.0]])
    assert bound_of(rows, corners, "simplex").bounds[NAME] == pytest.approx(np.sqrt(2))
    assert NAME not in bound_of(rows, corners, "nonnegative").bounds


@pytest.mark.parametrize("constraint", ["nonnegative", "simplex"])
@pytest.mark.parametrize("power", [-400, 200])
def test_the_bound_follows_the_scale_of_the_data(constraint, power):
    """Beyond the safe range the unit of the measurement was counted twice."""
    rng = np.random.default_rng(0)
    rows, components = rng.random((20, 6)), rng.random((3, 6))
    here = bound_of(rows, components, constraint)
    weights = encoder(components, rows.dtype, constraint)(rows)
    blocks = as_blocks(rows * 2.0**power)
    record = Factorization("x", weights, components * 2.0**power)
    there = optimality.certify_weights(Fit(blocks, record, constraint))
    assert there.bounds[NAME] == pytest.approx(here.bounds[NAME] / 2.0**power, rel=1e-9)
    assert there.checks[0].value == pytest.approx(here.checks[0].value, rel=1e-9)


def test_components_that_nearly_agree_lose_digits_on_the_simplex():
    """Their difference is rounded like the components, not like itself."""
    components = np.array(
        [
            [8.88445827323947e-12, 4.088819611426375e-17, 3.9311180246898343e-16],
            [8.856744330987265e-12, 1.0194583488942849e-16, 0.0],
        ]
    )
    first, second = ([Fraction(float(v)) for v in row] for row in components)
    squared = sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) / 2
    bounds = bound_of(components, components, "simplex").bounds
    assert 1 / Fraction(bounds[NAME]) ** 2 <= squared


def test_components_that_repeat_have_no_unique_weights():
    rows = np.random.default_rng(0).random((5, 4))
    found = bound_of(rows, rows[[0, 1, 1]], "nonnegative")
    assert found.checks[0].status == "fails" and "not unique" in found.verdict
