"""GeoNMF: pure nodes of a network as far-apart ones among the longest degree-scaled rows.

Mao, Sarkar & Chakrabarti, "On mixed memberships and symmetric nonnegative matrix factorizations",
2017 (Mao17), Algorithms 1 and 2.

    Mao17                                here
    X̂ = D^(-1/2) V E^(1/2)               data: eigenvectors scaled by eigenvalues and degrees
    ε₀                                   spread
    F = {i : ‖X̂_i‖ ≥ (1 − ε₀) max}       candidates
    S_p from PartitionPureNodes          anchors

Differs: Mao17 splits the nodes at random and estimates each half from the other, which serves its
proof; here all nodes are used. It picks pure nodes at random, each time discarding those within a
radius τ; here the first is the longest candidate and each next one the farthest from those chosen,
which is the same partition wherever the pure nodes form k groups, needs no τ, and gives the same
answer twice.
"""

from __future__ import annotations

import numpy as np

from provenmf.data import Blocks
from provenmf.errors import InvalidInput
from provenmf.linalg.norms import squared_row_norms
from provenmf.methods.separable.anchors import dense_rows
from provenmf.results import Solution, StopReason


def geo_nmf(blocks: Blocks, n_components: int, *, spread: float) -> Solution:
    """Anchors among the rows whose length is at least (1 − spread) of the largest."""
    lengths = np.sqrt(blocks.map_rows(squared_row_norms))
    candidates = np.flatnonzero(lengths >= (1 - spread) * lengths.max())
    if len(candidates) < n_components:
        raise InvalidInput(
            f"only {len(candidates)} rows are long enough to be pure: raise spread={spread} "
            "towards 1"
        )
    rows = dense_rows(blocks, candidates)
    chosen = [int(np.argmax(lengths[candidates]))]
    distance = squared_row_norms(rows - rows[chosen[0]])
    for _ in range(n_components - 1):
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, squared_row_norms(rows - rows[chosen[-1]]))
    return Solution(rows[chosen], anchors=candidates[chosen], stop_reason=StopReason.CONVERGED)
