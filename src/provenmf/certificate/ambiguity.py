"""Other factorizations of the same product: an explicit one, and how far each component can move.

Everything here is from inside: each factorization W A, A⁻¹ H was computed and found nonnegative
with more than rounding to spare. How far components can move at most is not known from this.

Some zeros may stay zero whatever A does. This happens by pattern: A_ij may differ from zero only
for some pairs, a transitive relation, so that products and inverses of such A have the pattern too;
an entry of W A is then a sum of nothing. All other entries must become positive.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from provenmf.certificate.moves import Ambiguity, Pairs, angles, is_factorization, turn
from provenmf.certificate.rigidity import NEGLIGIBLE, ROUNDS, Array, Entries, Indices

# Entries up to this size are rounding errors of a zero, in most data.
NEARLY_ZERO = 1e-9
# Zeros beyond which the pattern of what can move is not sought by a program.
PATTERN_ZEROS = 3000


def explore(entries: Entries) -> Ambiguity | None:
    """Find other factorizations of the product; None if none was found.

    Entries that are nearly zero leave no room for a step that lowers them. Where exact zeros do
    not lead to one, those are to rise as well.
    """
    almost = entries.up_to(NEARLY_ZERO)
    choices = [entries.zeros, almost] if len(almost) > len(entries.zeros) else [entries.zeros]
    tries = ((pairs, zeros) for zeros in choices for pairs in _patterns(entries, zeros))
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
    """Another nonnegative factorization of weights @ components; None if none was found.

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
    """Pairs (i, j) that can always be mixed, for components and for weights.

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


def _patterns(entries: Entries, zeros: Indices) -> Iterator[Pairs]:
    """Transitive relations that A may have, the largest first."""
    yield ~np.eye(entries.k, dtype=bool)
    found = [_movable(entries, zeros)] if len(zeros) <= PATTERN_ZEROS else []
    for pairs in (*found, *nested_supports(entries)):
        if pairs.any() and _is_transitive(pairs):
            yield pairs


def _is_transitive(pairs: Pairs) -> bool:
    within = pairs | np.eye(len(pairs), dtype=bool)
    return not bool(((within.astype(int) @ within) > 0)[~within].any())


def _movable(entries: Entries, zeros: Indices) -> Pairs:
    """Unknowns outside all conditions that every T satisfies with equality.

    max Σ s subject to C T ≥ s, 0 ≤ s ≤ 1 makes as many conditions strict as can be.
    """
    matrix = entries.matrix(zeros)
    count, unknowns = matrix.shape
    program = linprog(
        np.concatenate([np.zeros(unknowns), -np.ones(count)]),
        A_ub=np.column_stack([-matrix.toarray(), np.eye(count)]),
        b_ub=np.zeros(count),
        bounds=[(None, None)] * unknowns + [(0.0, 1.0)] * count,
    )
    if program.status != 0:
        return np.zeros((entries.k, entries.k), dtype=bool)
    tight = program.x[unknowns:] < 0.5
    free = np.asarray(abs(matrix[tight]).sum(axis=0)) == 0
    return entries.transition(free.astype(np.float64)) > 0


def strict_direction(entries: Entries, pairs: Pairs, zeros: Indices) -> Array | None:
    """T on the pattern with (W T) > 0 and −(T H) > 0 on all of `zeros` that it can reach.

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
    """For each condition the largest coefficient that the pattern leaves it; 0 if none."""
    of_weights = [entries.weights[:, free].max(axis=1, initial=0.0) for free in pairs.T]
    of_components = [entries.components[free].max(axis=0, initial=0.0) for free in pairs]
    return np.concatenate([np.column_stack(of_weights).ravel(), np.concatenate(of_components)])


def _first_step(entries: Entries, pairs: Pairs, direction: Array) -> Array | None:
    """A = I + α T with the largest α among 1, 1/2, 1/4, … that gives a factorization."""
    for step in 0.5 ** np.arange(40):
        transition = np.eye(entries.k) + step * direction
        if is_factorization(entries, pairs, transition):
            return np.asarray(transition)
    return None
