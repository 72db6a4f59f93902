"""Hard matrices from a random generator: values, storage, type, order."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp

Rng = np.random.Generator


def mixtures(rng: Rng, n: int, d: int) -> np.ndarray:
    k = int(rng.integers(1, min(n, d) + 1))
    weights = rng.dirichlet(np.full(k, rng.choice([0.1, 0.5, 2.0])), size=n)
    weights[:k] = np.eye(k)[: min(k, n)]
    return weights @ rng.random((k, d)) + rng.choice([0.0, 1e-8, 0.05]) * rng.random((n, d))


def counts(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.poisson(rng.choice([0.1, 1.0, 30.0]), (n, d)).astype(float)


def repeated(rng: Rng, n: int, d: int) -> np.ndarray:
    few = rng.random((max(1, n // 4), d))
    return few[rng.integers(len(few), size=n)] * rng.choice([1.0, 2.0, 1e-3], size=(n, 1))


def with_zeros(rng: Rng, n: int, d: int) -> np.ndarray:
    matrix = rng.random((n, d)) * (rng.random((n, d)) < 0.3)
    matrix[rng.integers(n)] = 0
    matrix[:, rng.integers(d)] = 0
    return matrix


def rank_one(rng: Rng, n: int, d: int) -> np.ndarray:
    return np.outer(rng.random(n), rng.random(d))


def spread(rng: Rng, n: int, d: int) -> np.ndarray:
    return 10.0 ** rng.uniform(-9, 9, (n, d))


def constant(rng: Rng, n: int, d: int) -> np.ndarray:
    return np.full((n, d), rng.choice([0.0, 1.0, 7.5]))


def integers(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.integers(0, 3, (n, d)).astype(float)


def identity(rng: Rng, n: int, d: int) -> np.ndarray:
    return np.eye(n, d)


def extreme(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.random((n, d)) * 10.0 ** rng.choice([-300, -200, -100, -70, 70, 100, 200, 300])


def large_scale(rng: Rng, n: int, d: int) -> np.ndarray:
    return mixtures(rng, n, d) * 10.0 ** rng.uniform(-55, 55)


def signed(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d))


def not_finite(rng: Rng, n: int, d: int) -> np.ndarray:
    matrix = rng.random((n, d))
    matrix[rng.integers(n), rng.integers(d)] = rng.choice([np.nan, np.inf, -np.inf])
    return matrix


def with_gaps(rng: Rng, n: int, d: int) -> np.ndarray:
    return np.where(rng.random((n, d)) < rng.choice([0.1, 0.5, 0.95]), np.nan, mixtures(rng, n, d))


def denormal(rng: Rng, n: int, d: int) -> np.ndarray:
    return np.where(rng.random((n, d)) < 0.5, rng.choice([2.2e-308, 5e-324]), rng.random((n, d)))


def minus_zeros(rng: Rng, n: int, d: int) -> np.ndarray:
    return np.where(rng.random((n, d)) < 0.5, -0.0, rng.random((n, d)))


def long_row(rng: Rng, n: int, d: int) -> np.ndarray:
    return mixtures(rng, n, d) * np.where(np.arange(n) == rng.integers(n), 1e15, 1.0)[:, None]


SANE = (mixtures, counts, repeated, with_zeros, rank_one, integers, identity)
HARD = (*SANE, spread, constant, extreme, large_scale, signed, not_finite, with_gaps)
HARD += (denormal, minus_zeros, long_row)
FORMS = ("dense", "fortran", "strided", "csr", "unsorted", "csc", "coo", "read_only")
TYPES = ("f8", "f8", "f8", "f4", "f2", "g", ">f8", ">f4", "i8", "u1", "?")


def draw(
    rng: Rng, *, sane: bool = False, n_rows: int | None = None, n_columns: int | None = None
) -> np.ndarray:
    """A matrix of a random kind, and of a random size where none is given, as plain numbers."""
    n = int(rng.integers(1, 25)) if n_rows is None else n_rows
    d = int(rng.integers(1, 12)) if n_columns is None else n_columns
    kinds = SANE if sane else HARD
    with np.errstate(all="ignore"):
        return kinds[rng.integers(len(kinds))](rng, n, d)


def sane_or_not(rng: Rng, **size: int) -> np.ndarray:
    """A matrix that is hard or not: what follows an answer is to be tried as often as refusals."""
    return draw(rng, sane=bool(rng.random() < 0.5), **size)


def stored(rng: Rng, matrix: np.ndarray) -> Any:
    """The same numbers in another type and storage; what does not fit the type is rounded."""
    dtype = np.dtype(str(rng.choice(TYPES)))
    if dtype.kind in "iu" and not np.array_equal(matrix, np.clip(np.round(matrix), 0, 255)):
        dtype = np.dtype("f8")
    with np.errstate(all="ignore"):
        matrix = matrix.astype(dtype)
    return in_form(str(rng.choice(FORMS)), matrix)


def in_form(form: str, matrix: np.ndarray) -> Any:
    if form == "dense":
        return matrix
    if form == "fortran":
        return np.asfortranarray(matrix)
    if form == "strided":
        return np.repeat(np.repeat(matrix, 2, axis=0), 3, axis=1)[::2, ::3]
    if form == "read_only":
        matrix = matrix.copy()
        matrix.flags.writeable = False
        return matrix
    wide = matrix.astype(np.float64) if matrix.dtype.char in "ge" else matrix
    wide = wide.astype(wide.dtype.newbyteorder("="))
    if form == "unsorted":
        return unsorted(wide.astype(np.float64))
    return getattr(sp, f"{form}_array")(wide)


def unsorted(matrix: np.ndarray) -> sp.csr_array:
    """Rows whose columns run backwards, each entry in two parts that add up to it exactly."""
    rows, columns = np.nonzero(matrix)
    order = np.lexsort((-columns, rows))
    rows, columns = rows[order], columns[order]
    entries = matrix[rows, columns]
    halves = entries / 2  # of the smallest number: zero
    parts = np.column_stack([halves, entries - halves]).ravel()
    pointers = 2 * np.searchsorted(rows, np.arange(len(matrix) + 1))
    return sp.csr_array((parts, np.repeat(columns, 2), pointers), shape=matrix.shape)


def fingerprint(value: Any) -> str:
    """A digest of all bytes of an array or a sparse matrix."""
    if sp.issparse(value):
        names = ("data", "indices", "indptr", "row", "col")
        arrays = [getattr(value, name) for name in names if hasattr(value, name)]
    else:
        arrays = [np.asarray(value)]
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
