"""What a certificate says about uniqueness, and when it must not say anything."""

import numpy as np
import pytest

from provenmf import HALS, InvalidInput, certify, factorize
from provenmf.certificate import uniqueness
from provenmf.certificate.measurement import Fit
from provenmf.certificate.rigidity import Entries
from provenmf.certificate.uniqueness import EVERYWHERE, NEARBY, examine, turn
from provenmf.data import LocalRows, as_blocks
from provenmf.results import Factorization

SEPARABLE = np.vstack([np.eye(3), np.full((2, 3), 1 / 3)])
SPREAD = np.hstack([np.eye(3), np.ones((3, 2))])


def certificate_of(weights, components):
    blocks = as_blocks(weights @ components)
    return uniqueness.certify(Fit(blocks, Factorization("hals", weights, components)))


def statuses(certificate):
    return [check.status for check in certificate.checks if check.name in (EVERYWHERE, NEARBY)]


def test_unique_parts():
    certificate = certificate_of(SEPARABLE, SPREAD)
    assert statuses(certificate) == ["holds", "holds"]
    assert certificate.bounds["unique_components"] == 3
    assert 0 < certificate.bounds["other_fit_mixing"] < 1
    assert "unique" in certificate.verdict


def test_parts_that_can_be_mixed():
    components = SPREAD.copy()
    components[0] = 1.0
    certificate = certificate_of(SEPARABLE, components)
    assert statuses(certificate) == ["fails", "fails"]
    assert certificate.measures["component_turn_degrees"][0] > 1
    assert "not unique" in certificate.verdict


def test_a_component_may_be_unique_alone():
    found = examine(LocalRows.of(SEPARABLE), np.vstack([SPREAD[:2], np.ones(5)]))
    assert found.in_all == 2
    assert (found.turned[:2] == 0).all() and found.turned[2] > 1


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scale_does_not_matter(scale, dtype):
    if dtype == np.float32:
        scale = scale ** (1 / 5)
    sizes = np.array([scale, 1.0, 1 / scale], dtype=dtype)
    found = examine(
        LocalRows.of((SEPARABLE * sizes).astype(dtype)), (SPREAD / sizes[:, None]).astype(dtype)
    )
    here = examine(LocalRows.of(SEPARABLE), SPREAD)
    assert found.everywhere and found.reach == pytest.approx(here.reach, rel=0.5)


@pytest.mark.parametrize(
    "weights, components, reason",
    [
        (SEPARABLE, -SPREAD, "negative"),
        (SEPARABLE * [1, 1, 0], SPREAD, "no weight"),
        (SEPARABLE[:, [0, 1, 1]], SPREAD, "independent"),
        (SEPARABLE * np.nan, SPREAD, "finite"),
        (np.ones((5, 31)), np.ones((31, 5)), "beyond"),
    ],
)
def test_unknown_with_its_reason(weights, components, reason):
    found = examine(LocalRows.of(weights), components)
    assert reason in found.reason and not found.everywhere and found.reach is None
    blocks = as_blocks(np.ones((5, 5)))
    factorization = Factorization("hals", weights, components)
    certificate = uniqueness.certify(Fit(blocks, factorization))
    assert statuses(certificate) == ["unknown", "unknown"] and not certificate.bounds


def test_one_part_is_unique():
    assert "The component is unique" in certificate_of(np.ones((4, 1)), np.ones((1, 3))).verdict
    assert examine(LocalRows.of(np.ones((4, 1))), np.ones((1, 3))).everywhere


def test_a_fit_leaves_out_what_takes_longer_than_it():
    rng = np.random.default_rng(0)
    matrix = rng.random((3000, 20)) @ rng.random((20, 30))
    quick = factorize(matrix, 20, method="spa")
    in_the_fit = {check.name: check for check in quick.certificate.checks}[NEARBY]
    assert in_the_fit.status == "unknown" and 'certify="full"' in in_the_fit.note
    assert {c.name: c.status for c in certify(matrix, quick).checks}[NEARBY] == "fails"


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-16])
def test_zeros_that_rounding_unmakes_are_zeros(size):
    """A fit in another storage had 1e-16 in place of zeros, and another verdict."""
    moved = np.where(SEPARABLE == 0, size, SEPARABLE)
    assert examine(LocalRows.of(moved), SPREAD) == examine(LocalRows.of(SEPARABLE), SPREAD)


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
    assert check.status == "fails" and "Another fit" in check.in_words and turned.max() >= 5


def test_the_same_fit_agrees_a_worse_one_says_nothing_another_rank_is_refused():
    first = fitted(0)
    found = certify(ROWS, first, others=[first])
    assert found.checks[-1].status == "holds" and max(found.measures["other_fit_turn_degrees"]) == 0
    worse = HALS(3, init="random", random_state=5, max_iter=1, tol=0, certify=False)
    found = certify(ROWS, first, others=[worse.fit(ROWS).factorization_])
    assert found.checks[-1].status == "unknown"
    with pytest.raises(InvalidInput, match="2 components"):
        certify(ROWS, first, others=[fitted(0, k=2)])


@pytest.mark.parametrize("k, zeros", [(2, 0.0), (3, 0.1), (4, 0.1)])
def test_parts_that_turn_keep_the_product_and_stay_nonnegative(k, zeros):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        entries = Entries(
            rng.random((12, k)) * (rng.random((12, k)) >= zeros),
            rng.random((k, 7)) * (rng.random((k, 7)) >= zeros),
        )
        degrees, weights, components = turn(entries)
        np.testing.assert_allclose(weights @ components, entries.weights @ entries.plain)
        assert weights.min() >= 0 and components.min() >= 0
        units = [h / np.linalg.norm(h, axis=1, keepdims=True) for h in (components, entries.plain)]
        cosines = (units[0] * units[1]).sum(axis=1)
        np.testing.assert_allclose(
            np.degrees(np.arccos(np.minimum(cosines, 1))), degrees, atol=1e-5
        )
        assert zeros or degrees.max() > 1


def test_two_parts_turn_as_far_as_they_can():
    """For two parts the feasible sets are intervals, known in closed form (Lawton 1971)."""
    components = np.array([[3.0, 1.0, 0.0, 1.0], [1.0, 2.0, 2.0, 1.0]])
    weights = np.array([[0.8, 0.2], [0.3, 0.7]])
    first, row = components[0], weights[0] @ components
    cosine = row @ first / (np.linalg.norm(row) * np.linalg.norm(first))
    degrees = turn(Entries(weights, components))[0]
    assert degrees[0] == pytest.approx(np.degrees(np.arccos(cosine)), rel=0.01)
