"""Scaling by powers of two keeps every digit and never leaves the range."""

from fractions import Fraction

import numpy as np
import pytest

from provenmf.certificate.rigidity import balanced_factors


@pytest.mark.parametrize(
    "of_weights, of_components", [(1.0, 1.0), (1e300, 1e-300), (1e-200, 1e250)]
)
def test_factors_are_multiples_of_the_given_ones(of_weights, of_components):
    rng = np.random.default_rng(0)
    weights, components = of_weights * rng.random((6, 3)), of_components * rng.random((3, 5))
    weights[0, 1] = components[2, 3] = 0
    weights[4] = 0
    scaled = balanced_factors(weights, components)
    assert ((scaled.components.max(axis=1) >= 0.5) & (scaled.components.max(axis=1) < 1)).all()
    assert scaled.component_columns.max() < 1 and scaled.weight_rows.max() < 1
    for part in range(3):
        shrink = Fraction(scaled.components[part, 0]) / Fraction(components[part, 0])
        for column in range(5):
            assert Fraction(scaled.components[part, column]) == shrink * Fraction(
                components[part, column]
            )
    for row in (0, 1, 2, 3, 5):
        ratios = {
            Fraction(scaled.weight_rows[row, part])
            * Fraction(scaled.components[part, 0])
            / (Fraction(weights[row, part]) * Fraction(components[part, 0]))
            for part in range(3)
            if weights[row, part] > 0
        }
        assert len(ratios) == 1
    assert not scaled.weight_rows[4].any()
