"""Missing entries: left out of every sum, in every storage, and never claimed to be known."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from provenmf import ANLS, HALS, factorize
from provenmf.data.memory import ObservedBlocks, observed_entries
from provenmf.errors import DegenerateData, InvalidInput

BOTH = pytest.mark.parametrize("kind", [HALS, ANLS])


def planted(share=0.3, n=60, d=20, k=3, noise=0.0):
    rng = np.random.default_rng(0)
    full = rng.gamma(0.5, size=(n, k)) @ rng.gamma(0.5, size=(k, d)) + noise * rng.random((n, d))
    holes = full.copy()
    holes[rng.random(full.shape) < share] = np.nan
    return full, holes


def relative(residual, data):
    return np.linalg.norm(residual) / np.linalg.norm(data)


@BOTH
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_missing_entries_are_recovered(kind, share):
    full, holes = planted(share)
    model = kind(3, random_state=0, tol=1e-6).fit(holes)
    rebuilt = model.inverse_transform(model.transform(holes))
    missing = np.isnan(holes)
    assert relative((full - rebuilt)[missing], full[missing]) < 0.02


def test_stored_entries_are_ratings():
    """Zeros that are stored count, those that are not are missing."""
    _, holes = planted()
    holes[np.random.default_rng(1).random(holes.shape) < 0.1] = 0.0
    rows, columns = np.nonzero(~np.isnan(holes))
    pointers = np.concatenate([[0], np.cumsum((~np.isnan(holes)).sum(axis=1))])
    ratings = sp.csr_array((holes[rows, columns], columns, pointers), shape=holes.shape)
    stored, plain = HALS(3, random_state=0, unstored="missing"), HALS(3, random_state=0)
    plain.fit(holes)
    np.testing.assert_array_equal(stored.fit(ratings).components_, plain.components_)
    np.testing.assert_array_equal(stored.transform(ratings), plain.transform(holes))
    assert stored.score(ratings) == plain.score(holes)
    assert stored.factorization_.fingerprint == plain.factorization_.fingerprint
    ratings.data[3] = np.nan  # missing as well
    assert np.isfinite(stored.fit(ratings).components_).all()


@BOTH
def test_errors_never_increase_and_are_over_the_observed(kind):
    _, holes = planted(noise=0.1)
    model = kind(3, random_state=0).fit(holes)
    errors = model.trace_["relative_error"]
    assert (np.diff(errors) <= 0).all()
    seen = ~np.isnan(holes)
    left = (holes - model.factorization_.weights @ model.components_)[seen]
    assert model.reconstruction_err_ == pytest.approx(np.linalg.norm(left))
    assert model.score(holes) == pytest.approx(-np.mean(left**2))
    assert model.certificate_.measures["relative_error"] == pytest.approx(
        relative(left, holes[seen])
    )


def test_the_certificate_claims_nothing_of_missing_entries():
    _, holes = planted(noise=0.1)
    model = HALS(3, random_state=0, tol=1e-7, max_iter=2000).fit(holes)
    status = {check.name: check.status for check in model.certificate_.checks}
    assert status["entries that are missing"] == "unknown"
    assert status["distance to the best rank-k error"] == "unknown"
    assert status["first-order conditions"] == "holds"
    assert not {"relative_error_lower_bound", "weight_amplification"} & (
        model.certificate_.bounds.keys()
    )
    assert "% of the entries are missing" in model.certificate_.verdict
    spoilt = HALS(3, random_state=0, max_iter=1, tol=0, init="random").fit(holes)
    assert dict((c.name, c.status) for c in spoilt.certificate_.checks)[
        "first-order conditions"
    ] == "fails"  # fmt: skip


def test_complete_rows_give_a_floor_that_is_true():
    rng = np.random.default_rng(3)
    X = rng.random((30, 8))
    X[:6, 2] = np.nan
    model = HALS(3, random_state=0).fit(X)
    values = np.linalg.svd(X[6:], compute_uv=False)
    floor = np.sqrt((values[3:] ** 2).sum()) / np.linalg.norm(X[~np.isnan(X)])
    assert model.certificate_.bounds["relative_error_lower_bound"] == pytest.approx(floor)
    assert floor <= model.certificate_.measures["relative_error"]


def test_the_start_sees_gaps_filled_by_the_means_of_row_and_column():
    _, holes = planted()
    means = np.outer(np.nanmean(holes, axis=1), np.nanmean(holes, axis=0)) / np.nanmean(holes)
    found = ObservedBlocks(observed_entries(holes, False)).filled().everything()
    np.testing.assert_allclose(found, np.where(np.isnan(holes), means, holes))


def test_an_empty_column_is_said():
    _, holes = planted()
    holes[:, 4] = np.nan
    with pytest.warns(DegenerateData, match="1 column has no observed entry"):
        model = HALS(3, random_state=0).fit(holes)
    assert np.isfinite(model.components_).all()


def test_gaps_of_sparse_data_are_refused_unless_asked_for():
    _, holes = planted()
    with pytest.raises(InvalidInput, match="sparse and contains NaN"):
        HALS(3).fit(sp.csr_array(holes))


def test_nothing_observed_is_no_crash():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (DegenerateData))
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = HALS(2, random_state=0).fit(np.full((5, 4), np.nan))
    assert not model.factorization_.weights.any()


def test_factorize_takes_hals_and_asks_for_the_number():
    _, holes = planted()
    found = factorize(holes, 3, random_state=0)
    assert found.method == "hals" and "HALS" in found.notes[0]
    with pytest.raises(InvalidInput, match="entries are missing.*give n_components"):
        factorize(holes)


def test_entries_that_are_clipped_are_observed_zeros():
    X = np.random.default_rng(0).random((8, 5))
    X[2, 3] = -0.5
    given = {"clip_negative": True, "random_state": 0, "certify": False, "max_iter": 20}
    with pytest.warns(DegenerateData, match="1 negative entries"):
        stored = HALS(2, unstored="missing", **given).fit(sp.csr_array(X))
        dense = HALS(2, **given).fit(X)
    assert stored.reconstruction_err_ == pytest.approx(dense.reconstruction_err_, rel=1e-9)
