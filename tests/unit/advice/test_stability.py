"""Real components come back from other rows and seeds; bounds on new rows cover them."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import HALS, SPA, conformal_residual, load, stability
from provenmf.advice.stability import matched, residual_bound, rows_needed, silhouette
from provenmf.errors import InvalidInput


def planted(k=3, noise=0.01):
    rng = np.random.default_rng(0)
    product = rng.gamma(0.3, size=(80, k)) @ rng.gamma(0.3, size=(k, 20))
    return product + noise * rng.random((80, 20))


@pytest.fixture(scope="module")
def found():
    return stability(HALS(3), planted(), n_resamples=6)


def test_planted_components_come_back(found):
    assert found.is_stable.all() and found.silhouette > 0.9
    assert (found.lowest <= found.agreement).all()
    cosines = np.sum(found.consensus * found.factorization.components, axis=1)
    lengths = np.linalg.norm(found.consensus, axis=1) ** 2
    assert (cosines / lengths > 0.99).all()  # at the scale of the components


def test_too_many_components_do_not():
    many = stability(HALS(8, tol=1e-3), planted(noise=0.1), n_resamples=6)
    assert not many.is_stable.all() and many.silhouette < 0.8


def test_the_certificate_keeps_the_estimate(found, tmp_path):
    estimate = found.factorization.certificate.estimates["agreement_of_components_over_resamples"]
    assert estimate.value == found.lowest.min()
    assert estimate.confidence == pytest.approx(6 / 7)
    found.factorization.save(tmp_path / "stable.npz")
    again = load(tmp_path / "stable.npz").certificate
    assert again.estimates == found.factorization.certificate.estimates


def test_words_and_numbers(found):
    assert "3 of 3 components are stable: 6 resamples" in str(found)
    assert "Component 3" in found._repr_html_()
    assert len(found.to_dict()["agreement"]) == 3


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


def test_matching_by_hand():
    components = np.eye(3)
    swapped = np.array([[0, 2.0, 0], [5.0, 0, 0]])  # one is missing
    cosines, counterparts = matched(components, [swapped, np.eye(3)[::-1]])
    np.testing.assert_allclose(cosines, [[1, 1, 0], [1, 1, 1]])
    np.testing.assert_array_equal(counterparts[0], [[5, 0, 0], [0, 2, 0], [0, 0, 0]])
    assert silhouette(np.stack([np.eye(3), np.eye(3)])) == 1.0
    assert silhouette(np.ones((4, 1, 3))) is None


@pytest.mark.parametrize("options", [{"n_resamples": 0}, {"share": 0.0}, {"share": 1.5}])
def test_bad_settings_are_named(options):
    with pytest.raises(InvalidInput, match=f"{next(iter(options))}=.* must be"):
        stability(HALS(2), planted(), **options)


def rows(rng, count, components, noise=0.05):
    return rng.dirichlet(np.ones(3), count) @ components + noise * rng.random((count, 10))


def test_coverage():
    """Over many draws a new row is covered with the stated probability, no more than by ties."""
    rng = np.random.default_rng(0)
    covered = [
        residual_bound(sample[:-1], 0.8) >= sample[-1] for sample in rng.random((4000, 20)) ** 2
    ]
    assert 0.78 < np.mean(covered) < 0.83


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_fewest_rows(confidence):
    needed = rows_needed(confidence)
    assert residual_bound(np.arange(float(needed)), confidence) == needed - 1
    with pytest.raises(IndexError):
        residual_bound(np.arange(needed - 1.0), confidence)


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_new_rows_are_within(relative, storage):
    rng = np.random.default_rng(1)
    components = rng.random((3, 10))
    data = rows(rng, 400, components)
    fitted, estimate = conformal_residual(
        SPA(3), storage(data), confidence=0.9, relative=relative, random_state=0
    )
    new = rows(rng, 500, components)
    residuals = np.linalg.norm(new - fitted.transform(new) @ fitted.components_, axis=1)
    if relative:
        residuals /= np.linalg.norm(new, axis=1)
    assert np.mean(residuals <= estimate.value) > 0.82
    assert len(fitted.factorization_.weights) == 300
    name = "relative_residual_of_a_new_row" if relative else "residual_of_a_new_row"
    assert fitted.certificate_.estimates[name] == estimate
    assert fitted.factorization_.certificate == fitted.certificate_


def test_the_estimator_is_not_changed():
    estimator = HALS(2, certify=False, random_state=0)
    data = np.random.default_rng(0).random((60, 8))
    fitted, _ = conformal_residual(estimator, data, confidence=0.8, random_state=0)
    assert not hasattr(estimator, "components_") and list(fitted.certificate_.estimates)


@pytest.mark.parametrize(
    "options", [{"confidence": 1.0}, {"held_out": 0.0}, {"confidence": 0.99, "held_out": 0.2}]
)
def test_what_cannot_be_bounded_is_refused(options):
    with pytest.raises(InvalidInput, match=r"confidence|held_out"):
        conformal_residual(SPA(2), np.ones((30, 4)), **options)


def test_one_row_is_too_few():
    with pytest.raises(InvalidInput, match=r"rows kept aside and others to fit.* 1 of 1"):
        conformal_residual(SPA(1), np.ones((1, 4)), confidence=0.4)


def test_rows_without_a_known_residual_are_refused():
    with pytest.raises(InvalidInput, match="missing entries"):
        conformal_residual(HALS(1, random_state=0), np.full((10, 2), np.nan), confidence=0.5)
