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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks, Part, Rows
from provenmf.errors import DegenerateData, InvalidInput, warn_user
from provenmf.linalg.norms import first_largest, squared_row_norms
from provenmf.methods.cones.kernels import leading_directions, similarity_decimals
from provenmf.methods.run import Callback, Run
from provenmf.methods.separable.anchors import FarthestRows
from provenmf.results import Solution, StopReason
from provenmf.results.states import ConeState

MOST_CONES = 100  # tried if their number is to be found
SHORTEST = 1e-140  # the square of a shorter row underflows: it counts as zero


def cones(
    blocks: Blocks,
    n_components: int | None = None,
    *,
    first: int | None = None,
    tol: float = 1e-9,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Factorize by Algorithm 2 of Liu17.

    Parameters
    ----------
    n_components : number of cones; None takes it from the largest drop of the farthest-first
        angles among the first 100.
    first : row number of the first centroid; None takes the longest row, the lowest of equals.
    tol : relative residual at which a component is accepted.

    Returns
    -------
    Solution with `labels`, −1 for rows of zeros, the centroids' row numbers as `anchors`, and a
    ConeState: its angle j is the largest of any row to the first j centroids, as far as it was
    needed; angle 0 is π/2, the largest between nonnegative rows. It has fewer components than asked
    for if the rows have fewer directions.
    """
    farthest = FarthestRows(blocks, Apartness(similarity_decimals(blocks.dtype)))
    lengths = farthest.known[:, 0]
    if not lengths.any():
        return zero_solution(blocks)
    start = first_centroid(first, lengths, similarity_decimals(blocks.dtype))
    wanted = n_components or min(MOST_CONES, int(np.count_nonzero(lengths)))
    run = Run(wanted, callback=callback, verbose=verbose, name="ConeNMF")
    rows, centroids, angles = greedy_centroids(farthest, start, run)
    found = largest_drop(np.array(angles)) if n_components is None else len(rows)
    kept = np.array(centroids[:found])
    labels, least = nearest_centroid(blocks, lengths, kept, similarity_decimals(blocks.dtype))
    if len(angles) == found:
        angles.append(angle(least))
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
    components, residuals = leading_directions(blocks, labels, found, tol=tol, max_passes=200)
    return Solution(
        components.astype(blocks.dtype, copy=False),
        anchors=np.array(rows[:found], dtype=np.intp),
        labels=labels.array(),
        trace=run.trace,
        stop_reason=run.stop_reason,
        state=ConeState(
            centroids=kept,
            farthest_first_angles=np.array(angles),
            rank_one_residuals=residuals,
        ),
    )


def greedy_centroids(
    farthest: FarthestRows, start: int, run: Run
) -> tuple[list[int], list[NDArray[np.floating]], list[float]]:
    """Choose centroids by Algorithm 1 of Liu17: row numbers, unit vectors, farthest-first angles.

    The next centroid is the row whose largest inner product with the centroids chosen so far, all
    at unit length, is smallest (Eq. (2)). If every row has the direction of a centroid, the angles
    end with zero.
    """
    rows: list[int] = []
    centroids: list[NDArray[np.floating]] = []
    angles: list[float] = []
    row, apart = start, 1.0
    for _ in run:
        if rows:
            row, apart = farthest.farthest()
        if apart == 0:
            run.stop(StopReason.ALL_DIRECTIONS)
            continue
        rows.append(row)
        entries = farthest.row(row)
        centroids.append(np.asarray(entries / entries.dtype.type(farthest.known[row, 0])))
        angles.append(angle(1.0 - apart))
        run.record(row=row, angle=angles[-1])
        farthest.choose([row], centroids[-1][None])
    if run.stop_reason is StopReason.MAX_ITER:
        run.stop(StopReason.ALL_CENTROIDS)
    if run.stop_reason is StopReason.ALL_DIRECTIONS or len(rows) == np.count_nonzero(
        farthest.known
    ):
        angles.append(0.0)
    return rows, centroids, angles


@dataclass(frozen=True)
class Apartness:
    """One minus the largest cosine of a row with any centroid; zero for rows without a direction.

    Cosines are compared to `decimals`: their last bits depend on how rows are cut into blocks.
    """

    decimals: int

    def begin(self, block: Block) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the length of each row, and a score above all others."""
        lengths = np.sqrt(squared_row_norms(block))
        lengths = np.where(lengths < SHORTEST, 0.0, lengths)
        return lengths[:, None], np.where(lengths > 0, 2.0, 0.0)

    def after(
        self,
        block: Block,
        known: NDArray[np.float64],
        scores: NDArray[np.float64],
        vectors: NDArray[Any],
    ) -> NDArray[np.float64]:
        """Return the scores after further centroids were chosen."""
        lengths = known[:, 0]
        cosines = (block @ vectors.T).max(axis=1, initial=-1.0) / np.where(
            lengths > 0, lengths, 1.0
        )
        apart = np.minimum(scores, 1.0 - cosines.astype(np.float64))
        return np.where(apart > 0.5 * 10.0**-self.decimals, apart, 0.0)

    def rounding(self, known: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return by how much cosines may differ and still count as equal."""
        return np.full(len(known), 10.0**-self.decimals)


def nearest_component_encoder(
    components: NDArray[np.floating], dtype: np.dtype[Any]
) -> Callable[[Block], NDArray[np.floating]]:
    """Return the function that projects each row of a block on the component nearest to it.

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
    """Return one zero component for data without a direction."""
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


def first_centroid(first: int | None, lengths: NDArray[np.float64], decimals: int) -> int:
    """Return the row number of the first centroid.

    Lengths that agree to ``decimals`` are equal: rows scaled to unit length differ by rounding.
    """
    if first is None:
        return int(np.argmax(lengths >= (1.0 - 10.0**-decimals) * lengths.max()))
    if not first < lengths.size or lengths[first] == 0:
        raise InvalidInput(
            "is not a row with a direction",
            argument="first",
            value=first,
            remedy=f"choose None or a nonzero row below {lengths.size}",
        )
    return first


def largest_drop(angles: NDArray[np.float64]) -> int:
    """Return the number of cones from farthest-first angles: where they fall most.

    angles[k] is the angle at which centroid k was chosen, angles[0] = π/2. Inside cones that
    satisfy inequality (1) every angle before the last cone is found exceeds every angle after it.
    Of equal falls the first counts: small angles of single-precision rows are off by 1e-3.
    """
    return first_largest(angles[:-1] - angles[1:], 1e-3) + 1 if angles.size > 1 else 1


def angle(similarity: float) -> float:
    """Return the angle between unit vectors from their inner product."""
    return math.acos(min(1.0, max(-1.0, similarity)))


def nearest_centroid(
    blocks: Blocks, lengths: NDArray[np.float64], centroids: NDArray[np.floating], decimals: int
) -> tuple[Rows, float]:
    """Label each row by its nearest centroid (Algorithm 1, step 4); return the least product.

    Equally near centroids: the one chosen first. Rows of length zero: label −1.
    """

    def nearest(block: Block, length: NDArray[np.floating]) -> Part:
        products = block @ centroids.T
        largest = products.max(axis=1)
        close = products >= (largest - length * 10.0**-decimals)[:, None]
        directed = length > 0
        labels = np.where(directed, close.argmax(axis=1), -1)
        return labels, np.where(directed, largest, np.inf) / np.where(directed, length, 1.0)

    found = blocks.keep(nearest, lengths)
    least = min(found.each(lambda part: part[1].min(initial=np.inf)))
    return found.map(lambda part: part[0]), float(least)
