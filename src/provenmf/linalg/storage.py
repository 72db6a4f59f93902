"""Uniform access to dense and sparse blocks, and conversion of input matrices.

What a user gives is never changed: scipy sorts indices and merges repeated entries in place when it
needs them so, in arrays that a shallow copy shares with the user's matrix. `own_rows` makes a copy
where that would happen and shares the arrays where it cannot.

Numbers give the same bits in whatever dense or sparse container they come: sums round by the order
of their terms, which numpy and BLAS take from the memory. So `in_row_order` puts dense rows one
after the other, `own_rows` puts sparse ones in order, and `plain` takes a frame of sparse columns
for the sparse matrix that it is. Zeros that are stored stay: they may mean an observed entry.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Set
from decimal import Decimal
from numbers import Real
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.errors import InvalidInput

NUMBERS = "biuf"

# A block of rows, in single or double precision.
Matrix: TypeAlias = NDArray[np.floating] | sp.csr_array


def is_sparse(block: object) -> TypeGuard[sp.csr_array]:
    """Return whether a block is sparse."""
    return bool(sp.issparse(block))


def without_negative(block: Matrix) -> Any:
    """Return a block with negative entries set to zero; what is stored stays stored."""
    if not is_sparse(block):
        return np.maximum(block, 0)
    found = block.copy()
    np.maximum(found.data, 0, out=found.data)
    return found


def as_dense(block: Matrix) -> NDArray[Any]:
    """Return a dense or sparse block as an array; a dense one is not copied."""
    return block.toarray() if is_sparse(block) else np.asarray(block)


def stored_values(block: Matrix) -> NDArray[Any]:
    """Return the stored entries: all of a dense block, those of a sparse one."""
    return block.data if is_sparse(block) else np.asarray(block)


def float_type(dtype: np.dtype[Any], where: str = "X") -> np.dtype[Any]:
    """Return the type to compute in: single precision stays, all else becomes double."""
    if dtype.kind not in NUMBERS:
        raise InvalidInput(f"{where} holds {dtype} entries: real numbers are needed")
    single = dtype.kind == "f" and dtype.itemsize == 4
    return np.dtype(np.float32 if single else np.float64)


def plain(array: Any, where: str = "X") -> Any:
    """Convert or refuse inputs that numpy would misread.

    numpy ignores the mask of a masked array, takes a set, a dictionary or a generator for one
    entry and dates for numbers; arrays of records have no columns. A frame of sparse columns is a
    sparse matrix.
    """
    if sp.issparse(array):
        return array
    if isinstance(array, Mapping | Set | Iterator):
        raise InvalidInput(f"{where} is of type {type(array).__name__}: give an array")
    if isinstance(array, np.ndarray) and array.dtype.names:
        names = ", ".join(map(repr, array.dtype.names[:5]))
        raise InvalidInput(f"{where} has records with the fields {names}: give an array of numbers")
    kinds = _kinds(array)
    if any(getattr(kind, "kind", "") in ("M", "m") for kind in kinds):
        raise InvalidInput(f"{where} has dates or times: real numbers are needed")
    if isinstance(array, np.ma.MaskedArray):
        if not np.ma.is_masked(array):
            return array.data
        values = array.data.astype(np.float64) if array.dtype.kind in "biu" else array.data
        return np.where(np.ma.getmaskarray(array), np.nan, values)
    if _is_frame(array) and kinds and all(hasattr(kind, "fill_value") for kind in kinds):
        zeros_left_out = all(kind.kind in NUMBERS and kind.fill_value == 0 for kind in kinds)
        return array.sparse.to_coo() if zeros_left_out else array.to_numpy()
    return array


def _is_frame(array: Any) -> bool:
    """Return whether an array is a frame; a pandas series has `dtypes` too, but one axis."""
    return hasattr(array, "dtypes") and getattr(array, "ndim", 2) == 2


def _kinds(array: Any) -> list[Any]:
    """Return the types of the columns of a frame, or the one type of an array."""
    return list(array.dtypes) if _is_frame(array) else [getattr(array, "dtype", None)]


def numbers_among_objects(values: NDArray[Any]) -> NDArray[Any]:
    """Convert Python's numbers and pandas' nullable columns to doubles; others stay."""
    nothing = ("NoneType", "NAType")  # pandas need not be installed
    missing = np.array([type(entry).__name__ in nothing for entry in values.flat], dtype=bool)
    rest = values.reshape(-1)[~missing]
    if not len(rest) or not all(isinstance(entry, Real | Decimal) for entry in rest):
        return values
    found = np.full(values.size, np.nan)
    try:
        found[~missing] = rest.astype(np.float64)
    except (OverflowError, ValueError):  # large integers, a decimal that signals
        return values
    return found.reshape(values.shape)


def in_row_order(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array with its rows one after the other in memory; not copied if they are."""
    return np.require(array, requirements=["C_CONTIGUOUS", "ALIGNED"])


def own_rows(matrix: Any, where: str = "X") -> sp.csr_array:
    """Return sparse rows, sorted and without repeated entries, safe from later changes.

    Indices outside the matrix are refused: compiled loops would read and write beyond it. The
    numbers are native single or double precision. Indices are as narrow as the matrix allows: loops
    that are compiled for wide ones round otherwise.
    """
    dtype = float_type(matrix.dtype, where)
    if matrix.ndim != 2:
        raise InvalidInput(f"{where} has {matrix.ndim} axes: a matrix is needed")
    try:
        rows = sp.csr_array(_checked(matrix, dtype))
        rows.check_format(full_check=True)
    except (ValueError, TypeError, IndexError, AttributeError, OverflowError) as error:
        raise InvalidInput(f"{where} is not a valid sparse matrix ({error}): build it anew") from (
            error
        )
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    largest_index = max(rows.nnz, rows.shape[1])
    narrow = np.int32 if largest_index <= np.iinfo(np.int32).max else np.int64
    rows.indices = rows.indices.astype(narrow, copy=False)
    rows.indptr = rows.indptr.astype(narrow, copy=False)
    return rows


def _checked(matrix: Any, dtype: np.dtype[Any]) -> Any:
    """Return the matrix as a new object around the same arrays, its indices checked."""
    if matrix.format in ("csr", "csc", "bsr"):
        build = {"csr": sp.csr_array, "csc": sp.csc_array, "bsr": sp.bsr_array}[matrix.format]
        _check_pointers(matrix.indices, matrix.indptr)
        parts = matrix.data.astype(dtype, copy=False), matrix.indices, matrix.indptr
        ours = build(parts, shape=matrix.shape)
        ours.check_format(full_check=True)
        return ours
    if matrix.format == "coo":
        values = matrix.data.astype(dtype, copy=False)
        return sp.coo_array((values, (matrix.row, matrix.col)), shape=matrix.shape)
    return matrix.astype(dtype)


def _check_pointers(indices: NDArray[Any], pointers: NDArray[Any]) -> None:
    """Check index pointers that scipy skips if the last one is zero."""
    if indices.dtype.kind not in "iu" or pointers.dtype.kind not in "iu":
        raise ValueError("indices and index pointers must be integers")
    if (pointers[1:] < pointers[:-1]).any():
        raise ValueError("index pointers must not decrease")


def largest_of(block: object) -> float:
    """Return the largest absolute value."""
    values = stored_values(block)
    return max(float(values.max()), -float(values.min())) if values.size else 0.0


def check_scale(largest: float, where: str = "X") -> None:
    """Raise an error if fourth powers of the entries overflow double precision."""
    if largest > 0 and math.isfinite(largest) and not 1e-60 <= largest <= 1e60:
        exponent = min(-math.floor(math.log10(largest)), 300)  # 1e311 overflows
        raise InvalidInput(
            f"{where} has entries of the size {largest:.1e}, outside 1e-60 to 1e60: "
            f"multiply it by 1e{exponent}"
        )


def numbers(array: object, where: str) -> NDArray[Any]:
    """Return an array of numbers; `where` is its name in messages. Masked entries are NaN."""
    array = plain(array, where)
    if sp.issparse(array):
        array = own_rows(array, where).toarray()
    try:
        values = np.asarray(array)
    except ValueError as error:
        problem = "has rows of different lengths: make them equal"
        if not isinstance(array, list | tuple):
            problem = f"is of type {type(array).__name__}: give the array of numbers that it holds"
        raise InvalidInput(f"{where} {problem}") from error
    if values.dtype == object:
        values = numbers_among_objects(values)
    if values.dtype.kind not in NUMBERS:
        raise InvalidInput(f"{where} holds {values.dtype} entries: real numbers are needed")
    return values


def sparse_numbers(matrix: object, where: str) -> sp.csr_array:
    """Return a matrix of finite numbers as sparse rows of doubles; it is copied only if needed."""
    matrix = plain(matrix, where)
    if not sp.issparse(matrix):
        matrix = numbers(matrix, where)
        if matrix.ndim != 2:
            raise InvalidInput(f"{where} has shape {matrix.shape}: a matrix is needed")
        matrix = sp.csr_array(matrix.astype(np.float64))
    rows = own_rows(matrix, where)
    if not np.all(np.isfinite(rows.data)):
        raise InvalidInput(f"{where} has entries that are not finite numbers: remove them")
    check_scale(largest_of(rows), where)
    return rows.astype(np.float64, copy=False)
