"""Dense and sparse blocks alike, and the door through which sparse matrices come in.

What a user gives is never changed: scipy sorts indices and merges repeated entries in place when it
needs them so, in arrays that a shallow copy shares with the user's matrix. `own_rows` makes a copy
where that would happen and shares the arrays where it cannot.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Set
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.errors import InvalidInput

NUMBERS = "biuf"

# A block of rows, in single or double precision.
Matrix: TypeAlias = NDArray[np.floating] | sp.csr_array


def is_sparse(block: object) -> TypeGuard[sp.csr_array]:
    """Whether only the entries that are not zero are stored."""
    return bool(sp.issparse(block))


def as_dense(block: Matrix) -> NDArray[Any]:
    """A dense or sparse block as an array; a dense one is not copied."""
    return block.toarray() if is_sparse(block) else np.asarray(block)


def stored_values(block: Matrix) -> NDArray[Any]:
    """The entries that are stored: all of a dense block, those of a sparse one."""
    return block.data if is_sparse(block) else np.asarray(block)


def float_type(dtype: np.dtype[Any], where: str = "X") -> np.dtype[Any]:
    """The type to compute in: single precision stays, every other real number becomes double."""
    if dtype.kind not in NUMBERS:
        raise InvalidInput(f"{where} holds {dtype} entries: real numbers are needed")
    single = dtype.kind == "f" and dtype.itemsize == 4
    return np.dtype(np.float32 if single else np.float64)


def plain(array: Any, where: str = "X") -> Any:
    """What is given, without what numpy would drop or read in another way than it is meant.

    numpy ignores the mask of a masked array, takes a set, a dictionary or a generator for one
    entry and dates for numbers; arrays of records have no columns.
    """
    if isinstance(array, Mapping | Set | Iterator):
        raise InvalidInput(f"{where} is of type {type(array).__name__}: give an array")
    if isinstance(array, np.ndarray) and array.dtype.names:
        names = ", ".join(map(repr, array.dtype.names[:5]))
        raise InvalidInput(f"{where} has records with the fields {names}: give an array of numbers")
    kinds = getattr(array, "dtypes", [getattr(array, "dtype", None)])  # of columns or of all
    if any(getattr(kind, "kind", "") in ("M", "m") for kind in kinds):
        raise InvalidInput(f"{where} has dates or times: real numbers are needed")
    if isinstance(array, np.ma.MaskedArray):
        if not np.ma.is_masked(array):
            return array.data
        values = array.data.astype(np.float64) if array.dtype.kind in "biu" else array.data
        return np.where(np.ma.getmaskarray(array), np.nan, values)
    return array


def own_rows(matrix: Any, where: str = "X") -> sp.csr_array:
    """Sparse rows, sorted and without repeated entries, that share no array that might change.

    Indices outside the matrix are refused: compiled loops would read and write beyond it. The
    numbers are native single or double precision.
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
    return rows


def _checked(matrix: Any, dtype: np.dtype[Any]) -> Any:
    """The same matrix as a new object around the same arrays, its indices checked."""
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
    """What scipy's own check leaves out where the last pointer says that there are no entries."""
    if indices.dtype.kind not in "iu" or pointers.dtype.kind not in "iu":
        raise ValueError("indices and index pointers must be integers")
    if (pointers[1:] < pointers[:-1]).any():
        raise ValueError("index pointers must not decrease")


def largest_of(block: object) -> float:
    """The largest absolute value."""
    values = stored_values(block)
    return max(float(values.max()), -float(values.min())) if values.size else 0.0


def check_scale(largest: float, where: str = "X") -> None:
    """Refuse data whose squares of squares leave double precision, by their largest entry."""
    if largest > 0 and math.isfinite(largest) and not 1e-60 <= largest <= 1e60:
        exponent = min(-math.floor(math.log10(largest)), 300)  # 1e311 is no number
        raise InvalidInput(
            f"{where} has entries of the size {largest:.1e}, outside 1e-60 to 1e60: "
            f"multiply it by 1e{exponent}"
        )
