import numpy as np
import pytest

from provenmf.certificate.measurement import Fit
from provenmf.data import LocalRows, as_blocks
from provenmf.datasets.purification import (
    noisy_sample,
    orthogonal_array_weights,
    overlapping_features,
    sample_purification,
)
from provenmf.linalg.left_inverse import least_infinity_inverse
from provenmf.methods.purification.guarantee import (
    certify,
    correlations_and_chance,
)
from provenmf.results import Factorization


def record(sample, **changes):
    parts = dict(method="purification", weights=sample.weights, components=sample.components)
    return Factorization(**(parts | changes))


def check(certificate, name, theorem=""):
    (found,) = [c for c in certificate.checks if c.name == name and c.theorem.endswith(theorem)]
    return found


@pytest.fixture
def sample():
    weights = orthogonal_array_weights(5, 11, hits=3)
    components = overlapping_features(5, 40, random_state=0)
    return noisy_sample(weights, components, noise="unbiased", noise_level=0.01, random_state=1)


def test_the_models_parameters_are_measured(sample):
    found = certify(Fit(as_blocks(sample.data), record(sample))).measures
    for name in ("C1", "c2", "C2"):
        assert found[name] == pytest.approx(5 * 3 / 11)
    assert found["C_nu"] == pytest.approx(0.01)
    norm = least_infinity_inverse(sample.components).infinity_norm
    assert found["inverse_infinity_norm"] == pytest.approx(norm)
    assert found["moore_penrose_infinity_norm"] >= norm


def test_ratios_are_the_conditions_of_the_theorems(sample):
    found = certify(Fit(as_blocks(sample.data), record(sample)))
    c1 = c2 = 5 * 3 / 11
    norm = found.measures["inverse_infinity_norm"]
    spread = max(40, 5 * norm)
    for name, theorem, expected in (
        ("adversarial noise", "Thm 1", 0.01 * spread),
        ("unbiased noise", "Thm 2", 0.01 * spread / np.sqrt(5)),
        ("adversarial noise", "Thm 6", 0.01 * max(40, 5 * norm * c1)),
        ("unbiased noise", "Thm 7", 0.01 * spread / np.sqrt(5)),
        ("sparsity C1^3/(c2^2 k)", "Thm 6, 7", c2 / 5),
    ):
        one = check(found, name, theorem)
        assert one.status == "unknown" and one.value == pytest.approx(expected)


def test_unequal_proportions_fail_and_equal_ones_hold(sample):
    name = "balanced proportions C2/c2"
    assert check(certify(Fit(as_blocks(sample.data), record(sample))), name).status == "holds"
    rare = sample_purification(5000, 30, 3, sparsity=[0.1, 1.0, 1.0], random_state=2)
    found = check(certify(Fit(as_blocks(rare.data), record(rare))), name)
    assert found.status == "fails" and found.value > 2


def test_correlated_weights_are_noticed_and_independent_ones_not_called_so(sample):
    name = "uncorrelated weights (A2)"
    assert check(certify(Fit(as_blocks(sample.data), record(sample))), name).status == "unknown"
    weights = np.random.default_rng(3).dirichlet(np.ones(5), 2000)
    mixed = noisy_sample(weights, sample.components)
    assert check(certify(Fit(as_blocks(mixed.data), record(mixed))), name).status == "fails"


def test_dependent_or_idle_features_are_named(sample):
    components = sample.components.copy()
    components[2] = components[0] + components[4]
    found = certify(Fit(as_blocks(sample.data), record(sample, components=components)))
    assert found.checks[0].status == "unknown" and "0, 2, 4" in found.checks[0].note
    components[2] = 0
    found = certify(Fit(as_blocks(sample.data), record(sample, components=components)))
    assert found.checks[0].status == "fails" and "2" in found.checks[0].note
    weights = sample.weights.copy()
    weights[:, 3] = 0
    found = certify(Fit(as_blocks(sample.data), record(sample, weights=weights)))
    assert found.checks[1].status == "fails" and "3" in found.checks[1].note


@pytest.mark.parametrize("rate", [3e-4, 1e-3, 1e-2, 0.3])
def test_independent_rare_weights_are_not_called_correlated(sample, rate):
    """A few coincidences of rare weights are large correlations, and chance all the same."""
    rng = np.random.default_rng(7)
    for _ in range(10):
        weights = (rng.random((3000, 5)) < rate) * rng.exponential(size=(3000, 5))
        weights[:2] = rng.random((2, 5))  # every feature appears
        data = weights @ sample.components
        found = certify(Fit(as_blocks(data), record(sample, weights=weights)))
        assert check(found, "uncorrelated weights (A2)").status == "unknown"


def test_chance_is_bounded_for_any_two_columns_in_random_order():
    """The bound against what shuffling does: exceeded at most as often as it says."""
    rng = np.random.default_rng(8)
    for draw in (rng.random, rng.standard_exponential, lambda s: rng.random(s) < 0.05):
        columns = np.asarray(draw((40, 2)), dtype=float)
        columns[0] = 1.0, 1.0
        exceeded = 0
        for _ in range(400):
            shuffled = np.column_stack([columns[:, 0], rng.permutation(columns[:, 1])])
            found, chance = correlations_and_chance(LocalRows.of(shuffled), 0.1)
            exceeded += int((found > chance).any())
        assert exceeded <= 40
