"""Arrays as users give them, refused by name if they are not plain numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.errors import InvalidInput
from provenmf.linalg.storage import (
    NUMBERS,
    check_scale,
    largest_of,
    numbers_among_objects,
    own_rows,
    plain,
)


def numbers(array: object, where: str) -> NDArray[Any]:
    """An array of numbers; `where` is its name in messages. Masked entries are NaN."""
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
        raise InvalidInput(f"{where} has {values.dtype} entries: numbers are needed")
    return values


def sparse_numbers(matrix: object, where: str) -> sp.csr_array:
    """A matrix of finite numbers in sparse rows of doubles; what is so already is not copied."""
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
