"""How far components can move without changing the product: at least, and at the most.

*At least*: factorizations W A, A⁻¹ H are computed and found nonnegative with more than rounding to
spare. *At the most*: linear programs bound the change in any factorization, see `change_at_most`.

Some zeros may stay zero whatever A does. This happens by pattern: A_ij may differ from zero only
for some pairs, a transitive relation, so that products and inverses of such A have the pattern too;
an entry of W A is then a sum of nothing. All other entries must become positive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from provenmf.certificate.rigidity import EPS, NEGLIGIBLE, ROUNDS, Array, Entries, Indices
from provenmf.certificate.singular_values import least_stretch

# Moves from one factorization of a product to another, one component at a time.
#
# A move of one component, A = I + e_i uᵀ with u_i = 0, has the inverse I − e_i uᵀ. It changes
# component i into H_i − uᵀH and adds multiples of column i of W to the other columns, so that what
# it may be is a polytope, and how far it turns the component a linear-fractional program.

Pairs = NDArray[np.bool_]

# About how many linear programs are solved to find how far components can move.
PROGRAMS = 40
# The share of the longest possible move that is made, so that no entry becomes zero.
SHARE = 0.999


@dataclass(frozen=True)
class Ambiguity:
    """Another factorization, and the angles that components were seen to turn by, in degrees."""

    transition: Array
    degrees: Array


def must_rise(entries: Entries, pairs: Pairs) -> tuple[Pairs, Pairs]:
    """Return which entries of W and of H are positive or can become so with the pattern."""
    within = (pairs | np.eye(entries.k, dtype=bool)).astype(np.float64)
    of_weights = (entries.weights > 0).astype(np.float64) @ within > 0
    of_components = within @ (entries.plain > 0).astype(np.float64) > 0
    return of_weights, of_components


def is_factorization(entries: Entries, pairs: Pairs, transition: Array) -> bool:
    """Return whether W A and A⁻¹ H are nonnegative for certain: above their rounding errors.

    A has the given pattern, so that entries which it cannot reach are zero.
    """
    condition = float(np.linalg.cond(transition))
    if not condition < 1e6:
        return False
    rounding = 100 * entries.k * EPS
    weights = entries.weights @ transition
    enough = rounding * (entries.weights @ np.abs(transition))
    components = np.linalg.solve(transition, entries.components)
    sizes = rounding * condition * np.abs(components).max(axis=0, keepdims=True)
    of_weights, of_components = must_rise(entries, pairs)
    return bool((weights > enough)[of_weights].all() and (components > sizes)[of_components].all())


def angles(entries: Entries, transition: Array) -> Array:
    """Return the angle by which each component has turned, in degrees."""
    home, moved = _unit(entries.plain), _unit(np.linalg.solve(transition, entries.plain))
    half_chords = np.linalg.norm(moved - home, axis=1) / 2
    return np.asarray(np.degrees(2 * np.arcsin(np.minimum(half_chords, 1.0))))


def _unit(rows: NDArray[np.floating[Any]]) -> Array:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float64)


def turn(
    entries: Entries, pairs: Pairs, component: int, start: Array, best: Ambiguity
) -> Ambiguity:
    """Turn one component as far as some moves take it, towards the others and away from them.

    Moves of the other components in between open up more room; they are k times as many, and only
    made where few components leave programs for them.
    """
    k = entries.k
    rng = np.random.default_rng(component)
    others = np.delete(np.arange(k), component)
    home = entries.plain[component]
    for sign in (1.0, -1.0):
        transition = start
        rounds = PROGRAMS // (2 * k * k)
        for number in range(max(1, rounds) if PROGRAMS else 0):
            towards = sign * entries.plain[others[number % len(others)]]
            transition = _move(entries, pairs, transition, component, towards, home, SHARE)
            best = _better(entries, transition, best)
            for other in others.tolist() if rounds else ():
                there = np.asarray(rng.standard_normal(entries.plain.shape[1]))
                transition = _move(entries, pairs, transition, other, there, home, 0.5)
    return best


def _better(entries: Entries, transition: Array, best: Ambiguity) -> Ambiguity:
    """Keep the largest angle of each component, and the factorization with the largest of all."""
    turned = angles(entries, transition)
    kept = transition if turned.max() > best.degrees.max() else best.transition
    return Ambiguity(kept, np.maximum(best.degrees, turned))


def _move(
    entries: Entries,
    pairs: Pairs,
    transition: Array,
    i: int,
    towards: Array,
    home: Array,
    share: float,
) -> Array:
    """Move component i, all others fixed, where ⟨towards, h⟩/⟨home, h⟩ is largest; `share` of it.

    Variables s > 0 and v with h = s H_i − vᵀH ≥ 0, v_j ≥ −s min_r W_rj/W_ri, ⟨home, h⟩ = 1.
    """
    others = np.flatnonzero(pairs[i])
    if len(others) == 0:
        return transition
    weights = entries.weights @ transition
    used = weights[:, i] > 0
    lowest = (weights[used][:, others] / weights[used, i : i + 1]).min(axis=0)
    columns, plain = (np.linalg.solve(transition, h) for h in (entries.components, entries.plain))
    signed = np.vstack([columns[i], -columns[others]])
    moved = np.vstack([plain[i], -plain[others]])
    limits = np.column_stack([-np.maximum(lowest, 0.0), -np.eye(len(others))])
    program = linprog(
        -(moved @ towards),
        A_ub=np.vstack([-signed.T, limits]),
        b_ub=np.zeros(signed.shape[1] + len(limits)),
        A_eq=(moved @ home)[None, :],
        b_eq=[1.0],
        bounds=[(1e-3, None)] + [(None, None)] * len(others),
    )
    if program.status != 0:
        return transition
    move = np.zeros(entries.k)
    move[others] = share * program.x[1:] / program.x[0]
    result = transition + np.outer(transition[:, i], move)
    return result if is_factorization(entries, pairs, result) else transition


# Entries up to this size are rounding errors of a zero, in most data.
NEARLY_ZERO = 1e-9


def explore(entries: Entries) -> Ambiguity | None:
    """Find other factorizations of the product; None if none was found.

    Entries that are nearly zero leave no room for a step that lowers them. Where exact zeros do
    not lead to one, those are to rise as well.
    """
    almost = entries.up_to(NEARLY_ZERO)
    choices = [entries.zeros, almost] if len(almost) > len(entries.zeros) else [entries.zeros]
    tries = ((pairs, zeros) for zeros in choices for pairs in _patterns(entries))
    for pairs, zeros in tries:
        direction = strict_direction(entries, pairs, zeros)
        start = None if direction is None else _first_step(entries, pairs, direction)
        if start is not None:
            best = Ambiguity(start, angles(entries, start))
            for component in range(entries.k):
                best = turn(entries, pairs, component, start, best)
            return best
    return None


def other_factors(
    weights: NDArray[Any], components: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Find another nonnegative factorization of weights @ components; None if there is none.

    The one that turned a component farthest, in the scale of the given components.

    Parameters
    ----------
    weights, components : ndarray of shape (n, k) and (k, d)
        Factors without negative entries.

    Returns
    -------
    tuple of ndarray, or None
        Weights (n, k) and components (k, d) with the same product up to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf.certificate.ambiguity import other_factors
    >>> weights, components = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[2.0, 1], [1, 2]])
    >>> others = other_factors(weights, components)
    >>> np.allclose(others[0] @ others[1], weights @ components)
    True
    """
    entries = Entries(weights, components)
    found = explore(entries)
    if found is None:
        return None
    sizes = components.max(axis=1) / entries.plain.max(axis=1)
    transition = found.transition * np.outer(sizes, 1 / sizes)
    moved = np.linalg.solve(transition, components.astype(np.float64))
    # entries that must be zero are zero up to rounding
    return np.maximum(weights @ transition, 0.0), np.maximum(moved, 0.0)


def nested_supports(entries: Entries) -> tuple[Pairs, Pairs]:
    """Return the pairs (i, j) that can always be mixed, for components and for weights.

    Where component j is zero outside component i, H_i − t H_j and W_j + t W_i are a factorization
    for small t > 0: A_ij = t. Where column i of W is zero outside column j, so is A_ij = −t.
    """
    apart = ~np.eye(entries.k, dtype=bool)
    present = (entries.plain > 0).astype(np.float64)
    absent = 1 - present
    of_components = (absent @ present.T == 0) & apart
    used = (entries.weights > 0).astype(np.float64)
    of_weights = (used.T @ (1 - used) == 0) & apart
    return of_components, of_weights


def _patterns(entries: Entries) -> Iterator[Pairs]:
    """Yield transitive relations that A may have, the largest first."""
    yield ~np.eye(entries.k, dtype=bool)
    for pairs in nested_supports(entries):
        if pairs.any() and _is_transitive(pairs):
            yield pairs


def _is_transitive(pairs: Pairs) -> bool:
    within = pairs | np.eye(len(pairs), dtype=bool)
    return not bool(((within.astype(int) @ within) > 0)[~within].any())


def strict_direction(entries: Entries, pairs: Pairs, zeros: Indices) -> Array | None:
    """Find T on the pattern with W T > 0 and −T H > 0 on all of `zeros` that it can reach.

    max t subject to C T ≥ t, |T| ≤ 1; None if t is zero.
    """
    sizes = _largest_coefficients(entries, pairs)
    zeros = zeros[sizes[zeros] > 0]
    mask = pairs[~np.eye(entries.k, dtype=bool)]
    limits = [(-float(free), float(free)) for free in mask] + [(0.0, 1.0)]
    goal = np.append(np.zeros(len(mask)), -1.0)
    chosen: Indices = zeros[:0]
    for _ in range(ROUNDS):
        conditions = entries.matrix(chosen).toarray() * mask / sizes[chosen, None]
        above = np.column_stack([-conditions, np.ones(len(chosen))])
        program = linprog(goal, A_ub=above, b_ub=np.zeros(len(chosen)), bounds=limits)
        if program.status != 0 or program.x[-1] <= NEGLIGIBLE:
            return None
        direction = entries.transition(program.x[:-1])
        slack = entries.slack(direction)[zeros] / sizes[zeros]
        order = np.argsort(slack)[: 20 * entries.k]
        low = zeros[order[slack[order] < program.x[-1] / 2]]
        if len(low) == 0:
            return direction
        chosen = np.union1d(chosen, low)
    return None


def _largest_coefficients(entries: Entries, pairs: Pairs) -> Array:
    """Return the largest coefficient that the pattern leaves each condition; 0 if none."""
    of_weights = [entries.weights[:, free].max(axis=1, initial=0.0) for free in pairs.T]
    of_components = [entries.components[free].max(axis=0, initial=0.0) for free in pairs]
    return np.concatenate([np.column_stack(of_weights).ravel(), np.concatenate(of_components)])


def _first_step(entries: Entries, pairs: Pairs, direction: Array) -> Array | None:
    """Return I + α T with the largest α among 1, 1/2, 1/4, … that gives a factorization."""
    for step in 0.5 ** np.arange(40):
        transition = np.eye(entries.k) + step * direction
        if is_factorization(entries, pairs, transition):
            return np.asarray(transition)
    return None


# How far components can change at the most.
#
# W (n, k) and H (k, d) have rank k and no negative entry, and WH = W′H′ is another factorization
# into k nonnegative parts. Its components are t H with t H ≥ 0. Scale them so that t·σ = 1, with σ
# the sums of the rows of H, and write s_i = t_i σ_i: s are the shares of the old components in a
# new one, of any sign, and add up to one. Row r of the product, scaled alike, has the shares
# W_ri σ_i/(W_r·σ), and is a mean of the new components. So for every j there is a new component in
#
#     S_j = {s : Σ s_i H_i/σ_i ≥ 0, Σ s_i = 1, s_j ≥ a_j},    a_j = max_r W_rj σ_j/(W_r·σ).
#
# Where no two of S_1, …, S_k meet, these are different ones, one for each j. A component h with the
# shares s differs from h_j = H_j/σ_j by Σ_{i≠j} s_i (h_i − h_j), that is, in Σ_{i≠j} |s_i| δ_ij of
# its mass at most, δ being half the sum of absolute differences. For two components nothing is
# lost: these are the feasible bands of Lawton & Sylvestre 1971. For more, S_j is larger.
#
# Linear programs over S_j propose how large s_i can be; what is claimed is their dual. With y ≥ 0
# over the columns, z ≥ 0 and λ put r = λσ − H y − z σ_j e_j − σ_i e_i. On S_j then
# s_i = σ_i t_i = λ − y·(tH) − z s_j − r·t ≤ λ − z a_j + ‖r‖ ‖t‖, and ‖t‖ ≤ ‖tH‖/least stretch of H.

# Columns that a linear program is given: fewer make S_j larger, never smaller.
MOST_COLUMNS = 400
DIRECTIONS = 2000


def change_at_most(entries: Entries) -> Array | None:
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
        self.columns = _extreme_columns(entries.components)

    def shares(self) -> tuple[Array, Array]:
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


def _extreme_columns(columns: Array) -> Array:
    """Return the columns, or those that bound {t : tH ≥ 0} in some random directions."""
    if columns.shape[1] <= MOST_COLUMNS:
        return columns
    rng = np.random.default_rng(0)
    lengths = np.linalg.norm(columns, axis=0)
    unit = columns / np.where(lengths > 0, lengths, 1.0)
    lowest = np.argsort((rng.standard_normal((DIRECTIONS, len(columns))) @ unit), axis=1)[:, 0]
    values, counts = np.unique(lowest, return_counts=True)
    return columns[:, values[np.argsort(-counts)[:MOST_COLUMNS]]]
