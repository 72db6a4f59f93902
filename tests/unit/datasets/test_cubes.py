import numpy as np
import pytest

from provenmf.datasets.cubes import mixed_cube
from provenmf.errors import InvalidInput


def test_a_cube_is_its_mixture_plus_noise_of_the_stated_size():
    made = mixed_cube(50, 40, 30, 3, snr=20.0, noise_range=8.0, random_state=0)
    signal = made.abundances @ made.endmembers
    left = made.cube.reshape(2000, 30) - signal
    np.testing.assert_allclose(left.std(axis=0), made.noise, rtol=0.1)
    assert 10 * np.log10((signal**2).sum() / (left**2).sum()) == pytest.approx(20, abs=0.2)
    assert 2 < made.noise.max() / made.noise.min() <= 8
    np.testing.assert_allclose(made.abundances.sum(axis=1), 1)
    assert made.endmembers.min() > 0 and made.endmembers.max() < 1


def test_pure_pixels_are_as_many_as_asked_for():
    made = mixed_cube(20, 20, 30, 3, pure_share=0.1, random_state=1)
    assert np.count_nonzero(made.abundances.max(axis=1) == 1) == 40
    none = mixed_cube(20, 20, 30, 3, pure_share=0.0, most=0.8, random_state=1)
    assert none.abundances.max() <= 0.8


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"n_endmembers": 11}, "n_endmembers=11"),
        ({"noise_range": 0.5}, "noise_range"),
        ({"pure_share": -0.1}, "pure_share"),
        ({"most": 0.2}, "most=0.2 must be more"),
        ({"most": 0.5001, "n_endmembers": 2, "concentration": 0.01}, "too rare"),
    ],
)
def test_what_cannot_be_made_is_refused(options, match):
    given = {"n_endmembers": 4, **options}
    with pytest.raises(InvalidInput, match=match):
        mixed_cube(10, 10, 10, random_state=0, **given)
