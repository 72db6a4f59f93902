"""The variable of MERIT's problem: every data row as a mixture of dictionary rows.

`Mixture` keeps C as (index, value) pairs, at most one more per row and step, and the product
C @ dictionary, so that a step costs one matrix product over row slices. The objective is
Nguyen22, Eq. (18), in our orientation,

    f(C) = 1/2 ||X - C X||_F^2 + lam * sum over columns n of phi_mu(C[:, n]),
    phi_mu(c) = mu * log( mean over rows of exp(c / mu) ),       rows of C on the simplex,

with C[:, n] = 0 for rows n outside the dictionary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.blocks.parts import LocalParts, Parts
from provenmf.parallel import for_row_slices

Array = NDArray[Any]
# The pairs of some rows one after the other, (index, value), and how many each row has.
Pairs = tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]
# Of each column of C: the largest entry, the second largest, the row of the largest.
Columns = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]

# Scores of one slice: 2**18 numbers in single precision fill a second-level cache.
SLICE_SCORES = 2**18
# Beyond this many scores a step is a large matrix product; single precision halves its time. The
# fitted rows, the pairs and all sums stay in double precision.
DOUBLE_PRECISION_SCORES = 2**24
SINGLE_EPS = float(np.finfo(np.float32).eps)
DOUBLE_EPS = float(np.finfo(np.float64).eps)
EXACT_SLICE = 256  # rows that visit a strip of columns together
ROOM = 16


class Standing(NamedTuple):
    """f(C), the duality gap over the dictionary (NaN for C = 0), and each row's best vertex."""

    objective: float
    gap: float
    vertex: NDArray[np.int32] | None = None


class Mixture:
    """Rows of X as mixtures of `dictionary` (row numbers of X), starting from C = 0.

    X may be some of the rows only: then `atoms` are the rows of the dictionary, and `search_type`
    is the precision that the number of all rows asks for.
    """

    def __init__(
        self,
        X: Array,
        dictionary: NDArray[np.intp],
        *,
        exact: bool = False,
        atoms: Array | None = None,
        search_type: type[np.floating] | None = None,
    ) -> None:
        self.X = X
        n = len(X)
        self.fitted = np.zeros((n, X.shape[1]))
        self.index = np.zeros((n, ROOM), dtype=np.int32)
        self.value = np.zeros((n, ROOM))
        self.count = np.zeros(n, dtype=np.int32)
        self._exact = exact
        wanted = np.float32 if exact else precision_of_search(n, len(dictionary))
        self._search_type = search_type or wanted
        self._set_dictionary(dictionary, atoms)

    def _set_dictionary(self, dictionary: NDArray[np.intp], atoms: Array | None = None) -> None:
        self.dictionary = dictionary
        rows = self.rows(dictionary) if atoms is None else atoms
        self.atoms = rows.astype(np.float64, copy=False)
        self._search_atoms = np.ascontiguousarray(self.atoms.T.astype(self._search_type))
        self.slice_rows = max(1, SLICE_SCORES // len(dictionary))

    @property
    def n_rows(self) -> int:
        """How many rows are mixed."""
        return len(self.X)

    def rows(self, numbers: NDArray[np.intp]) -> Array:
        """Rows of the data."""
        return np.asarray(self.X[numbers])

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

    def map_rows(self, function: Callable[..., Any], *arrays: Array) -> Array:
        """One result per row, of all rows at once; see `SpreadMixture`."""
        return np.asarray(function(self, *arrays))

    def map_reduce(self, function: Callable[..., Any], *arrays: Array) -> Any:
        """What the function returns for all rows."""
        return function(self, *arrays)

    def fold(
        self, function: Callable[..., Any], state: Any, *arrays: Array
    ) -> tuple[Any, LocalParts]:
        """The next state, and what the function returns for all rows as their only part."""
        state, part = function(state, self, *arrays)
        parts = LocalParts()
        parts.append(part)
        return state, parts

    def pairs(self) -> Pairs:
        """All pairs, without the room that is left beside them."""
        stored = np.arange(self.index.shape[1]) < self.count[:, None]
        return self.index[stored], self.value[stored], self.count.copy()

    def set_pairs(self, pairs: Pairs) -> None:
        """Set C to the given pairs."""
        self.index, self.value, self.count = padded(pairs)
        self.fitted = self.weights(slice(None)) @ self.atoms

    def start_from(self, columns: NDArray[np.intp], mixtures: Parts) -> None:
        """Set C to the given weights on columns of the dictionary; see `start.Explanation`."""
        self.set_pairs(pairs_of(mixtures.rows(lambda part: part[0]), columns))

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
        scores: Array = residual.astype(self._search_type, copy=False) @ self._search_atoms
        return scores

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

    def standing(self, penalties: Penalties) -> Standing:
        """Where C is: f(C), the duality gap over the dictionary, the best vertices."""
        vertex, lowest, inner = self.search(penalties)
        gap = float((inner - lowest).sum()) if self.count[0] else np.nan
        return Standing(self.objective(penalties), gap, vertex)

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

    def sweep(self, lam: float, tolerance: float, steps: int) -> None:
        """Pairwise steps in every row, one row after the other."""
        from provenmf.kernels.merit.pairwise import two_largest

        columns = two_largest(self.index, self.value, self.count, len(self.dictionary))
        self.sweep_updating(columns, 0, lam, tolerance, steps)

    def sweep_updating(
        self, columns: Columns, first_row: int, lam: float, tolerance: float, steps: int
    ) -> None:
        """The same for rows of which the first has the given number; `columns` are kept valid."""
        from provenmf.kernels.merit.pairwise import sweep_in_place

        self._reserve(int(self.count.max()) + steps)
        gram = self.atoms @ self.atoms.T
        for start in range(0, len(self.X), self.slice_rows):
            rows = slice(start, min(start + self.slice_rows, len(self.X)))
            sweep_in_place(
                self.gradient(rows), gram, first_row + start,
                self.index[rows], self.value[rows], self.count[rows],
                *columns, lam, tolerance, steps,
            )  # fmt: skip
            self.fitted[rows] = self.weights(rows) @ self.atoms

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


def pairs_of(weights: NDArray[np.float64], columns: NDArray[np.intp]) -> Pairs:
    """Dense weights on the given columns as pairs."""
    rows, places = np.nonzero(weights)
    count = np.bincount(rows, minlength=len(weights)).astype(np.int32)
    return columns[places].astype(np.int32), weights[rows, places], count


def padded(pairs: Pairs) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]:
    """Pairs as the kernels want them: index and value (n, room), and the counts (n,)."""
    index, value, count = pairs
    stored = np.arange(max(int(count.max(initial=0)), ROOM)) < count[:, None]
    wide = np.zeros(stored.shape, dtype=np.int32), np.zeros(stored.shape)
    wide[0][stored], wide[1][stored] = index, value
    return *wide, np.array(count)


def precision_of_search(n: int, size: int) -> type[np.floating]:
    """The precision in which n rows are compared with a dictionary."""
    return np.float32 if n * size > DOUBLE_PRECISION_SCORES else np.float64


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
