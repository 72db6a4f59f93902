"""The variable of MERIT's problem: every data row as a mixture of dictionary rows.

`Mixture` keeps C as (index, value) pairs, at most one more per row and step, and, where it has all
rows, the product C @ dictionary, so that a step costs one matrix product over row slices. Of some
rows the product is computed slice by slice when it is needed: it would not stay in the cache
between two steps. The objective is
Nguyen22, Eq. (18), in our orientation,

    f(C) = 1/2 ||X - C X||_F^2 + lam * sum over columns n of phi_mu(C[:, n]),
    phi_mu(c) = mu * log( mean over rows of exp(c / mu) ),       rows of C on the simplex,

with C[:, n] = 0 for rows n outside the dictionary.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from provenmf.budget import for_row_slices
from provenmf.data import Rows
from provenmf.linalg.norms import squared_row_norms
from provenmf.methods.merit.columns import Penalties, Wishes, columns_of, no_wishes

Array = NDArray[Any]
# The pairs of some rows one after the other, (index, value), how many each row has, and the number
# of the first row.
Pairs = tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]]

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
    """f(C), the duality gap over the dictionary (NaN for C = 0), wishes, each row's best vertex."""

    objective: float
    gap: float
    wishes: Wishes
    vertex: NDArray[np.int32] | None = None


class Search(NamedTuple):
    """Of each row: its best vertex, the gradient there, <c, gradient>, and ||x - c X||^2."""

    vertex: NDArray[np.int32]
    lowest: NDArray[np.float64]
    inner: NDArray[np.float64]
    squared: NDArray[np.float64]


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
        self.first_row = 0
        n = len(X)
        self._fitted = np.zeros((n, X.shape[1])) if atoms is None else None
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
        names = ("dictionary", "index", "value", "count")
        return {name: getattr(self, name) for name in names} | {"fitted": self.fitted(slice(None))}

    def restore(self, kept: dict[str, Array]) -> None:
        """Stand where a checkpoint was written."""
        self._set_dictionary(kept["dictionary"])
        self.index, self.value = kept["index"], kept["value"]
        self.count, self._fitted = kept["count"], kept["fitted"]

    def map_rows(self, function: Callable[..., Any], *arrays: Array) -> Array:
        """One result per row, of all rows at once; see `SpreadMixture`."""
        return np.asarray(function(self, *arrays))

    def map_reduce(self, function: Callable[..., Any], *arrays: Array) -> Any:
        """What the function returns for all rows."""
        return function(self, *arrays)

    def change(self, function: Callable[[Mixture], None]) -> None:
        """Let the function change C."""
        function(self)
        self._fit()

    def part(self, rows: NDArray[np.int64]) -> Mixture:
        """The mixture of some rows, in double precision."""
        some = Mixture(self.X[rows], self.dictionary, atoms=self.atoms, search_type=np.float64)
        some.set_pairs(flat(self.index[rows], self.value[rows], self.count[rows]))
        return some

    def pairs(self) -> Pairs:
        """All pairs, without the room that is left beside them."""
        return flat(self.index, self.value, self.count, self.first_row)

    def set_pairs(self, pairs: Pairs) -> None:
        """Set C to the given pairs."""
        self.index, self.value, self.count = padded(pairs)
        self.first_row = int(pairs[3][0])
        self._fit()

    def put(self, rows: NDArray[np.int64], pairs: Pairs) -> None:
        """Set the pairs of the given rows, as far as they are among these."""
        local = rows - self.first_row
        here = (local >= 0) & (local < len(self.X))
        index, value, count = padded(pairs)
        index, value, count = index[here], value[here], count[here]
        rows, room = local[here], index.shape[1]
        self._reserve(room)
        self.index[rows, :room], self.value[rows, :room], self.count[rows] = index, value, count
        if self._fitted is not None:
            self._fitted[rows] = mixed(index, value, count, self.atoms)

    def fitted(self, rows: slice) -> Array:
        """C @ dictionary in a slice of rows."""
        if self._fitted is not None:
            return self._fitted[rows]
        return mixed(self.index[rows], self.value[rows], self.count[rows], self.atoms)

    def _fit(self) -> None:
        """Compute the product C @ dictionary anew, where it is kept."""
        fitted = self._fitted
        if fitted is None:
            return

        def fit_slice(rows: slice) -> None:
            pairs = self.index[rows], self.value[rows], self.count[rows]
            fitted[rows] = mixed(*pairs, self.atoms)

        for_row_slices(fit_slice, len(self.X), slice_rows=self.slice_rows)

    def start_from(self, columns: NDArray[np.intp], mixtures: Rows) -> None:
        """Set C to the given weights on columns of the dictionary; see `start.Explanation`."""
        self.set_pairs(pairs_of(mixtures.array(lambda part: part[0]), columns, 0))

    def squared_residuals(self) -> NDArray[np.float64]:
        """||x - c X||^2 of every row."""
        squared = np.empty(len(self.X))

        def measure(rows: slice) -> None:
            squared[rows] = squared_row_norms(self.residual(rows))

        for_row_slices(measure, len(self.X), slice_rows=self.slice_rows)
        return squared

    def penalties(self, lam: float, mu: float) -> Penalties:
        """State of the columns that the gradient of the penalty needs."""
        size = len(self.dictionary)
        columns = columns_of(self.index, self.value, self.count, first_row=0, size=size, mu=mu)
        return Penalties(lam, len(self.X), columns)

    def gradient(self, rows: slice) -> Array:
        """<x_n, c X - x> for a slice of rows and every dictionary entry n."""
        return self._products(self.residual(rows), self._search_atoms)

    def residual(self, rows: slice) -> NDArray[np.float64]:
        """What C leaves of a slice of rows, c X - x."""
        return np.asarray(self.fitted(rows) - self.X[rows])

    def _products(self, residual: NDArray[np.float64], atoms: Array) -> Array:
        """Inner products of residuals and atoms in the precision of the search."""
        return np.asarray(residual.astype(self._search_type, copy=False) @ atoms)

    def search(self, penalties: Penalties, wishes: list[Wishes] | None = None) -> Search:
        """Each row's best vertex (Algorithm 1, l. 13-17).

        `exact` decides in double precision; ties then go to the lowest index. Otherwise `wishes`
        gets those of slices of the rows, if it is given.
        """
        if self._exact:
            return self._search_exactly(penalties)
        from provenmf.methods.merit.kernels import price_in_place

        n = len(self.X)
        vertex = np.empty(n, dtype=np.int32)
        lowest, inner, squared = np.empty((3, n))
        unused = (penalties.lam * penalties.of_absent_rows()).astype(self._search_type)

        def search_slice(rows: slice) -> None:
            residual = self.residual(rows)
            squared[rows] = squared_row_norms(residual)
            scores = self._products(residual, self._search_atoms)
            if wishes is not None:
                wishes.append(self._wishes(rows, scores, penalties))
            scores += unused
            price_in_place(
                scores, self.index[rows], self.value[rows], self.count[rows],
                penalties.top, penalties.mass, penalties.lam, penalties.mu, inner[rows],
            )  # fmt: skip
            vertex[rows] = scores.argmin(axis=1)
            lowest[rows] = np.take_along_axis(scores, vertex[rows, None], axis=1)[:, 0]

        for_row_slices(search_slice, n, slice_rows=self.slice_rows)
        return Search(vertex, lowest, inner, squared)

    def _wishes(self, rows: slice, gradient: Array, penalties: Penalties) -> Wishes:
        """Which rows of a slice would most like to raise the largest entry of a column."""
        from provenmf.methods.merit.kernels import note_wishes_in_place

        found = no_wishes(len(self.dictionary))
        note_wishes_in_place(
            gradient, self.first_row + rows.start,
            self.index[rows], self.value[rows], self.count[rows],
            penalties.top, penalties.lam, found.gain, found.row,
        )  # fmt: skip
        return found

    def standing(self, penalties: Penalties) -> Standing:
        """Where C is: f(C), the duality gap over the dictionary, wishes, the best vertices."""
        wishes = [no_wishes(len(self.dictionary))]
        found = self.search(penalties, wishes)
        gap = float((found.inner - found.lowest).sum()) if self.count[0] else np.nan
        objective = 0.5 * float(found.squared.sum()) + penalties.total()
        return Standing(objective, gap, reduce(add, wishes), found.vertex)

    def search_error(
        self, penalties: Penalties, squared: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """How far what `search` finds for each row may be off by rounding, in its precision."""
        eps = SINGLE_EPS if self._search_type == np.float32 and not self._exact else DOUBLE_EPS
        longest = float(np.sqrt(np.einsum("ij,ij->i", self.atoms, self.atoms).max()))
        lengths = np.sqrt(squared)
        return np.asarray(eps * ((self.X.shape[1] + 4) * longest * lengths + 4 * penalties.lam))

    def _search_exactly(self, penalties: Penalties) -> Search:
        """`search` for a large dictionary of which no score is kept."""
        from provenmf.methods.merit.kernels import search_in_place

        n, d = self.X.shape
        vertex = np.empty(n, dtype=np.int32)
        lowest, inner, squared = np.empty((3, n))
        unused = penalties.lam * penalties.of_absent_rows()
        longest = float(np.sqrt(np.einsum("ij,ij->i", self.atoms, self.atoms).max()))

        def search_slice(rows: slice) -> None:
            residual = self.residual(rows)
            squared[rows] = squared_row_norms(residual)
            lengths = np.sqrt(squared[rows])
            error = SINGLE_EPS * ((d + 4) * longest * lengths + 2 * penalties.lam)
            search_in_place(
                residual, self.atoms, self._search_atoms, unused,
                self.index[rows], self.value[rows], self.count[rows],
                penalties.top, penalties.mass, penalties.lam, penalties.mu,
                error, vertex[rows], lowest[rows], inner[rows],
            )  # fmt: skip

        for_row_slices(search_slice, n, slice_rows=EXACT_SLICE)
        return Search(vertex, lowest, inner, squared)

    def move(self, vertex: NDArray[np.int32], alpha: float) -> None:
        """C <- (1 - alpha) C + alpha e_vertex (Algorithm 1, line 18)."""
        from provenmf.methods.merit.kernels import move_in_place

        self._reserve(int(self.count.max()) + 1)

        def move_slice(rows: slice) -> None:
            move_in_place(self.index[rows], self.value[rows], self.count[rows], vertex[rows], alpha)
            if self._fitted is not None:
                self._fitted[rows] *= 1.0 - alpha
                self._fitted[rows] += alpha * self.atoms[vertex[rows]]

        for_row_slices(move_slice, len(self.X), slice_rows=self.slice_rows)

    def take_turns(
        self, rows: NDArray[np.int64], penalties: Penalties, tolerance: float, steps: int
    ) -> NDArray[np.float64]:
        """Pairwise steps of these few rows, one after the other; the largest entries thereafter.

        `rows` are their numbers among the rows of which the penalties are.
        """
        from provenmf.methods.merit.kernels import sweep_in_place

        self._reserve(int(self.count.max(initial=0)) + steps)
        columns = penalties.columns
        caps = columns.first.copy()
        sweep_in_place(
            self.gradient(slice(None)), self.atoms @ self.atoms.T, rows,
            self.index, self.value, self.count,
            caps, columns.second.copy(), columns.holder.copy(), penalties.lam, tolerance, steps,
        )  # fmt: skip
        return caps

    def fill(self, caps: NDArray[np.float64], tolerance: float, steps: int) -> None:
        """Pairwise steps of all rows that raise no entry above its column's cap.

        Columns without a cap are left out. What is fitted is out of date afterwards.
        """
        from provenmf.methods.merit.kernels import fill_in_place

        self._reserve(int(self.count.max()) + steps)
        used = np.flatnonzero(caps).astype(np.int32)
        place = np.zeros(len(caps), dtype=np.int32)
        place[used] = np.arange(len(used))
        atoms = np.ascontiguousarray(self._search_atoms[:, used])
        gram = (self.atoms[used] @ self.atoms[used].T).astype(self._search_type)

        def fill_slice(rows: slice) -> None:
            index = place[self.index[rows]]
            fill_in_place(
                self._products(self.residual(rows), atoms), gram,
                index, self.value[rows], self.count[rows], caps[used], tolerance, steps,
            )  # fmt: skip
            self.index[rows] = used[index]

        for_row_slices(fill_slice, len(self.X), slice_rows=self.slice_rows)

    def _reserve(self, pairs: int) -> None:
        """Make room for `pairs` pairs in every row."""
        room = self.index.shape[1]
        if pairs <= room:
            return
        more = ((0, 0), (0, -(-(pairs - room) // ROOM) * ROOM))
        self.index = np.pad(self.index, more)
        self.value = np.pad(self.value, more)


def pairs_of(weights: NDArray[np.float64], columns: NDArray[np.intp], first_row: int) -> Pairs:
    """Dense weights on the given columns as pairs."""
    rows, places = np.nonzero(weights)
    count = np.bincount(rows, minlength=len(weights)).astype(np.int32)
    return columns[places].astype(np.int32), weights[rows, places], count, np.array([first_row])


def flat(
    index: NDArray[np.int32],
    value: NDArray[np.float64],
    count: NDArray[np.int32],
    first_row: int = 0,
) -> Pairs:
    """The pairs without the room beside them."""
    stored = np.arange(index.shape[1]) < count[:, None]
    return index[stored], value[stored], count.copy(), np.array([first_row])


def mixed(
    index: NDArray[np.int32],
    value: NDArray[np.float64],
    count: NDArray[np.int32],
    atoms: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The mixtures of atoms that the pairs say."""
    from provenmf.methods.merit.kernels import mix_in_place

    out = np.empty((len(count), atoms.shape[1]))
    mix_in_place(index, value, count, atoms, out)
    return out


def padded(pairs: Pairs) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]:
    """Pairs as the kernels want them: index and value (n, room), and the counts (n,)."""
    index, value, count, _ = pairs
    stored = np.arange(max(int(count.max(initial=0)), ROOM)) < count[:, None]
    wide = np.zeros(stored.shape, dtype=np.int32), np.zeros(stored.shape)
    wide[0][stored], wide[1][stored] = index, value
    return *wide, np.array(count)


def precision_of_search(n: int, size: int) -> type[np.floating]:
    """The precision in which n rows are compared with a dictionary."""
    return np.float32 if n * size > DOUBLE_PRECISION_SCORES else np.float64
