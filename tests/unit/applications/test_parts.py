import numpy as np
import pytest
from sklearn.datasets import load_digits

from provenmf import load
from provenmf.applications import find_parts
from provenmf.errors import InvalidInput


def test_parts_of_digits(tmp_path):
    digits = load_digits().images[:200]
    result = find_parts(digits, 6, method="spa")
    assert result.parts.shape == (6, 8, 8)
    assert result.parts.min() >= 0 and result.parts.max() == pytest.approx(1.0)
    assert result.weights.shape == (200, 6)
    rebuilt = result.weights @ result.factorization.components
    assert np.linalg.norm(rebuilt - digits.reshape(200, 64) / 16) < 0.6 * np.linalg.norm(
        digits / 16
    )
    result.save(tmp_path / "r.npz")
    loaded = load(tmp_path / "r.npz")
    assert loaded == result and loaded.kind == "parts" and loaded.image_shape == (8, 8)
    assert loaded.share.sum() == pytest.approx(1.0)
    assert loaded.notes == ("pixels were divided by their largest value 16",)


def test_one_image_has_no_parts():
    with pytest.raises(InvalidInput, match="there is one image"):
        find_parts(np.ones((1, 2, 2)), 1, method="spa")


def test_numbers_of_parts():
    with pytest.raises(InvalidInput, match="n_parts=5 must be at least 1 and at most the 3 images"):
        find_parts(np.ones((3, 2, 2)), 5)


def test_and_comes_as_near_as_any_components_can():
    digits = load_digits().images[:300]
    result = find_parts(digits, 8, method="and_descent", random_state=0).factorization
    assert result.parameters["init"] == "random-rows"
    measures, bounds = result.certificate.measures, result.certificate.bounds
    assert measures["relative_error"] < 1.01 * bounds["relative_error_lower_bound"]
    given = find_parts(digits, 8, method="and_descent", init="spa", certify=False).factorization
    assert given.parameters["init"] == "spa"
    default = find_parts(digits, 8).factorization
    assert default.components.min() >= 0
    assert default.certificate.measures["relative_error"] > measures["relative_error"]
