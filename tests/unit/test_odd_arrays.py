"""Arrays of every kind that a user may have: the same numbers give the same answer or one error."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from provenmf import HALS, SPA, certify, choose_rank, diagnose, find_parts, stability
from provenmf.data import as_blocks
from provenmf.errors import InvalidInput
from provenmf.linalg.storage import numbers
from provenmf.methods import CATALOGUE, make_estimator

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
    "a generator": iter,  # made anew for each use, as a generator can be used up once
    "records": np.zeros((5, 1), dtype=[("a", "f8"), ("b", "f8")]),
    "rows of different lengths": [[1, 2], [3]],
    "dates": np.zeros((3, 3), "M8[s]"),
    "a frame of dates": pd.DataFrame({name: pd.date_range("2020", periods=5) for name in "ab"}),
    "times": np.ones((3, 3), "m8[s]"),
    "a series": pd.Series(X[0]),
    "a sparse series": pd.Series(X[0]).astype(pd.SparseDtype(float, 0.0)),
    "a frame without columns": pd.DataFrame(index=range(5)),
    "integers of 5000 digits": np.array([[10**5000, 1], [1, 2]], dtype=object),
}


def with_wide_indices(rows):
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


ZEROS_LEFT_OUT = pd.SparseDtype(float, 0.0)
SOME = np.where(X > 20, X, 0.0) / 7  # sums of these round
# The same numbers in other memory, each with the plain container whose bits it must give.
ELSEWHERE = {
    "columns together": (np.asfortranarray(SOME), SOME),
    "strided": (np.repeat(np.repeat(SOME, 2, axis=0), 3, axis=1)[::2, ::3], SOME),
    "backwards": (SOME[::-1, ::-1].copy()[::-1, ::-1], SOME),
    "frame": (pd.DataFrame(SOME), SOME),
    "frame, ones left out": (pd.DataFrame(SOME).astype(pd.SparseDtype(float, 1.0)), SOME),
    "frame, sparse": (pd.DataFrame(SOME).astype(ZEROS_LEFT_OUT), sp.csr_array(SOME)),
    "wide indices": (with_wide_indices(sp.csr_array(SOME)), sp.csr_array(SOME)),
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
        lambda data: HALS(2, known_components=data).fit(X),
        lambda data: SPA(2, vertices=True, row_errors=data).fit(X),
        lambda data: choose_rank(data, [1, 2]),
        lambda data: stability(SPA(2), data, n_resamples=2),
        parts,
    ],
    ids=["X", "init", "fixed", "row_errors", "choose_rank", "stability", "parts"],
)
def test_what_is_no_array_of_numbers_is_refused(kind, use):
    data = REFUSED[kind]
    with pytest.raises(InvalidInput):
        use((row for row in X) if data is iter else data)


@pytest.mark.parametrize("kind", ELSEWHERE)
@pytest.mark.parametrize("method", sorted(CATALOGUE))
def test_the_memory_of_the_data_does_not_change_a_bit(method, kind):
    """numpy and BLAS add up in the order of the memory, and sums round by it."""
    found, expected = (
        make_estimator(method, 2, random_state=0, certify=False).fit(data).factorization_
        for data in ELSEWHERE[kind]
    )
    assert found.components.tobytes() == expected.components.tobytes()
    assert found.weights.tobytes() == expected.weights.tobytes()


def test_a_frame_of_sparse_columns_is_a_sparse_matrix():
    frame = pd.DataFrame(SOME, columns=list("abcdef")).astype(ZEROS_LEFT_OUT)
    blocks = as_blocks(frame)
    assert blocks.is_sparse
    assert blocks.stored_entries == np.count_nonzero(SOME)
    model = SPA(2).fit(frame)
    assert model.feature_names_in_.tolist() == list("abcdef")
    record = model.factorization_
    assert certify(frame, record) == certify(sp.csr_array(SOME), record)


def test_a_column_may_be_called_sparse():
    """pandas then finds the column where others find what frames of sparse columns can do."""
    frame = pd.DataFrame(X, columns=["sparse", "dtype", *"abcd"])
    np.testing.assert_array_equal(SPA(2).fit(frame).components_, SPA(2).fit(X).components_)


@pytest.mark.parametrize("kind", ODD)
def test_advice_is_given_wherever_a_fit_is(kind):
    assert str(diagnose(ODD[kind])) == str(diagnose(ODD[kind] if sp.issparse(ODD[kind]) else X))


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
