"""Moves from one factorization of a product to another, one component at a time.

A move of one component, A = I + e_i uᵀ with u_i = 0, has the inverse I − e_i uᵀ. It changes
component i into H_i − uᵀH and adds multiples of column i of W to the other columns, so that what
it may be is a polytope, and how far it turns the component a linear-fractional program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from provenmf.certificate.rigidity import EPS, Array, Entries

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
    """The entries of W and of H that are positive or that the pattern can make so."""
    within = (pairs | np.eye(entries.k, dtype=bool)).astype(np.float64)
    of_weights = (entries.weights > 0).astype(np.float64) @ within > 0
    of_components = within @ (entries.plain > 0).astype(np.float64) > 0
    return of_weights, of_components


def is_factorization(entries: Entries, pairs: Pairs, transition: Array) -> bool:
    """Whether W A and A⁻¹ H are nonnegative for certain: above their rounding errors.

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
    """How far each component has turned, in degrees."""
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
