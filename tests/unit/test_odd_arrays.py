"""Arrays of every kind that a user may have: the same numbers give the same answer or one error."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from provenmf import HALS, SPA, choose_rank, find_parts, stability
from provenmf.errors import InvalidInput
from provenmf.io.arrays import numbers

X = np.random.default_rng(0).integers(1, 50, (20, 6)).astype(float)
ODD = {
    "pandas integers": pd.DataFrame(X).astype("Int64"),
    "pandas floats": pd.DataFrame(X).astype("Float64"),
    "objects": X.astype(object),
    "decimals": np.array([[Decimal(int(entry)) for entry in row] for row in X]),
    "fractions": np.array([[Fraction(int(entry)) for entry in row] for row in X]),
    "nothing masked": np.ma.masked_array(X),
    "lists": X.tolist(),
    "sparse": sp.csr_array(X),
}
REFUSED = {
    "a set": {1, 2},
    "a dictionary": {"a": [1, 2]},
    "a generator": (row for row in X),
    "records": np.zeros((5, 1), dtype=[("a", "f8"), ("b", "f8")]),
    "rows of different lengths": [[1, 2], [3]],
    "dates": np.zeros((3, 3), "M8[s]"),
    "a frame of dates": pd.DataFrame({name: pd.date_range("2020", periods=5) for name in "ab"}),
    "times": np.ones((3, 3), "m8[s]"),
}


def parts(data):
    return find_parts(data, 2, shape=(2, 3), method="spa").components


@pytest.mark.parametrize("kind", ODD)
def test_the_same_numbers_give_the_same_answer(kind):
    np.testing.assert_array_equal(numbers(ODD[kind], "X"), X)
    np.testing.assert_array_equal(SPA(2).fit(ODD[kind]).components_, SPA(2).fit(X).components_)
    np.testing.assert_array_equal(parts(ODD[kind]), parts(X))


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize(
    "use",
    [
        lambda data: SPA(2).fit(data),
        lambda data: HALS(2, init=data).fit(X),
        lambda data: HALS(2, fixed_components=data).fit(X),
        lambda data: SPA(2, vertices=True, row_errors=data).fit(X),
        lambda data: choose_rank(data, [1, 2]),
        lambda data: stability(SPA(2), data, n_resamples=2),
        parts,
    ],
    ids=["X", "init", "fixed", "row_errors", "choose_rank", "stability", "parts"],
)
def test_what_is_no_array_of_numbers_is_refused(kind, use):
    with pytest.raises(InvalidInput):
        use(REFUSED[kind])


def test_masked_entries_are_missing_and_never_used():
    """numpy drops the mask, and what lay under it was factorized."""
    hidden = np.random.default_rng(1).random(X.shape) < 0.1
    masked = np.ma.masked_array(np.where(hidden, 1e6, X), hidden)
    with_gaps = np.where(hidden, np.nan, X)
    options = {"max_iter": 20, "tol": 0.0, "random_state": 0}
    found = HALS(2, **options).fit(masked)
    np.testing.assert_array_equal(found.components_, HALS(2, **options).fit(with_gaps).components_)
    with pytest.raises(InvalidInput, match="NaN"):
        SPA(2).fit(masked)
    with pytest.raises(InvalidInput, match="missing pixels"):
        parts(masked)
    whole = np.ma.masked_array(X.astype(np.int64), hidden)
    np.testing.assert_array_equal(numbers(whole, "X"), with_gaps)


def test_entries_that_pandas_lacks_are_missing():
    frame = pd.DataFrame(X).astype("Int64")
    frame.iloc[3, 2] = pd.NA
    expected = X.copy()
    expected[3, 2] = np.nan
    np.testing.assert_array_equal(numbers(frame, "X"), expected)
