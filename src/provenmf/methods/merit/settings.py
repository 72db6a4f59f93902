"""Thresholds of MERIT, each with its source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Numbers that were chosen by experiment, or that limit the cost of a step."""

    # lam = noise_multiple * mean squared distance of a row to the hull of the anchors. A row's gain
    # from representing itself is its squared noise; lam must be a little above that, whatever n.
    # Found by experiment: 0.8 to 1.4 on Table I data, 1.2 to 1.5 on Fig. 2 data of Nguyen22.
    noise_multiple: float = 1.35
    # Rows closer than this share of the typical residual cannot be told apart.
    duplicate_share: float = 0.1
    # Squared residuals below this share of the largest squared row are rounding.
    exact: float = 1e-14
    # A row that holds at least this much of some row is a strong candidate for an anchor.
    strong: float = 0.5
    surplus: int = 12  # strong candidates compared beyond the number asked for
    # Greedy anchors replace those of the optimum if they leave less than this share of its mean
    # squared residual. Experiment (middle points, 7 to 12 dB): lower ones lose anchors to SPA in
    # Gaussian noise, higher ones to pushed middle points of Fig. 2.
    greedy_share: float = 0.97
    # Anchors are enough for a start if they leave at most this multiple of the noise that the most
    # anchors leave.
    plausible: float = 1.3
    # For the number of anchors: halvings of the penalty on its path; by how much the maxima must
    # drop behind the anchors; by what factor distances must. Experiment: pure noise stays below.
    path_steps: int = 20
    least_drop: float = 0.1
    clear_gap: float = 2.0
    # Up to few_rows all rows are vertices, and the steps start from C = 0; beyond, `dictionary`
    # extreme rows are. Experiments: from 1000 rows on the second is faster and as good.
    few_rows: int = 1000
    dictionary: int = 400
    directions: int = 1000  # random, whose extreme rows are candidates
    # Pairwise steps take over after this many open-loop steps, or after settled_steps of them if
    # the leading rows have not changed for half of the time.
    open_loop_steps: int = 300
    settled_steps: int = 100
    pairwise_steps: int = 10  # at most, in each row and sweep
    compared_rows: int = 3000  # sampled to compare anchors
    dense_share: float = 0.05  # of stored entries: above it, products of dense rows are faster
    slice_scores: int = 2**18  # products of rows and atoms that fill a second-level cache
    block_bytes: int = 1 << 26  # of rows in one block, with row_bytes of pairs for each
    row_bytes: int = 1000


SETTINGS = Settings()
