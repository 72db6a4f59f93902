"""The advisor finds planted numbers and admits when it does not know."""

import json
import warnings

import numpy as np
import pytest

from provenmf import diagnose
from provenmf.advice.diagnose import Diagnosis
from provenmf.advice.number import Spectrum, spectrum_of
from provenmf.data import as_blocks
from provenmf.datasets.purification import sample_purification
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.errors import InvalidInput
from provenmf.results import Certificate

NOTHING = Spectrum(np.ones(1), np.ones(0))


def narrow_cones(k=4, per_cone=20, d=12, spread=1e-3):
    rng = np.random.default_rng(0)
    axes = np.repeat(np.eye(k, d), per_cone, axis=0)
    return (axes + spread * rng.random(axes.shape)) * rng.uniform(1, 2, (len(axes), 1))


def test_planted_cones_are_found_and_certified():
    diagnosis = diagnose(narrow_cones(), methods=("cones", "spa"))
    assert diagnosis.n_components == 4
    assert diagnosis.recommended == "cones"
    assert diagnosis.certificates["cones"].bounds["relative_error"] < 0.05
    text = str(diagnosis)
    assert "ConeNMF" in text and max(map(len, text.splitlines())) <= 80
    assert json.loads(json.dumps(diagnosis.to_dict()))["recommended"] == "cones"


def test_pure_noise_is_not_settled():
    noise = np.random.default_rng(1).random((60, 10))
    diagnosis = diagnose(noise, methods=("cones",))
    assert not diagnosis.agreed and diagnosis.n_components > 1
    assert diagnosis.recommended is None and "No method" in str(diagnosis)
    assert "the data alone do not determine it" in str(diagnosis)
    asked = diagnose(noise, 9, methods=("cones",))
    assert asked.n_components == 9 and "as given" in str(asked)


def test_the_floor_and_errors_above_one_are_shown():
    certificates = {
        "spa": Certificate(
            "spa",
            bounds={"relative_error_lower_bound": 0.125},
            measures={"relative_error": 2.62},
        )
    }
    text = str(Diagnosis((156, 9025), NOTHING, 3, False, certificates, {}))
    assert "floor" in text and "0.125" in text
    assert "SPA fits worse than all zeros would" in text
    assert "--transpose" in text  # wide data are noticed
    assert max(map(len, text.splitlines())) <= 80
    assert "--transpose" not in str(Diagnosis((9025, 156), NOTHING, 3, False, {}, {}))


def test_a_spectrum_is_clear_if_only_noise_follows():
    def clear(*ratios, last=1.0):
        values = np.array([9.0, *[1.0] * len(ratios), last])
        found = Spectrum(values, np.array(ratios))
        return found.above if found.is_clear else None

    assert clear(3, 2, 2, 0.9, 0.8, 1.0) == 3
    assert clear(1.0, 2, 2, 0.9, 0.8, 1.0) == 3  # the mean may hide in noise
    assert clear(3, 2, 1.0, 2, 0.9, 0.8) is None
    assert clear(3, 2, 2, 0.9, 1.05) is None
    assert clear(3, 2, 2) is None and clear(3, 0.9, 0.9) is None and clear(0.9, 0.9) is None
    X = np.random.default_rng(1).random((12, 40))
    assert not spectrum_of(as_blocks(X)).is_clear and spectrum_of(as_blocks(X)).likeliest > 1
    one_direction = spectrum_of(as_blocks(np.outer(np.arange(1.0, 13), np.arange(1.0, 41))))
    assert one_direction.is_clear and one_direction.above == 1


def test_a_method_that_refuses_is_listed():
    diagnosis = diagnose(narrow_cones() - 0.5, 4, methods=("cones", "spa"))
    assert "egative" in diagnosis.refusals["cones"] and "spa" in diagnosis.certificates


def test_an_unknown_method_is_an_error_and_one_name_is_enough():
    with pytest.raises(InvalidInput, match="magic"):
        diagnose(narrow_cones(), methods=("cones", "magic"))
    assert list(diagnose(narrow_cones(), 4, methods="spa").certificates) == ["spa"]
    assert "ConeNMF applies" in str(diagnose(narrow_cones(), methods=["ConeNMF"]))


def test_missing_values_are_named():
    data = narrow_cones()
    data[3, 2] = np.nan
    with pytest.raises(InvalidInput, match=r"missing \(NaN\).* fill them, or give n_components"):
        diagnose(data)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1)])
def test_tiny_data(shape):
    assert diagnose(np.ones(shape), methods=("spa",)).n_components == 1


def test_data_of_zeros_are_refused():
    with pytest.raises(InvalidInput, match="no entry that is not zero"):
        diagnose(np.zeros((5, 4)))


def test_an_error_near_the_floor_is_said_without_a_proof():
    """Conditions of SPA cannot be established under noise; its error near the floor can be seen."""
    sample = dirichlet_mixtures(n_rows=120, n_columns=20, n_components=3, snr=30, random_state=1)
    found = diagnose(np.maximum(sample.data, 0), 3, methods=["cones", "spa"])
    assert found.recommended is None
    assert "SPA fits the data by its error alone" in " ".join(str(found).split())
    noise = np.random.default_rng(0).random((60, 20)) ** 4
    assert "error alone" not in str(diagnose(noise, 3, methods=["cones", "spa"]))


def test_hals_is_compared_with_the_methods_that_have_a_theory():
    made = sample_purification(200, 30, 4, random_state=0)
    found = diagnose(np.maximum(made.data, 0), 4)
    text = str(found)
    assert "AND fits the data by its error alone" in " ".join(text.split())
    assert text.count("hals") == 1 and max(map(len, text.splitlines())) <= 80
    assert found.to_dict()["certificates"]["hals"]["measures"]["relative_error"] < 1e-2


def test_squares_that_overflow_are_refused_before_they_are_formed():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvalidInput, match="outside 1e-60 to 1e60"):
            diagnose(1e200 * np.random.default_rng(0).random((9, 4)))
