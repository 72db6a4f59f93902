"""Other fits of the same data are shown as they are."""

import numpy as np
import pytest

from provenmf import HALS, InvalidInput, certify

WEIGHTS = np.random.default_rng(0).random((30, 3)) + 0.5
ROWS = WEIGHTS @ (np.random.default_rng(1).random((3, 8)) + 0.5)
ROWS = ROWS + 0.1 * np.random.default_rng(2).random(ROWS.shape)


def fitted(seed, rows=ROWS, k=3):
    return HALS(k, init="random", random_state=seed, certify=False).fit(rows).factorization_


def test_another_fit_with_other_parts_is_exhibited():
    """Dense factors: many parts fit these data, and restarts find others."""
    first, *others = (fitted(seed) for seed in range(3))
    found = certify(ROWS, first, others=others)
    check = next(c for c in found.checks if c.theorem == "exhibition")
    turned = np.array(found.measures["other_fit_turn_degrees"])
    angles = []
    for other in others:
        own, theirs = (
            c / np.linalg.norm(c, axis=1, keepdims=True)
            for c in (first.components, other.components)
        )
        angles.append(np.degrees(np.arccos(np.clip(own @ theirs.T, -1, 1))).min(axis=1))
    assert any(np.allclose(turned, angle, atol=1e-4) for angle in angles)
    if check.status == "fails":
        assert "Another fit" in check.in_words and turned.max() >= 5


def test_the_same_fit_says_that_parts_are_found_again():
    first = fitted(0)
    found = certify(ROWS, first, others=[first])
    assert found.checks[-1].status == "holds" and max(found.measures["other_fit_turn_degrees"]) == 0


def test_a_worse_fit_says_nothing():
    first = fitted(0)
    worse = HALS(3, init="random", random_state=5, max_iter=1, tol=0, certify=False)
    found = certify(ROWS, first, others=[worse.fit(ROWS).factorization_])
    assert found.checks[-1].status == "unknown"


def test_fits_of_another_rank_are_refused():
    with pytest.raises(InvalidInput, match="2 components"):
        certify(ROWS, fitted(0), others=[fitted(0, k=2)])
