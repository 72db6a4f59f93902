"""How likely a point is at a distance from a facet, where weights are Dirichlet ones.

The weight of a vertex in Dirichlet(a) mixtures has a density like t^(a−1) at the depth t inside the
opposite facet. With normal noise of variance one, a point is seen at the distance d with

    G_a(d) = ∫₀^∞ t^(a−1) φ(t − d) dt ;    G_1 = Φ,    G_a(d) ≈ d^(a−1) far inside.

The integral is the trapezoidal rule in log t, with what is left of the first node in closed form.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FIRST, STEP, NODES = -8.0, 0.05, 481  # distances of the table, up to 16
_DISTANCES = FIRST + STEP * np.arange(NODES)
_NODE = 0.06  # between logarithms of t: noise of one spans one node at t = 16
_LOGARITHMS = np.arange(np.log(1e-5), np.log(_DISTANCES[-1] + 8.0), _NODE)
_NOISE = np.exp(-0.5 * (np.exp(_LOGARITHMS) - _DISTANCES[:, None]) ** 2) / np.sqrt(2 * np.pi)


def density_tables(concentrations: Floats) -> Floats:
    """For each concentration (k, 4, NODES): log G, its slopes in d and in a, that one's in d."""
    a, start = concentrations, _LOGARITHMS[0]
    powers = np.exp(np.multiply.outer(_LOGARITHMS, a)) * _NODE
    powers[0] *= 0.5
    density = _NOISE @ powers
    deeper = _NOISE @ (powers * np.exp(_LOGARITHMS)[:, None])  # ∫ t^a φ
    by_a = _NOISE @ (powers * _LOGARITHMS[:, None])
    below = np.exp(a * start) / a  # ∫ t^(a−1) up to the first node
    density += _NOISE[:, :1] * below
    by_a += _NOISE[:, :1] * (below * (start - 1.0 / a))
    tables = np.empty((len(a), 4, NODES))
    tables[:, 0] = np.log(density).T
    tables[:, 1] = (deeper / density).T - _DISTANCES  # G' = ∫ t^(a−1) (t − d) φ
    tables[:, 2] = (by_a / density).T
    tables[:, 3] = np.gradient(tables[:, 2], STEP, axis=1)
    return tables
