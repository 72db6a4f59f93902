"""Components with one maximum, and negative entries set to zero on request."""

import numpy as np
import pytest
from sklearn.isotonic import isotonic_regression

from provenmf import ANLS, HALS
from provenmf.errors import DegenerateData, InvalidInput
from provenmf.methods.alternating.unimodal import unimodal_fit
from provenmf.metrics.recovery import compare_endmembers


def has_one_maximum(sequence):
    signs = np.sign(np.diff(sequence))
    return (np.diff(signs[signs != 0]) <= 0).all()


@pytest.mark.parametrize("seed", range(10))
def test_the_projection_is_the_best_of_all_places_of_the_maximum(seed):
    values = np.random.default_rng(seed).standard_normal(12) + 0.3
    candidates = [
        np.r_[
            isotonic_regression(values[:place], y_min=0) if place else [],
            isotonic_regression(values[place:], y_min=0, increasing=False) if place < 12 else [],
        ]
        for place in range(13)
    ]
    least = min(((fit - values) ** 2).sum() for fit in candidates if has_one_maximum(fit))
    found = unimodal_fit(values)
    assert has_one_maximum(found) and (found >= 0).all()
    assert ((found - values) ** 2).sum() == pytest.approx(least)


def run_of_three(noise=0.005):
    """Spectra (3, 30) and elution profiles (3, 100) that overlap."""
    times, bands = np.arange(100.0), np.linspace(0, 1, 30)
    profiles = np.exp(-0.5 * ((times - [[35], [47], [60]]) / [[5], [6], [5]]) ** 2)
    spectra = np.exp(-0.5 * ((bands - [[0.2], [0.4], [0.7]]) / 0.2) ** 2)
    data = spectra.T @ profiles
    return data + noise * np.random.default_rng(0).standard_normal(data.shape), profiles, spectra


@pytest.mark.parametrize("kind", [HALS, ANLS])
@pytest.mark.parametrize("constraint", ["nonnegative", "simplex"])
def test_profiles_have_one_maximum_and_are_those_of_the_compounds(kind, constraint):
    data, profiles, _ = run_of_three()
    model = kind(3, unimodal=True, constraint=constraint, clip_negative=True, random_state=0)
    with pytest.warns(DegenerateData, match=r"negative entries .* were set to zero"):
        model.fit(data)
    assert all(has_one_maximum(component) for component in model.components_)
    assert (np.diff(model.trace_["relative_error"]) <= 0).all()
    if constraint == "nonnegative":
        assert compare_endmembers(model.components_, profiles).mean_angle < 0.1
    assert model.certificate_.checks[0].status == "unknown"


def test_known_profiles_stay_and_the_others_have_one_maximum():
    data, profiles, _ = run_of_three()
    model = HALS(3, unimodal=True, known_components=profiles[:1], random_state=0)
    model.fit(np.maximum(data, 0))
    np.testing.assert_array_equal(model.components_[0], profiles[0])
    assert all(has_one_maximum(component) for component in model.components_)


def test_what_is_refused():
    data = run_of_three()[0]
    with pytest.raises(InvalidInput, match="Negative values .*clip_negative=True"):
        HALS(3).fit(data)
    data[0, 0] = np.nan
    with pytest.raises(InvalidInput, match="unimodal=True cannot be combined with missing"):
        HALS(3, unimodal=True, clip_negative=True).fit(data)
