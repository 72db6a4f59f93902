"""The variable of MERIT's problem: every data row as a mixture of dictionary rows.

`Mixture` keeps C as (index, value) pairs, at most one more per row and step, and the product
C @ dictionary, so that a step costs one matrix product over row slices. The objective is
Nguyen22, Eq. (18), in our orientation,

    f(C) = 1/2 ||X - C X||_F^2 + lam * sum over columns n of phi_mu(C[:, n]),
    phi_mu(c) = mu * log( mean over rows of exp(c / mu) ),       rows of C on the simplex,

with C[:, n] = 0 for rows n outside the dictionary.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.parallel import for_row_slices

Array = NDArray[Any]

# Scores of one slice: 2**18 numbers in single precision fill a second-level cache.
SLICE_SCORES = 2**18
# Beyond this many scores a step is a large matrix product; single precision halves its time. The
# fitted rows, the pairs and all sums stay in double precision.
DOUBLE_PRECISION_SCORES = 2**24
SINGLE_EPS = float(np.finfo(np.float32).eps)
DOUBLE_EPS = float(np.finfo(np.float64).eps)
EXACT_SLICE = 256  # rows that visit a strip of columns together
ROOM = 16


class Mixture:
    """Rows of X as mixtures of `dictionary` (row numbers of X), starting from C = 0."""

    def __init__(self, X: Array, dictionary: NDArray[np.intp], *, exact: bool = False) -> None:
        self.X = X
        n = len(X)
        self.fitted = np.zeros((n, X.shape[1]))
        self.index = np.zeros((n, ROOM), dtype=np.int32)
        self.value = np.zeros((n, ROOM))
        self.count = np.zeros(n, dtype=np.int32)
        self._exact = exact
        single = exact or n * len(dictionary) > DOUBLE_PRECISION_SCORES
        self._search_type = np.float32 if single else np.float64
        self._set_dictionary(dictionary)

    def _set_dictionary(self, dictionary: NDArray[np.intp]) -> None:
        self.dictionary = dictionary
        self.atoms = self.X[dictionary].astype(np.float64)
        self._search_atoms = np.ascontiguousarray(self.atoms.T.astype(self._search_type))
        self.slice_rows = max(1, SLICE_SCORES // len(dictionary))

    def extend_dictionary(self, rows: NDArray[np.intp]) -> None:
        """Let more rows be vertices; C stays as it is."""
        dictionary = np.union1d(self.dictionary, rows)
        moved = np.searchsorted(dictionary, self.dictionary).astype(np.int32)
        self.index = moved[self.index]
        self._set_dictionary(dictionary)

    def kept(self) -> dict[str, Array]:
        """What a checkpoint needs; the fit too, since it is updated and not computed anew."""
        names = ("dictionary", "index", "value", "count", "fitted")
        return {name: getattr(self, name) for name in names}

    def restore(self, kept: dict[str, Array]) -> None:
        """Stand where a checkpoint was written."""
        self._set_dictionary(kept["dictionary"])
        self.index, self.value = kept["index"], kept["value"]
        self.count, self.fitted = kept["count"], kept["fitted"]

    def start_from(self, columns: NDArray[np.intp], weights: NDArray[np.float64]) -> None:
        """Set C to `weights` on the given columns of the dictionary."""
        self._reserve(len(columns))
        rows, places = np.nonzero(weights)
        order = np.arange(len(rows)) - np.searchsorted(rows, rows)
        self.index[rows, order] = columns[places]
        self.value[rows, order] = weights[rows, places]
        self.count[:] = np.bincount(rows, minlength=len(weights))
        self.fitted = weights @ self.atoms[columns]

    def maxima(self) -> NDArray[np.float64]:
        """The largest entry of each column of C: what anchors are read off."""
        from provenmf.kernels.merit.pairs import column_maxima

        return np.asarray(column_maxima(self.index, self.value, self.count, len(self.dictionary)))

    def squared_residuals(self) -> NDArray[np.float64]:
        """||x - c X||^2 of every row."""
        squared = np.empty(len(self.X))

        def measure(rows: slice) -> None:
            residual = self.fitted[rows] - self.X[rows]
            squared[rows] = np.einsum("ij,ij->i", residual, residual)

        for_row_slices(measure, len(self.X), slice_rows=self.slice_rows)
        return squared

    def objective(self, penalties: Penalties) -> float:
        """f(C), with the penalties of the present C."""
        return 0.5 * float(self.squared_residuals().sum()) + penalties.total()

    def penalties(self, lam: float, mu: float) -> Penalties:
        """State of the columns that the gradient of the penalty needs."""
        from provenmf.kernels.merit.pairs import column_masses

        top = self.maxima()
        mass = column_masses(self.index, self.value, self.count, top, mu)
        return Penalties(lam, mu, len(self.X), top, mass)

    def gradient(self, rows: slice) -> Array:
        """<x_n, c X - x> for a slice of rows and every dictionary entry n."""
        residual = self.fitted[rows] - self.X[rows]
        return residual.astype(self._search_type, copy=False) @ self._search_atoms

    def search(
        self, penalties: Penalties
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        """Each row's best vertex, the gradient there, and <c, gradient> (Algorithm 1, l. 13-17).

        `exact` decides in double precision; ties then go to the lowest index.
        """
        if self._exact:
            return self._search_exactly(penalties)
        from provenmf.kernels.merit.pairs import price_in_place

        n = len(self.X)
        vertex = np.empty(n, dtype=np.int32)
        lowest, inner = np.empty(n), np.empty(n)
        unused = (penalties.lam * penalties.of_absent_rows()).astype(self._search_type)

        def search_slice(rows: slice) -> None:
            scores = self.gradient(rows)
            scores += unused
            price_in_place(
                scores, self.index[rows], self.value[rows], self.count[rows],
                penalties.top, penalties.mass, penalties.lam, penalties.mu, inner[rows],
            )  # fmt: skip
            vertex[rows] = scores.argmin(axis=1)
            lowest[rows] = np.take_along_axis(scores, vertex[rows, None], axis=1)[:, 0]

        for_row_slices(search_slice, n, slice_rows=self.slice_rows)
        return vertex, lowest, inner

    def search_error(self, penalties: Penalties) -> NDArray[np.float64]:
        """How far what `search` finds for each row may be off by rounding, in its precision."""
        eps = SINGLE_EPS if self._search_type == np.float32 and not self._exact else DOUBLE_EPS
        longest = float(np.sqrt(np.einsum("ij,ij->i", self.atoms, self.atoms).max()))
        lengths = np.sqrt(self.squared_residuals())
        return np.asarray(eps * ((self.X.shape[1] + 4) * longest * lengths + 4 * penalties.lam))

    def _search_exactly(
        self, penalties: Penalties
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        """`search` for a large dictionary of which no score is kept."""
        from provenmf.kernels.merit.search import search_in_place

        n, d = self.X.shape
        vertex = np.empty(n, dtype=np.int32)
        lowest, inner = np.empty(n), np.empty(n)
        unused = penalties.lam * penalties.of_absent_rows()
        longest = float(np.sqrt(np.einsum("ij,ij->i", self.atoms, self.atoms).max()))

        def search_slice(rows: slice) -> None:
            residual = self.fitted[rows] - self.X[rows]
            lengths = np.sqrt(np.einsum("ij,ij->i", residual, residual))
            error = SINGLE_EPS * ((d + 4) * longest * lengths + 2 * penalties.lam)
            search_in_place(
                residual, self.atoms, self._search_atoms, unused,
                self.index[rows], self.value[rows], self.count[rows],
                penalties.top, penalties.mass, penalties.lam, penalties.mu,
                error, vertex[rows], lowest[rows], inner[rows],
            )  # fmt: skip

        for_row_slices(search_slice, n, slice_rows=EXACT_SLICE)
        return vertex, lowest, inner

    def move(self, vertex: NDArray[np.int32], alpha: float) -> None:
        """C <- (1 - alpha) C + alpha e_vertex (Algorithm 1, line 18)."""
        from provenmf.kernels.merit.pairs import move_in_place

        self._reserve(int(self.count.max()) + 1)

        def move_slice(rows: slice) -> None:
            move_in_place(self.index[rows], self.value[rows], self.count[rows], vertex[rows], alpha)
            self.fitted[rows] *= 1.0 - alpha
            self.fitted[rows] += alpha * self.atoms[vertex[rows]]

        for_row_slices(move_slice, len(self.X), slice_rows=self.slice_rows)

    def sweep(self, lam: float, tolerance: float, steps: int) -> int:
        """Pairwise steps in every row, one row after the other; returns how many were made."""
        from provenmf.kernels.merit.pairwise import sweep_in_place, two_largest

        self._reserve(int(self.count.max()) + steps)
        gram = self.atoms @ self.atoms.T
        columns = two_largest(self.index, self.value, self.count, len(self.dictionary))
        made = 0
        for start in range(0, len(self.X), self.slice_rows):
            rows = slice(start, min(start + self.slice_rows, len(self.X)))
            made += sweep_in_place(
                self.gradient(rows), gram, start,
                self.index[rows], self.value[rows], self.count[rows],
                *columns, lam, tolerance, steps,
            )  # fmt: skip
            self.fitted[rows] = self.weights(rows) @ self.atoms
        return made

    def weights(self, rows: slice) -> sp.csr_array:
        """Rows of C, sparse, over the dictionary."""
        index, value, count = self.index[rows], self.value[rows], self.count[rows]
        stored = np.arange(index.shape[1]) < count[:, None]
        starts = np.concatenate([[0], np.cumsum(count)])
        shape = (len(count), len(self.dictionary))
        return sp.csr_array((value[stored], index[stored], starts), shape=shape)

    def _reserve(self, pairs: int) -> None:
        """Make room for `pairs` pairs in every row."""
        room = self.index.shape[1]
        if pairs <= room:
            return
        more = ((0, 0), (0, -(-(pairs - room) // ROOM) * ROOM))
        self.index = np.pad(self.index, more)
        self.value = np.pad(self.value, more)


class Penalties:
    """phi_mu of each column and its gradient, from the column's largest entry and its mass."""

    def __init__(
        self, lam: float, mu: float, n: int, top: NDArray[np.float64], mass: NDArray[np.float64]
    ) -> None:
        self.lam, self.mu, self.n, self.top, self.mass = lam, mu, n, top, mass

    def total(self) -> float:
        """lam * sum of phi_mu over the columns; an unused column adds zero."""
        return self.lam * float((self.top + self.mu * np.log(self.mass / self.n)).sum())

    def of_absent_rows(self) -> NDArray[np.float64]:
        """y of a row that does not use the column: 1/n if nobody does, else nearly zero."""
        return np.exp(-self.top / self.mu) / self.mass
