"""How far components can change at the most, in any factorization of the same product.

W (n, k) and H (k, d) have rank k and no negative entry, and WH = W′H′ is another factorization
into k nonnegative parts. Its components are t H with t H ≥ 0. Scale them so that t·σ = 1, with σ
the sums of the rows of H, and write s_i = t_i σ_i: s are the shares of the old components in a new
one, of any sign, and add up to one. Row r of the product, scaled alike, has the shares
W_ri σ_i/(W_r·σ), and is a mean of the new components. So for every j there is a new component in

    S_j = {s : Σ s_i H_i/σ_i ≥ 0, Σ s_i = 1, s_j ≥ a_j},    a_j = max_r W_rj σ_j/(W_r·σ).

Where no two of S_1, …, S_k meet, these are different ones, one for each j. A component h with the
shares s differs from h_j = H_j/σ_j by Σ_{i≠j} s_i (h_i − h_j), that is, in Σ_{i≠j} |s_i| δ_ij of
its mass at most, δ being half the sum of absolute differences. For two components nothing is lost:
these are the feasible bands of Lawton & Sylvestre 1971. For more, S_j is larger than the feasible.

Linear programs over S_j propose how large s_i can be; what is claimed is their dual. With y ≥ 0
over the columns, z ≥ 0 and λ put r = λσ − H y − z σ_j e_j − σ_i e_i. On S_j then
s_i = σ_i t_i = λ − y·(tH) − z s_j − r·t ≤ λ − z a_j + ‖r‖ ‖t‖, and ‖t‖ ≤ ‖tH‖/least stretch of H.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from provenmf.certificate.rigidity import EPS, Entries
from provenmf.certificate.singular_values import least_stretch

Floats = NDArray[np.float64]

# Columns that a linear program is given: fewer make S_j larger, never smaller.
MOST_COLUMNS = 400
DIRECTIONS = 2000


def change_at_most(entries: Entries) -> Floats | None:
    """Bound the share of each component's mass that can change; None if nothing is proved.

    For components in the order of those given, matched one to one.
    """
    bands = Bands(entries)
    if not bands.reach < 1e6:
        return None
    highest, lowest = bands.shares()
    # S_i and S_j do not meet if s_j stays below a_j on S_i, or s_i below a_i on S_j
    apart = highest < bands.purest
    if not (apart | apart.T | np.eye(entries.k, dtype=bool)).all():
        return None
    largest = np.maximum(highest, -lowest)
    np.fill_diagonal(largest, 0.0)
    changed = (np.maximum(largest, 0.0) * bands.differences).sum(axis=1)
    return np.asarray(np.minimum(changed * (1 + 1e-9) + bands.rounding, 1.0))


class Bands:
    """The sets S_j of one factorization, and bounds of shares on them."""

    def __init__(self, entries: Entries) -> None:
        self.components = entries.plain
        self.sums = self.components.sum(axis=1)
        self.k, d = self.components.shape
        used = entries.weights[entries.weights.any(axis=1)] * self.sums
        shares = used / used.sum(axis=1, keepdims=True)
        self.purest = np.minimum(shares.max(axis=0), 1.0) * (1 - 4 * (self.k + 2) * EPS)
        unit = self.components / self.sums[:, None]
        self.differences = np.abs(unit[:, None] - unit[None]).sum(axis=2) / 2 + (d + 4) * EPS
        # ‖t‖ for t·σ = 1: tH is nonnegative, and its sum is one up to the rounding of the sums
        stretch = least_stretch(self.components)
        of_sums = 2 * d * EPS * float(np.linalg.norm(self.sums))
        self.reach = 1 / (stretch - of_sums) if stretch > 2 * of_sums else np.inf
        self.rounding = 4 * self.reach * of_sums
        self.columns = _extreme(entries.components)

    def shares(self) -> tuple[Floats, Floats]:
        """Return upper and lower bounds of s_i on S_j, in row j and column i."""
        highest, lowest = np.ones((self.k, self.k)), np.ones((self.k, self.k))
        for j in range(self.k):
            for i in range(self.k):
                if i != j:
                    highest[j, i] = self._at_most(j, i, 1.0)
                    lowest[j, i] = -self._at_most(j, i, -1.0)
        return highest, lowest

    def _at_most(self, j: int, i: int, sign: float) -> float:
        """Bound `sign` times s_i on S_j from above, by the multipliers of a linear program."""
        goal = np.zeros(self.k)
        goal[i] = sign * self.sums[i]
        pure = np.zeros(self.k)
        pure[j] = self.sums[j]
        program = linprog(
            -goal,
            A_ub=-np.vstack([self.columns.T, pure]),
            b_ub=np.append(np.zeros(self.columns.shape[1]), -self.purest[j]),
            A_eq=self.sums[None],
            b_eq=[1.0],
            bounds=(None, None),
            method="highs",
        )
        if program.status != 0:
            return np.inf
        multipliers = np.maximum(-program.ineqlin.marginals, 0.0)
        y, z = multipliers[:-1], float(multipliers[-1])
        level = -float(program.eqlin.marginals[0])
        parts = np.column_stack([level * self.sums, -self.columns @ y, -z * pure, -goal])
        sizes = np.abs(level) * self.sums + self.columns @ y + z * pure + np.abs(goal)
        left = np.abs(parts.sum(axis=1)) + 2 * (len(y) + 8) * EPS * sizes
        bound = level - z * self.purest[j] + float(np.linalg.norm(left)) * self.reach * (1 + 1e-9)
        return float(bound + 8 * EPS * (abs(level) + z))


def _extreme(columns: Floats) -> Floats:
    """Return the columns, or those that bound {t : tH ≥ 0} in some random directions."""
    if columns.shape[1] <= MOST_COLUMNS:
        return columns
    rng = np.random.default_rng(0)
    lengths = np.linalg.norm(columns, axis=0)
    unit = columns / np.where(lengths > 0, lengths, 1.0)
    lowest = np.argsort((rng.standard_normal((DIRECTIONS, len(columns))) @ unit), axis=1)[:, 0]
    values, counts = np.unique(lowest, return_counts=True)
    return columns[:, values[np.argsort(-counts)[:MOST_COLUMNS]]]
