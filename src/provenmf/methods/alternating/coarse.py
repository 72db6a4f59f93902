"""From coarse to fine: factorize a sample of rows and columns first, then extend its answer.

Most of what an alternating method does at first needs no more than a sample: iterations on it cost
a small fraction, and its answer, extended to all columns and rows by two exact least-squares
problems, usually lies a few iterations from the end. Rows and columns are drawn without
replacement with probability proportional to their squared length, so words that carry weight are
kept and empty rows never chosen.

Not from a paper: a start like any other, after which the method itself runs on all the data.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.data import Block, Blocks, as_blocks
from provenmf.linalg.nnls import nonnegative_least_squares
from provenmf.linalg.norms import squared_row_norms
from provenmf.linalg.products import transposed_product
from provenmf.linalg.storage import is_sparse
from provenmf.methods.alternating.starts import Init, filled_up
from provenmf.results import Solution

PER_COMPONENT = 10  # rows and columns of the sample for each component, at least
FRACTION = 5  # the sample has at least one row and column in five
WORTH_IT = 4  # the sample must be smaller than the data by this factor

SolveSample = Callable[[Blocks, int, Init, np.random.Generator], Solution]


def sample_size(blocks: Blocks, n_components: int) -> tuple[int, int]:
    """Rows and columns of the sample."""
    rows, columns = (
        min(size, max(PER_COMPONENT * n_components, size // FRACTION)) for size in blocks.shape
    )
    return rows, columns


def worth_sampling(blocks: Blocks, n_components: int) -> bool:
    """Whether a sample is much smaller than the data."""
    rows, columns = sample_size(blocks, n_components)
    return WORTH_IT * rows * columns <= blocks.n_rows * blocks.n_columns


def components_from_sample(
    blocks: Blocks,
    n_components: int,
    init: Init,
    solve_sample: SolveSample,
    rng: np.random.Generator,
) -> NDArray[np.floating]:
    """Components (k, d) that extend the factorization of a sample to all columns."""
    n_rows, n_columns = sample_size(blocks, n_components)
    rows = _drawn(blocks.map_rows(squared_row_norms), n_rows, rng)
    columns = _drawn(blocks.map_reduce(_squared_column_norms), n_columns, rng)
    chosen = blocks.take(rows)
    sample = chosen[:, columns]
    sample = sp.csr_array(sample) if sp.issparse(sample) else np.ascontiguousarray(sample)
    found = solve_sample(as_blocks(sample), n_components, init, rng)
    assert found.weights is not None  # alternating solvers always have some
    weights = found.weights.array()
    features = nonnegative_least_squares(weights.T @ weights, transposed_product(chosen, weights))
    alive = features.any(axis=0)
    return filled_up(blocks, features.T[alive], n_components, rng)


def _drawn(
    lengths: NDArray[np.floating], wanted: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Distinct positions, in order, drawn in proportion to ``lengths``."""
    wanted = min(wanted, int(np.count_nonzero(lengths)))
    if wanted == 0:
        return np.arange(len(lengths))
    chances = lengths.astype(np.float64) / lengths.sum(dtype=np.float64)
    return np.sort(rng.choice(len(lengths), wanted, replace=False, p=chances))


def _squared_column_norms(block: Block) -> NDArray[np.float64]:
    if is_sparse(block):
        values = block.data.astype(np.float64) ** 2
        sums = np.bincount(block.indices, weights=values, minlength=block.shape[1])
        return np.asarray(sums, dtype=np.float64)
    return np.asarray(np.einsum("ij,ij->j", block, block, dtype=np.float64))
