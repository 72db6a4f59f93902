"""Choosing the number of components: all witnesses side by side, and the range they support."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from provenmf.advice.rank_choice import RankChoice
from provenmf.advice.rank_table import rank_table
from provenmf.advice.sample import MOST_ENTRIES, moderate_part
from provenmf.advice.witnesses import witnesses_of
from provenmf.budget import generator
from provenmf.data import Blocks, as_blocks
from provenmf.errors import InvalidInput
from provenmf.linalg.storage import as_dense, stored_values

Floats = NDArray[np.float64]

MOST_RANKS = 10


def choose_rank(
    X: object,
    ranks: Sequence[int] | None = None,
    *,
    n_resamples: int = 8,
    held_out: float = 0.1,
    repeats: int = 4,
    max_entries: int = MOST_ENTRIES,
    random_state: int | None = 0,
    progress: Callable[[int, int], object] | None = None,
) -> RankChoice:
    """Show the evidence for each number of components.

    Factorizations of every rank are compared by their error and the least possible error, by their
    error on held-out entries, and by whether resamples of the rows give the same components.
    Singular values are compared with noise. Held-out error, stability and spectrum suggest a number
    each.

    Parameters
    ----------
    X : array, sparse matrix, frame, or a matrix on disk, of shape (n_rows, n_columns)
        Rows are data points. Dense data may have missing entries (NaN); the spectrum is then not
        used.
    ranks : sequence of int or None, default=None
        The numbers to compare; None uses 1 to 10, or fewer for small data. Only these numbers can
        be chosen.
    n_resamples : int, default=8
        Fits to 80 % of the rows for each number.
    held_out : float, default=0.1
        Share of the entries that a fit does not see.
    repeats : int, default=4
        Number of times to hold out other entries.
    max_entries : int, default=200000
        Larger data are judged on a sample of the rows, and of the columns with their energy as
        weight; a note says so.
    random_state : int or None, default=0
        Random seed.
    progress : callable or None, default=None
        Called as progress(fits done, all fits).

    Returns
    -------
    RankChoice
        Prints as a table; `plot()` draws it.

    Raises
    ------
    InvalidInput
        The data have negative or infinite entries, or `ranks` are not numbers that they can have.

    See Also
    --------
    stability : whether resamples give the same components of one estimator.
    diagnose : which method's theory applies.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import choose_rank
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(5 * rng.gamma(0.5, size=(60, 3)) @ rng.gamma(0.5, size=(3, 20)))
    >>> found = choose_rank(X, range(1, 6), n_resamples=4, repeats=2)
    >>> found.n_components
    3
    """
    rng = generator(random_state)
    matrix, counts, notes = _prepared(as_blocks(X), max_entries, rng)
    chosen = _checked_ranks(ranks, matrix.shape)
    for name, value, legal in (
        ("n_resamples", n_resamples, n_resamples >= 2),
        ("repeats", repeats, repeats >= 1),
        ("held_out", held_out, 0 < held_out < 1),
    ):
        if not legal:
            raise InvalidInput("is out of range", argument=name, value=value)
    table = rank_table(
        matrix,
        chosen,
        n_resamples=n_resamples,
        repeats=repeats,
        held_out=held_out,
        counts=counts,
        rng=rng,
        progress=progress,
    )
    return RankChoice(as_blocks(X).shape, table, witnesses_of(table), notes)


def _checked_ranks(ranks: Sequence[int] | None, shape: tuple[int, int]) -> list[int]:
    most = min(shape) - 1
    if most < 1:
        raise InvalidInput(
            f"X has shape {shape}: the number of components has nothing to be chosen from"
        )
    if ranks is None:
        return list(range(1, min(MOST_RANKS, most) + 1))
    try:
        numbers = list(ranks)
    except TypeError:  # one number
        numbers = []
    whole = all(isinstance(k, Integral) and not isinstance(k, bool) for k in numbers)
    if not numbers or not whole or min(numbers) < 1 or max(numbers) > most:
        raise InvalidInput(
            f"must be whole numbers between 1 and {most}, one less than the shorter side of the "
            "matrix",
            argument="ranks",
            value=ranks,
        )
    return sorted({int(k) for k in numbers})


def _prepared(
    blocks: Blocks, most: int, rng: np.random.Generator
) -> tuple[Floats, bool, tuple[str, ...]]:
    """A dense matrix of moderate size, whether its entries are counts, and what was done."""
    n, d = blocks.shape
    part, columns = moderate_part(blocks, rng, most)
    counts = blocks.is_sparse and bool(np.all(stored_values(part) % 1 == 0))
    matrix = np.ascontiguousarray(as_dense(part[:, columns]), dtype=np.float64)
    observed = matrix[~np.isnan(matrix)]
    if not np.isfinite(observed).all() or (observed < 0).any():
        raise InvalidInput(
            "X has negative or infinite entries, and choose_rank compares nonnegative fits: set "
            "negative entries to zero and remove infinite ones, or look at `provenmf diagnose` "
            "(diagnose in Python), which takes negative data"
        )
    if not observed.any():
        raise InvalidInput("X has no entry that is not zero: there is nothing to factorize")
    kept = (np.nan_to_num(matrix) > 0).any(axis=1)
    matrix = matrix[kept][:, (np.nan_to_num(matrix[kept]) > 0).any(axis=0)]
    notes = []
    if matrix.shape != (n, d):
        notes.append(
            f"Judged on {matrix.shape[0]:,} of {n:,} rows and {matrix.shape[1]:,} of {d:,} columns"
            + (", those with the most energy" if len(columns) < d else "")
        )
    return matrix, counts, tuple(notes)
