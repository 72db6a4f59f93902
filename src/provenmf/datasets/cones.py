"""Rows in circular cones: the generative model of Liu and Tan (2017), Theorem 5 and Section 4.

A row picks one of k cones with equal probability, an angle β uniform in [0, α_k] to the cone's
axis u_k, and a squared length from the exponential distribution with rate λ_k:

    x = sqrt(l) (cos β u_k + sin β y),   y ⊥ u_k of unit length.

Section 4 fixes one y per cone, which gives clusters of rank two; Theorem 5 leaves it open, and
here it may be drawn afresh for each row. Negative entries are then set to zero and the row is
scaled back to its length, as the theorem says; that can only lower its angle to u_k.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from provenmf.budget import generator
from provenmf.datasets.sample import Sample
from provenmf.errors import InvalidInput

Spread = Literal["plane", "random"]


def sample_cones(
    n_rows: int,
    axes: NDArray[np.float64],
    *,
    angles: ArrayLike = 0.3,
    rates: ArrayLike | None = None,
    spread: Spread = "plane",
    random_state: int | np.random.Generator | None = None,
) -> Sample:
    """Draw rows from circular cones around the unit vectors `axes` (k, d).

    Parameters
    ----------
    angles : size angles α_k in radians, one for all cones or one each.
    rates : rates λ_k of the squared lengths; by default 1, 1/2, …, 1/k as in the experiments.
    spread : "plane", every row of a cone in one half-plane (Section 4); "random", each in a
        random direction.

    Returns
    -------
    Sample with components = axes, one nonzero weight per row (its projection on the axis) and the
    cones as labels; extras: `deviation` from the axes, `size_angles`, `rates`.
    """
    rng = generator(random_state)
    n_cones, n_columns = axes.shape
    size_angles = np.broadcast_to(np.asarray(angles, dtype=np.float64), (n_cones,))
    if not ((size_angles >= 0) & (size_angles < np.pi / 2)).all():
        raise InvalidInput(f"angles={angles!r} must lie in [0, π/2) radians")
    given = (
        1.0 / np.arange(1, n_cones + 1) if rates is None else np.asarray(rates, dtype=np.float64)
    )
    mean_squares = 1.0 / np.broadcast_to(given, (n_cones,))
    labels = rng.integers(n_cones, size=n_rows)
    lengths = np.sqrt(rng.exponential(mean_squares[labels]))
    beta = rng.uniform(0.0, size_angles[labels])
    if spread == "plane":
        sideways = np.array([section_4_direction(axis) for axis in axes])[labels]
    else:
        sideways = orthogonal_directions(axes[labels], rng)
    rows = np.cos(beta)[:, None] * axes[labels] + np.sin(beta)[:, None] * sideways
    rows = np.maximum(rows, 0.0)
    rows *= (lengths / np.linalg.norm(rows, axis=1))[:, None]
    weights = np.zeros((n_rows, n_cones))
    weights[np.arange(n_rows), labels] = np.einsum("ij,ij->i", rows, axes[labels])
    truth = {
        "deviation": rows - weights @ axes,
        "size_angles": size_angles,
        "rates": 1 / mean_squares,
    }
    return Sample(rows, axes, weights, labels=labels, extras=truth)


def section_4_direction(axis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the unit vector y of Section 4, orthogonal to the axis, towards its smallest entry.

    y is 1 at the axis's smallest entry and elsewhere a multiple of the axis.
    """
    smallest = int(np.argmin(axis))
    others = float(axis @ axis - axis[smallest] ** 2)
    direction = -axis[smallest] / others * axis
    direction[smallest] = 1.0
    return np.asarray(direction / np.linalg.norm(direction))


def orthogonal_directions(
    axes: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw a unit vector orthogonal to each unit row."""
    directions = rng.standard_normal(axes.shape)
    directions -= np.einsum("ij,ij->i", directions, axes)[:, None] * axes
    return np.asarray(directions / np.linalg.norm(directions, axis=1, keepdims=True))


def equiangular_axes(
    n_axes: int,
    n_columns: int,
    angle: float,
    *,
    random_state: int | np.random.Generator | None = None,
) -> NDArray[np.float64]:
    """Draw nonnegative unit vectors (n_axes, n_columns), any two at the same angle.

    Every axis is sqrt(c) s + sqrt(1 − c) g_k with c = cos(angle): s and the g_k are nonnegative
    unit vectors with disjoint supports and random entries, so all inner products are c. The paper
    asks for such axes and does not say how it made them.
    """
    if not 0 < angle <= np.pi / 2:
        raise InvalidInput(f"angle={angle} must lie in (0, π/2]: nonnegative vectors have no other")
    if n_columns <= n_axes:
        raise InvalidInput(f"n_columns={n_columns} must exceed n_axes={n_axes}")
    rng = generator(random_state)
    supports = np.array_split(np.arange(n_columns), n_axes + 1)
    common = np.cos(angle)
    axes = np.zeros((n_axes, n_columns))
    axes[:, supports[0]] = np.sqrt(common) * positive_unit_vector(supports[0].size, rng)
    for axis, support in zip(axes, supports[1:]):
        axis[support] = np.sqrt(1 - common) * positive_unit_vector(support.size, rng)
    return axes


def positive_unit_vector(size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw a vector of unit length without small entries."""
    vector = rng.uniform(0.5, 1.5, size)
    return vector / np.linalg.norm(vector)


def paper_cones(
    n_rows: int,
    *,
    n_components: int = 50,
    n_columns: int = 1000,
    angle: float = 0.3,
    spread: Spread = "plane",
    random_state: int | np.random.Generator | None = None,
) -> Sample:
    """Draw the experiment of Section 4: cones of one size angle, axes 4·angle + 0.01 apart."""
    rng = generator(random_state)
    axes = equiangular_axes(n_components, n_columns, 4 * angle + 0.01, random_state=rng)
    return sample_cones(n_rows, axes, angles=angle, spread=spread, random_state=rng)
