"""The bound on new rows covers them as often as it says, and components never saw those rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import HALS, SPA, conformal_residual
from provenmf.advice.new_rows import residual_bound, rows_needed
from provenmf.errors import InvalidInput


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
