"""Cone NMF: cluster the directions of the rows, then one rank-one factorization per cluster.

Z. Liu and V. Y. F. Tan, "Relative error bounds for nonnegative matrix factorization under a
geometric assumption", ICASSP 2017 ("Liu17"), Algorithms 1 and 2.

    Liu17                    here
    V (F × N)                data, transposed: rows are data points
    z_k                      centroids (k, d), data rows at unit length
    I_k or S_k               rows with labels == k
    σ_k |u_k|, |v_k|         components[k] of unit length; weights carry σ_k |v_k|
    W*, H*                   components transposed, weights transposed

Objective: ½‖X − weights @ components‖²_F over factorizations with one nonzero weight per row.
Under Liu17's inequality (1) the relative error is at most max_k sin α_k (Theorem 4).

Differs: the first centroid is fixed by a rule; rows of length zero get label −1; components have
unit length, so that a weight is the length of a row's projection, whatever the number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks
from provenmf.data.parts import Parts
from provenmf.errors import DegenerateData, InvalidInput, warn_user
from provenmf.linalg.norms import squared_row_norms
from provenmf.linalg.orthogonal import first_largest
from provenmf.methods.cones.angles import similarity_decimals
from provenmf.methods.cones.farthest_first import farthest_first, nearest_centroid
from provenmf.methods.cones.rank_one import leading_directions
from provenmf.methods.run import Callback, Run
from provenmf.results import Solution, StopReason
from provenmf.results.states import ConeState

First = Literal["longest", "random"] | int

TIE = 1e-3  # radians

# The square of a shorter row has lost digits to underflow: such a row counts as zero.
SHORTEST = 1e-140


@dataclass(frozen=True)
class Clusters:
    """Result of Algorithm 1.

    rows : row numbers of the centroids; centroids : (k, d), those rows at unit length.
    labels : nearest centroid of each row, −1 for rows of zeros, where the rows are.
    angles : angles[j] is the largest angle of any row to the first j centroids, as far as it was
        needed; angles[0] = π/2, the largest angle between nonnegative rows.
    """

    rows: NDArray[np.intp]
    centroids: NDArray[np.floating]
    labels: Parts
    angles: NDArray[np.float64]


def cones(
    blocks: Blocks,
    n_components: int | None = None,
    *,
    first: First = "longest",
    max_components: int = 100,
    tol: float = 1e-9,
    max_iter: int = 200,
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Algorithm 2 of Liu17.

    Parameters
    ----------
    n_components : number of cones; None takes it from the largest drop of the farthest-first
        angles among the first `max_components`.
    first : the first centroid: the "longest" row (the lowest of equally long ones), a "random"
        row, or the number of a row.
    tol, max_iter : relative residual at which a component is accepted, and how many passes over
        the data may be made for all of them.

    Returns
    -------
    Solution with `labels`, the centroids' row numbers as `anchors`, and a ConeState, whose
    angles are `Clusters.angles`. It has fewer components than asked for if the rows have fewer
    directions.
    """
    lengths = row_lengths(blocks)
    if not lengths.any():
        return zero_solution(blocks)
    start = first_centroid(first, lengths, similarity_decimals(blocks.dtype), rng)
    wanted = n_components or min(max_components, int(np.count_nonzero(lengths)))
    run = Run(wanted, callback=callback, verbose=verbose, name="ConeNMF")
    clusters = greedy_clusters(blocks, lengths, start, run, find_number=n_components is None)
    found = len(clusters.rows)
    no_more = run.stop_reason is StopReason.ALL_DIRECTIONS
    if n_components is not None and no_more and found < n_components:
        warn_user(
            DegenerateData(
                f"exceeds the {found} distinct directions of the rows",
                argument="n_components",
                value=n_components,
                remedy=f"{found} components are returned",
            )
        )
    components, residuals = leading_directions(
        blocks, clusters.labels, found, tol=tol, max_passes=max_iter
    )
    return Solution(
        components.astype(blocks.dtype, copy=False),
        anchors=clusters.rows,
        labels=clusters.labels.rows(),
        trace=run.trace,
        stop_reason=run.stop_reason,
        state=ConeState(
            centroids=clusters.centroids,
            farthest_first_angles=clusters.angles,
            rank_one_residuals=residuals,
        ),
    )


def greedy_clusters(
    blocks: Blocks, lengths: NDArray[np.float64], start: int, run: Run, *, find_number: bool
) -> Clusters:
    """Algorithm 1 of Liu17; with `find_number`, cut at the largest drop of the angles."""
    decimals = similarity_decimals(blocks.dtype)
    rows: list[int] = []
    centroids: list[NDArray[np.floating]] = []
    angles: list[float] = []
    for row, centroid, similarity in farthest_first(blocks, lengths, start, decimals, run):
        rows.append(row)
        centroids.append(centroid)
        angles.append(angle(similarity) if angles else math.pi / 2)
        run.record(row=row, angle=angles[-1])
    if run.stop_reason is StopReason.MAX_ITER:
        run.stop(StopReason.ALL_CENTROIDS)
    elif not run.stop_reason:
        run.stop(StopReason.ALL_DIRECTIONS)
    if run.stop_reason is StopReason.ALL_DIRECTIONS or len(rows) == np.count_nonzero(lengths):
        angles.append(0.0)
    found = largest_drop(np.array(angles)) if find_number else len(rows)
    kept = np.array(centroids[:found])
    labels, least = nearest_centroid(blocks, lengths, kept, decimals)
    if len(angles) == found:
        angles.append(angle(least))
    return Clusters(np.array(rows[:found], dtype=np.intp), kept, labels, np.array(angles))


def nearest_component_weights(
    blocks: Blocks, components: NDArray[np.floating]
) -> NDArray[np.floating]:
    """Weights with one nonzero per row; see `nearest_component_encoder`."""
    return blocks.map_rows(nearest_component_encoder(components, blocks.dtype))


def nearest_component_encoder(
    components: NDArray[np.floating], dtype: np.dtype[Any]
) -> Callable[[Block], NDArray[np.floating]]:
    """The function that projects each row of a block on the component nearest to it.

    Differs: Algorithm 2 uses the component of the row's cluster. The nearest one is never
    farther, so the error is at most the paper's, the two agree wherever inequality (1) holds, and
    the weights depend on the components alone, as a transform of new rows must.
    """
    lengths = np.linalg.norm(components, axis=1)
    safe_lengths = np.where(lengths > 0, lengths, 1.0)
    units = components / safe_lengths[:, None]

    def weights_of(block: Block) -> NDArray[np.floating]:
        products = block @ units.T
        rows, nearest = np.arange(block.shape[0]), products.argmax(axis=1)
        weights = np.zeros(products.shape, dtype=dtype)
        weights[rows, nearest] = products[rows, nearest] / safe_lengths[nearest]
        return weights

    return weights_of


def zero_solution(blocks: Blocks) -> Solution:
    """One zero component for data without a direction."""
    warn_user(
        DegenerateData(
            f"no row of X is longer than {SHORTEST}", remedy="one zero component is returned"
        )
    )
    zero = np.zeros((1, blocks.n_columns), dtype=blocks.dtype)
    return Solution(
        zero,
        labels=np.full(blocks.n_rows, -1, dtype=np.intp),
        stop_reason=StopReason.ALL_DIRECTIONS,
        state=ConeState(zero.copy()),
    )


def row_lengths(blocks: Blocks) -> NDArray[np.float64]:
    """One pass: the length of each row; zero if it is shorter than SHORTEST."""
    lengths = blocks.map_rows(_lengths_of)
    if not np.isfinite(lengths).all():
        row = int(np.flatnonzero(~np.isfinite(lengths))[0])
        raise InvalidInput(f"row {row} of X is too large to be squared: divide X by its maximum")
    return lengths


def _lengths_of(block: Block) -> NDArray[np.float64]:
    lengths = np.sqrt(squared_row_norms(block))
    return np.where(lengths < SHORTEST, 0.0, lengths)


def first_centroid(
    first: First, lengths: NDArray[np.float64], decimals: int, rng: np.random.Generator | None
) -> int:
    """Row number of the first centroid; it must have a direction.

    Lengths that agree to ``decimals`` are equal: rows scaled to unit length differ by rounding.
    """
    if first == "longest":
        return int(np.argmax(lengths >= (1.0 - 10.0**-decimals) * lengths.max()))
    if first == "random":
        generator = rng if rng is not None else np.random.default_rng(0)
        return int(generator.choice(np.flatnonzero(lengths)))
    row = int(first)
    if not 0 <= row < lengths.size or lengths[row] == 0:
        raise InvalidInput(
            "is not a row with a direction",
            argument="first",
            value=row,
            remedy=f"choose 'longest', 'random' or a nonzero row below {lengths.size}",
        )
    return row


def largest_drop(angles: NDArray[np.float64]) -> int:
    """Number of cones from farthest-first angles: where they fall most.

    angles[k] is the angle at which centroid k was chosen, angles[0] = π/2. Inside cones that
    satisfy inequality (1) every angle before the last cone is found exceeds every angle after it.
    Of equal falls the first counts: small angles of single-precision rows are off by `TIE`.
    """
    return first_largest(angles[:-1] - angles[1:], TIE) + 1 if angles.size > 1 else 1


def angle(similarity: float) -> float:
    """Angle between unit vectors from their inner product."""
    return math.acos(min(1.0, max(-1.0, similarity)))
