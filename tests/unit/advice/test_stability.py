"""Real components come back from other rows and seeds."""

import numpy as np
import pytest

from provenmf import HALS, SPA, stability
from provenmf.errors import InvalidInput


def planted(k=3, noise=0.01):
    rng = np.random.default_rng(0)
    product = rng.gamma(0.3, size=(80, k)) @ rng.gamma(0.3, size=(k, 20))
    return product + noise * rng.random((80, 20))


@pytest.fixture(scope="module")
def found():
    return stability(HALS(3), planted(), n_resamples=6)


def test_planted_components_come_back(found):
    assert found.is_stable.all()
    assert (found.lowest <= found.agreement).all()


def test_too_many_components_do_not():
    many = stability(HALS(8, tol=1e-3), planted(noise=0.1), n_resamples=6)
    assert not many.is_stable.all()


def test_words_and_numbers(found):
    assert "3 of 3 components are stable: 6 resamples" in str(found)
    assert "Component 3" in found._repr_html_()


def test_the_same_answer_twice_and_progress():
    seen = []
    one = stability(SPA(3), planted(), n_resamples=4, progress=lambda *done: seen.append(done))
    two = stability(SPA(3), planted(), n_resamples=4)
    np.testing.assert_array_equal(one.agreement, two.agreement)
    assert sorted(seen) == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_missing_entries():
    X = planted()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    assert stability(HALS(3), X, n_resamples=3).is_stable.all()


@pytest.mark.parametrize("options", [{"n_resamples": 0}, {"share": 0.0}, {"share": 1.5}])
def test_bad_settings_are_named(options):
    with pytest.raises(InvalidInput, match=f"{next(iter(options))}=.* must be"):
        stability(HALS(2), planted(), **options)
