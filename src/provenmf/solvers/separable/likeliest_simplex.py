"""The simplex from which points with noise were most likely drawn.

Where no row is pure, none lies at a vertex, but many lie at the facets: what is known of the
simplex is where the points end. Points drawn evenly from a simplex, plus normal noise of variance
one, have the likelihood

    Π_i  1 / volume · P(point i, its noise taken away, lies inside)

(the uniform prior of Wu, Ma, Li, So & Sidiropoulos, "Probabilistic simplex component analysis",
2021). With d_ij the distance of point i from facet j, positive inside, that probability is about
Π_j Φ(d_ij), exact where one facet is near. A point far outside is taken for an odd one, with the
probability ε. So the vertices V minimise

    n log |det [V, 1]| − Σ_ij log(ε + Φ(d_ij)),

the volume against the points outside: Craig's simplex of least volume (1994), with noise. Where
points are not drawn evenly the facets are off by about the noise, not more, as long as points lie
at all of them.
"""

from __future__ import annotations

import contextlib

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_ndtr

Floats = NDArray[np.float64]

LOG_ODD = np.log(1e-6)  # as likely as a point of the simplex 4.8 standard deviations outside
BEYOND = (0.001, 0.01, 0.05)  # shares of the points beyond each facet at the starts


def depths(points: Floats, vertices: Floats) -> Floats:
    """Distances (n, k) of points (n, k − 1) from the facets, positive inside."""
    facets = _facets(vertices)
    return np.asarray((points @ facets[:-1] + facets[-1]) / np.linalg.norm(facets[:-1], axis=0))


def with_facets_moved(vertices: Floats, out: Floats | float) -> Floats:
    """Vertices of the simplex whose facets are moved out by these distances."""
    facets = _facets(vertices)
    facets = facets / np.linalg.norm(facets[:-1], axis=0)
    facets[-1] += out
    corners = np.linalg.inv(facets)  # rows proportional to [vertex, 1]
    return np.asarray(corners[:, :-1] / corners[:, -1:])


def likeliest_simplex(points: Floats, start: Floats, *, max_iter: int = 200) -> Floats:
    """Vertices (k, k − 1) of the likeliest simplex of points (n, k − 1) with white noise of one.

    start : vertices of a simplex inside; its facets are first moved out, until a small share of the
    points is beyond each. Of several such shares the one with the likeliest end is taken. A simplex
    that takes all points for odd ones would be likelier the smaller it is: no end smaller than half
    of the start counts, and without any the start is returned.
    """
    ends = []
    for share in BEYOND:
        with contextlib.suppress(np.linalg.LinAlgError):  # the simplex became flat
            ends.append(_climb(points, _moved_out(points, start, share), max_iter))
    least = _log_volume(start) + np.log(0.5)
    ends = [end for end in ends if np.isfinite(end[1]).all() and _log_volume(end[1]) >= least]
    return min(ends, key=lambda end: end[0])[1] if ends else start


def _climb(points: Floats, start: Floats, max_iter: int) -> tuple[float, Floats]:
    """The objective for each point at the end, and the vertices there."""
    k = len(start)
    # In coordinates of the start all directions are alike, however large the noise is.
    facets = _facets(start)
    inside, spread = np.column_stack([points, np.ones(len(points))]) @ facets, facets[:-1]

    def objective(flat: Floats) -> tuple[float, Floats]:
        sums = flat.reshape(k, k).sum(axis=1, keepdims=True)
        mixing = flat.reshape(k, k) / sums
        inverse = np.linalg.inv(mixing)
        across = spread @ inverse
        lengths = np.linalg.norm(across, axis=0)
        distances = inside @ inverse / lengths
        logarithms = np.logaddexp(LOG_ODD, log_ndtr(distances))
        pulls = np.exp(-0.5 * distances**2 - logarithms) / np.sqrt(2 * np.pi)
        of_inverse = -(inside.T @ pulls) / lengths
        of_inverse += spread.T @ across * ((pulls * distances).sum(axis=0) / lengths**2)
        of_inverse /= len(points)
        of_mixing = inverse.T - inverse.T @ of_inverse @ inverse.T
        of_flat = (of_mixing - (of_mixing * mixing).sum(axis=1, keepdims=True)) / sums
        value = np.linalg.slogdet(mixing)[1] - logarithms.sum() / len(points)
        return float(value), of_flat.ravel()

    found = minimize(
        objective, np.eye(k).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": max_iter}
    )
    mixing = found.x.reshape(k, k)
    vertices = mixing / mixing.sum(axis=1, keepdims=True) @ start
    return float(found.fun + _log_volume(start)), np.asarray(vertices)


def _log_volume(vertices: Floats) -> float:
    """Up to a constant; −∞ for a flat simplex."""
    return float(np.linalg.slogdet(np.column_stack([vertices, np.ones(len(vertices))]))[1])


def _facets(vertices: Floats) -> Floats:
    """(k, k): column j has the coordinate of vertex j as a function of [point, 1]."""
    return np.asarray(np.linalg.inv(np.column_stack([vertices, np.ones(len(vertices))])))


def _moved_out(points: Floats, vertices: Floats, share: float) -> Floats:
    """The simplex with each facet moved out until at most a share of the points is beyond it."""
    beyond = np.quantile(depths(points, vertices), share, axis=0)
    return with_facets_moved(vertices, np.maximum(-beyond, 0.0))
