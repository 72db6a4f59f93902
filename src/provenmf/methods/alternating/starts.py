"""Starts of alternating methods.

    name                     components                                   weights
    "cones"                  cone NMF (Liu & Tan 2017)                    -
    "spa"                    successive projection                        -
    "merit"                  MERIT (Nguyen, Fu & Wu 2021)                 -
    "random-rows"            distinct nonzero rows of the data            -
    "random"                 absolute normal entries, of the data's mean  the same
    "nndsvd", "nndsvda"      from the SVD (Boutsidis & Gallopoulos 2008)  the same

Where the weights are missing, an alternating method begins with them; `start_factors` fills them
in with least squares, so that its result can be given to scikit-learn's NMF (init="custom").

Large data: most of what an alternating method does at first needs no more than a sample of rows and
columns (`components_from_sample`). Iterations on it cost a small fraction, and its answer, extended
to all columns and rows by two exact least-squares problems, usually lies a few iterations from the
end. Not from a paper: a start like any other.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.data import Block, Blocks, as_blocks
from provenmf.errors import DegenerateData, InvalidInput
from provenmf.linalg.nnls import encoder, nonnegative_least_squares
from provenmf.linalg.norms import absolute_row_sums, squared_row_norms
from provenmf.linalg.products import transposed_product
from provenmf.linalg.storage import as_dense, is_sparse, numbers
from provenmf.metrics.matching import match_components
from provenmf.results import Solution

Name = Literal["cones", "spa", "merit", "random-rows", "random", "nndsvd", "nndsvda"]
Init = Annotated[
    Name | NDArray[np.floating] | tuple[NDArray[np.floating], NDArray[np.floating]],
    str,
    "array-like",
]
Pair = tuple[NDArray[np.floating] | None, NDArray[np.floating]]

NAMES = get_args(Name)
SolveSample = Callable[..., Solution]
FINDS_NUMBER = ("cones", "spa")


@dataclass(frozen=True)
class Settings:
    """The sample on which large data are factorized first, chosen on TDT2 and planted data."""

    one_in: int = 5  # rows, and columns
    per_component: int = 10  # rows and columns, at the least
    entries: int = 5_000_000  # of the rows that are gathered: 40 MB in double precision
    tol: float = 1e-3  # its optimum is not that of all the data: it need not be solved better
    window: int = 5


SETTINGS = Settings()


def start_components(
    blocks: Blocks, n_components: int | None, init: Init, rng: np.random.Generator
) -> NDArray[np.floating]:
    """Return components (k, d) to start from; an array may have any sign."""
    return start_pair(blocks, n_components, init, rng, signed=True)[1]


def start_factors(
    blocks: Blocks, n_components: int | None, init: Init, rng: np.random.Generator
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Return weights (n, k) and components (k, d) to start from."""
    weights, components = start_pair(blocks, n_components, init, rng)
    if weights is None:
        weights = blocks.map_rows(encoder(components, blocks.dtype))
    return weights, components


def start_pair(
    blocks: Blocks,
    n_components: int | None,
    init: Init,
    rng: np.random.Generator,
    *,
    signed: bool = False,
) -> Pair:
    """Return weights, if the start has any, and components."""
    if isinstance(init, str):
        weights, components = _named_start(blocks, n_components, init, rng)
    elif isinstance(init, tuple) and len(init) == 2:
        weights, components = (numbers(factor, "init") for factor in init)
    else:
        weights, components = None, numbers(init, "init")
    _check_start(blocks, n_components, weights, components, signed)
    dtype = blocks.dtype
    return weights if weights is None else weights.astype(dtype), components.astype(dtype)


def _named_start(
    blocks: Blocks, n_components: int | None, init: str, rng: np.random.Generator
) -> Pair:
    if init not in NAMES:
        raise InvalidInput(
            "is unknown",
            argument="init",
            value=init,
            remedy=f"choose one of {', '.join(NAMES)} or an array",
        )
    if n_components is None and init not in FINDS_NUMBER:
        raise InvalidInput(
            f"needs a start that finds the number, which init={init!r} does not",
            argument="n_components",
            value=None,
            remedy=f"choose one of {', '.join(FINDS_NUMBER)} or give {{argument}}",
        )
    if init in ("random", "nndsvd", "nndsvda"):
        assert n_components is not None
        if init == "random":
            return _random(blocks, n_components, rng)
        pairs = min(n_components, *blocks.shape)
        weights, components = _from_singular_vectors(blocks, pairs, init, rng)
        if pairs == n_components:
            return weights, components
    else:
        components = _from_rows(blocks, n_components, init, rng)
    return None, filled_up(blocks, components, n_components, rng)


def _from_rows(
    blocks: Blocks, n_components: int | None, init: str, rng: np.random.Generator
) -> NDArray[np.floating]:
    """Return the components of another method; none for "random-rows", which `filled_up` adds."""
    from provenmf.methods.cones.solver import cones
    from provenmf.methods.merit.solver import merit
    from provenmf.methods.separable.spa import spa

    if init == "random-rows":
        return np.empty((0, blocks.n_columns), dtype=blocks.dtype)
    if init == "merit":
        return merit(blocks, n_components, rng=rng).components
    if init == "spa":
        return spa(blocks, n_components).components
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateData)  # too few components are filled up here
        return cones(blocks, n_components, tol=1e-2).components


def filled_up(
    blocks: Blocks,
    components: NDArray[np.floating],
    n_components: int | None,
    rng: np.random.Generator,
) -> NDArray[np.floating]:
    """Add random rows of the data where fewer components were found than asked for."""
    missing = 0 if n_components is None else n_components - len(components)
    if missing <= 0:
        return components
    nonzero = np.flatnonzero(blocks.map_rows(absolute_row_sums))
    candidates = nonzero if len(nonzero) else np.arange(blocks.n_rows)
    rows = rng.choice(candidates, missing, replace=missing > len(candidates))
    return np.vstack([components, as_dense(blocks.take(np.sort(rows)))])


def _random(blocks: Blocks, k: int, rng: np.random.Generator) -> Pair:
    """Draw absolute normal entries whose product has the data's mean, as scikit-learn."""
    mean = blocks.map_reduce(lambda block: float(block.sum())) / (blocks.n_rows * blocks.n_columns)
    scale = np.sqrt(max(mean, 0.0) / k)
    components = scale * np.abs(rng.standard_normal((k, blocks.n_columns)))
    return scale * np.abs(rng.standard_normal((blocks.n_rows, k))), components


def _from_singular_vectors(blocks: Blocks, k: int, name: str, rng: np.random.Generator) -> Pair:
    """Return the larger of the two signed parts of each singular pair (nonnegative SVD)."""
    from sklearn.utils.extmath import randomized_svd

    # In double precision: where singular values are equal, rounding chooses the vectors.
    matrix = blocks.everything().astype(np.float64, copy=False)
    seed = int(rng.integers(np.iinfo(np.int32).max))
    left, values, right = randomized_svd(matrix, k, random_state=seed)
    weights, components = np.zeros((blocks.n_rows, k)), np.zeros((k, blocks.n_columns))
    for j in range(k):
        parts = [(np.maximum(s * left[:, j], 0), np.maximum(s * right[j], 0)) for s in (1, -1)]
        if j == 0:  # the leading pair of a nonnegative matrix has one sign
            parts = [(np.abs(left[:, 0]), np.abs(right[0]))]
        masses = [np.linalg.norm(u) * np.linalg.norm(v) for u, v in parts]
        best = int(np.argmax(masses))
        u, v = parts[best]
        if masses[best] > 0:
            scale = np.sqrt(values[j] * masses[best])
            weights[:, j] = scale * u / np.linalg.norm(u)
            components[j] = scale * v / np.linalg.norm(v)
    for factor in (weights, components):
        factor[factor < 1e-6] = 0.0
        if name == "nndsvda":
            factor[factor == 0] = matrix.mean()
    return weights, components


def _check_start(
    blocks: Blocks,
    n_components: int | None,
    weights: NDArray[np.floating] | None,
    components: NDArray[np.floating],
    signed: bool,
) -> None:
    k = n_components if n_components is not None else len(components)
    for name, factor, shape in (
        ("components", components, (k, blocks.n_columns)),
        ("weights", weights, (blocks.n_rows, k)),
    ):
        if factor is None:
            continue
        if factor.shape != shape:
            raise InvalidInput(f"the start's {name} have shape {factor.shape}; {shape} is needed")
        if not np.isfinite(factor).all():
            raise InvalidInput(f"the start's {name} have NaN or infinite entries: fill them")
        if not signed and (factor < 0).any():
            raise InvalidInput(f"the start's {name} have negative entries: clip them at zero")


def sample_size(blocks: Blocks, n_components: int) -> tuple[int, int]:
    """Return rows and columns of the sample: a fifth, and at least 10 per component.

    Its rows are gathered in this process with all their columns, so there are no more of them than
    the allowed entries.
    """
    least = SETTINGS.per_component * n_components
    rows, columns = (min(size, max(least, size // SETTINGS.one_in)) for size in blocks.shape)
    allowed = SETTINGS.entries * blocks.n_rows // max(1, blocks.stored_entries)
    return min(rows, max(least, allowed)), columns


def worth_sampling(blocks: Blocks, n_components: int) -> bool:
    """Return whether a sample is smaller than the data by a factor of four."""
    rows, columns = sample_size(blocks, n_components)
    return 4 * rows * columns <= blocks.n_rows * blocks.n_columns


def components_from_sample(
    blocks: Blocks,
    n_components: int,
    init: Init,
    solve_sample: SolveSample,
    rng: np.random.Generator,
) -> NDArray[np.floating]:
    """Extend the factorization of a sample to all columns.

    Rows and columns are drawn without replacement with probability proportional to their squared
    length, so words that carry weight are kept and empty rows never chosen.
    """
    n_rows, n_columns = sample_size(blocks, n_components)
    rows = _drawn(blocks.map_rows(squared_row_norms), n_rows, rng)
    columns = _drawn(blocks.map_reduce(_squared_column_norms), n_columns, rng)
    chosen = blocks.take(rows)
    sample = chosen[:, columns]
    sample = sp.csr_array(sample) if sp.issparse(sample) else np.ascontiguousarray(sample)
    found = solve_sample(as_blocks(sample), n_components, init=init, rng=rng)
    assert found.weights is not None  # alternating solvers always have some
    weights = found.weights.array()
    features = nonnegative_least_squares(weights.T @ weights, transposed_product(chosen, weights))
    alive = features.any(axis=0)
    return filled_up(blocks, features.T[alive], n_components, rng)


def _drawn(
    lengths: NDArray[np.floating], wanted: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Draw distinct positions in proportion to ``lengths``, in order."""
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


def checked_known(known: object, n_columns: int, n_components: int | None) -> NDArray[np.floating]:
    """Validate known components (m, d)."""
    rows = numbers(known, "known_components")
    problem = ""
    if rows.ndim != 2 or len(rows) == 0 or rows.shape[1] != n_columns:
        problem = f"has shape {rows.shape}: give one component a row, of {n_columns} columns"
    elif not np.isfinite(rows).all() or (rows < 0).any():
        problem = "has entries that are negative or not finite: components are not negative"
    elif n_components is not None and len(rows) > n_components:
        problem = f"has {len(rows)} rows: give at most n_components={n_components}"
    if problem:
        raise InvalidInput(f"known_components {problem}")
    return rows


def with_known_first(
    start: NDArray[np.floating], known: NDArray[np.floating]
) -> NDArray[np.floating]:
    """Return the known components, then those of the start that are least like them.

    There are as many as the start has, and no fewer than are known.
    """
    matched = match_components(start, known).found_rows
    free = np.delete(start, matched, axis=0)[: max(len(start) - len(known), 0)]
    return np.vstack([known.astype(start.dtype), free])
