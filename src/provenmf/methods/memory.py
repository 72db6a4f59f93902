"""What a fit needs beside data that are in memory already, estimated before it starts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.budget import BLOCKS_IN_BUDGET, memory_budget
from provenmf.data import Blocks, Rows
from provenmf.errors import TooLarge, warn_user

PYTHON = 350e6  # bytes of the interpreter with numpy, scipy, scikit-learn and the compiled kernels
# Without a budget, more bytes than the first number are refused, and more than the second are
# announced, where data are brought into memory.
MOST_GATHERED, HINT = 16e9, 256e6
# Vectors with a number for each row that a fit and its certificate hold at the same time.
VECTORS = 8
# Weights of more bytes stay on the workers of a cluster until they are read.
LEFT_ON_WORKERS = 1 << 26


def weights_of_record(rows: Rows, blocks: Blocks, k: int) -> NDArray[Any] | Rows:
    """Return weights for a record: an array, or rows on workers that are large."""
    return rows if is_left_on_workers(blocks, k) else rows.array()


def is_left_on_workers(blocks: Blocks, k: int) -> bool:
    """Whether the weights are too many to be brought here unasked."""
    return blocks.on_workers and blocks.n_rows * k * blocks.dtype.itemsize > LEFT_ON_WORKERS


def check_memory(name: str, blocks: Blocks, k: int, *, gathered: float, certify: bool) -> None:
    """Refuse a fit that exceeds the budget, or that gathers too much; say so where it gathers.

    Parameters
    ----------
    name : of the method.
    k : the number of components, or the most that are tried.
    gathered : bytes that the method holds of the data at once, 0 where blocks are enough.
    certify : whether a certificate is wanted, which takes another array (n_rows, k), though not
        where rows are elsewhere.
    """
    brought, certify = not is_left_on_workers(blocks, k), certify and not blocks.on_workers
    of_weights = k * (blocks.dtype.itemsize + 8 * (1 + certify)) if brought else 0
    by_row = blocks.n_rows * (of_weights + 8 * VECTORS)
    row_bytes = blocks.n_columns * blocks.dtype.itemsize
    what = f", {gathered / 1e9:.2g} GB of it for the data at once" if gathered else ""
    check_budget(
        f"{name} needs for {blocks.n_rows} rows and {k} components{what}",
        by_row + gathered,
        16.0 * blocks.block_rows * row_bytes,
        16.0 * blocks.n_rows * row_bytes,
        "raise it"
        + (", use a method that reads block by block, such as SPA or HALS" if gathered else "")
        + (", or do without the certificate ({:certify=False})" if certify else ""),
    )
    if not blocks.in_memory:
        announce_gathering(name, blocks.shape, gathered)
    if blocks.on_workers and by_row > HINT:
        warn_user(
            RuntimeWarning(
                f"{name} brings {'weights and ' if brought else ''}lengths of {blocks.n_rows} rows "
                f"to this process at the end, {by_row / 1e9:.2g} GB"
            )
        )


def check_budget(
    what: str, held: float, at_work: float, most_at_work: float, remedy: str = "raise it"
) -> None:
    """Refuse what needs more memory than the budget.

    Parameters
    ----------
    what : who needs it, and for what.
    held : bytes that are held all the time, beside those of Python.
    at_work : bytes that blocks take, as large as they are now.
    most_at_work : the same for blocks of any size; with the budget they grow up to its half.
    remedy : what to do.
    """
    budget, fixed = memory_budget(), PYTHON + held
    share = 16 / BLOCKS_IN_BUDGET
    if fixed + min(at_work, share * budget) > budget:
        needed = min(fixed / (1 - share), fixed + most_at_work)
        raise TooLarge(
            f"is less than the {np.ceil(needed / 1e7) / 100:g} GB that {what}",
            argument="memory",
            value=f"{budget / 1e9:.3g}GB",
            remedy=remedy,
        )


def announce_gathering(name: str, shape: tuple[int, ...], size: float) -> None:
    """Say that data are brought into memory, or refuse where that is too much."""
    if size > min(MOST_GATHERED, memory_budget()):
        raise TooLarge(
            f"{name} needs {size / 1e9:.3g} GB at once for X of shape {shape}, which is not in "
            "memory: use a method that reads block by block, such as SPA or HALS"
        )
    if size > HINT:
        warn_user(
            RuntimeWarning(
                f"{name} brings X of shape {shape} into memory, {size / 1e9:.2g} GB; SPA, HALS and "
                "others read it block by block"
            )
        )
