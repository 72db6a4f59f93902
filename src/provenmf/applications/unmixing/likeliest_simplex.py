"""The simplex from which points with noise were most likely drawn.

Where no row is pure, none lies at a vertex, but many lie at the facets: what is known of the
simplex is where the points end. A point is

* a mixture of the vertices with Dirichlet(a_1, …, a_k) weights, a_j at most one: spread evenly,
  or denser at the facets (Nascimento & Bioucas-Dias, "Hyperspectral unmixing based on mixtures of
  Dirichlet components", 2012; evenly: Wu, Ma, Li, So & Sidiropoulos, "Probabilistic simplex
  component analysis", 2021),
* a vertex itself, j with the probability π_j, or
* odd, with the density ε / (volume of an evenly filled simplex with the points' covariance),

and normal noise of variance one is added to the first two. With d_ij the distance of point i from
facet j, positive inside, and H_j the height of vertex j above it, the density of a mixture is
about

    Γ(Σ a) / Π Γ(a_j) / (k − 1)! / volume · Π_j H_j^(1−a_j) G_a_j(d_ij)    (G: `facet_density`),

exact where one facet is near. For evenly spread points it is Π_j Φ(d_ij) / volume: the volume
against the points outside, Craig's simplex of least volume (1994), with noise. Vertices, a and π
are those of the largest likelihood. a above one is not tried: few points near the facets are also
what a limit on the largest weight leaves, and the two are far apart in what they say of vertices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize
from scipy.special import digamma, gammaln

Floats = NDArray[np.float64]

FIRST, STEP, NODES = -8.0, 0.05, 481  # distances of the table, up to 16
_DISTANCES = FIRST + STEP * np.arange(NODES)
_NODE = 0.06  # between logarithms of t: noise of one spans one node at t = 16
_LOGARITHMS = np.arange(np.log(1e-5), np.log(_DISTANCES[-1] + 8.0), _NODE)
_NOISE = np.exp(-0.5 * (np.exp(_LOGARITHMS) - _DISTANCES[:, None]) ** 2) / np.sqrt(2 * np.pi)


def facet_density(distances: Floats, a: Floats) -> tuple[Floats, Floats, Floats]:
    """Return log G_a(d), its slope in d, and its slope in a, at distances d (n, k) from facets.

    The weight of a vertex in Dirichlet(a) mixtures has a density like t^(a−1) at the depth t inside
    the opposite facet. With normal noise of variance one, a point is seen at the distance d with

        G_a(d) = ∫₀^∞ t^(a−1) φ(t − d) dt ;    G_1 = Φ,    G_a(d) ≈ d^(a−1) far inside.

    The integral is the trapezoidal rule in log t, and the part below the first node is added in
    closed form. It is tabulated, with cubics in between. Nothing changes below the table; above, G
    is d^(a−1) (1 + (a−1)(a−2) / (2 d²)), but for terms of d⁻⁴.
    """
    powers = np.exp(np.multiply.outer(_LOGARITHMS, a)) * _NODE
    powers[0] *= 0.5
    below = np.exp(a * _LOGARITHMS[0]) / a  # ∫ t^(a−1) up to the first node
    density = _NOISE @ powers + _NOISE[:, :1] * below
    deeper = _NOISE @ (powers * np.exp(_LOGARITHMS)[:, None])  # ∫ t^a φ
    by_a = _NOISE @ (powers * _LOGARITHMS[:, None])
    by_a += _NOISE[:, :1] * (below * (_LOGARITHMS[0] - 1.0 / a))
    by_a /= density
    slopes = deeper / density - _DISTANCES[:, None]  # G' = ∫ t^(a−1) (t − d) φ
    place = np.clip((distances - FIRST) / STEP, 0.0, NODES - 1.0 - 1e-9)
    left, facet = place.astype(np.intp), np.arange(len(a))
    f = place - left
    value, slope = _cubic(np.log(density), slopes, left, facet, f)
    change, _ = _cubic(by_a, np.gradient(by_a, STEP, axis=0), left, facet, f)
    far, d = distances >= _DISTANCES[-1], np.maximum(distances, _DISTANCES[-1])
    bend = 0.5 * (a - 1.0) * (a - 2.0)
    return (
        np.where(far, (a - 1.0) * np.log(d) + np.log1p(bend / d**2), value),
        np.where(far, (a - 1.0) / d - 2.0 * bend / (d * (d**2 + bend)), slope * (place > 0)),
        np.where(far, np.log(d) + (a - 1.5) / (d**2 + bend), change),
    )


def _cubic(
    values: Floats, slopes: Floats, left: NDArray[np.intp], facet: NDArray[np.intp], f: Floats
) -> tuple[Floats, Floats]:
    """Interpolate columns of a table at left + f, by values and slopes; return the slope too."""
    first, rise = values[left, facet], values[left + 1, facet] - values[left, facet]
    start, end = STEP * slopes[left, facet], STEP * slopes[left + 1, facet]
    square, cube = 3.0 * rise - 2.0 * start - end, start + end - 2.0 * rise
    return (
        first + f * (start + f * (square + f * cube)),
        (start + f * (2.0 * square + 3.0 * f * cube)) / STEP,
    )


LOG_ODD = np.log(1e-6)  # as likely as a point of the simplex 4.8 standard deviations outside
# Iterations with some of the points, before all of them.
SCOUT_STEPS, SCOUT_POINTS = 30, 1000
LEAST_CONCENTRATION = 0.1
PURE = 0.01  # share of each vertex at the start
ODDS = (1e-6, 1e6)  # of a vertex against all mixtures, least and most
# The density above is too large for a simplex that is flat within the noise: a height H below the
# least one costs STIFF log² (LEAST_HEIGHT / H) a point.
LEAST_HEIGHT, STIFF = 6.0, 5.0


class LikelySimplex(NamedTuple):
    """Vertices (k, k − 1), concentrations a (k,), shares π (k,), and minus the log-likelihood.

    The last is for each point, up to a constant.
    """

    vertices: Floats
    concentrations: Floats
    pure: Floats
    cost: float


def depths(points: Floats, vertices: Floats) -> Floats:
    """Return distances (n, k) of points (n, k − 1) from the facets, positive inside."""
    facets = _facets(vertices)
    return np.asarray((points @ facets[:-1] + facets[-1]) / np.linalg.norm(facets[:-1], axis=0))


def with_facets_moved(vertices: Floats, out: Floats | float) -> Floats:
    """Return vertices of the simplex whose facets are moved out by these distances."""
    facets = _facets(vertices)
    facets = facets / np.linalg.norm(facets[:-1], axis=0)
    facets[-1] += out
    corners = np.linalg.inv(facets)  # rows proportional to [vertex, 1]
    return np.asarray(corners[:, :-1] / corners[:, -1:])


def likeliest_simplex(points: Floats, start: Floats, *, max_iter: int = 200) -> LikelySimplex:
    """Return the likeliest simplex of points (n, k − 1) with white noise of one.

    start : vertices of a simplex inside. Some of the points come first: their steps cost less.
    """
    some = points[:: max(1, len(points) // SCOUT_POINTS)]
    if not np.isfinite(log_volume(start)):
        return _unknown(start)
    best = climbed(points, climbed(some, _unknown(start), SCOUT_STEPS), max_iter)
    return best if np.isfinite(best.vertices).all() else with_vertices(points, start)


def with_vertices(points: Floats, vertices: Floats, *, max_iter: int = 50) -> LikelySimplex:
    """Fit concentrations and shares to given vertices; the cost of a flat simplex is infinite."""
    return climbed(points, _unknown(vertices), max_iter, fixed=True)._replace(vertices=vertices)


def log_likelihood(points: Floats, simplex: LikelySimplex, filled: float) -> float:
    """Return the log-likelihood of new points, up to the constant of `LikelySimplex.cost`."""
    k = len(simplex.vertices)
    odds = np.clip(simplex.pure / (1.0 - simplex.pure.sum()), *ODDS)
    unknowns = np.concatenate([np.eye(k).ravel(), np.log(simplex.concentrations), np.log(odds)])
    cost = _objective(points, simplex.vertices, filled)(unknowns)[0]
    return float(-len(points) * (cost + log_volume(simplex.vertices)))


def filled_volume(points: Floats) -> float:
    """Return the log volume of the simplex in which evenly spread points have this covariance."""
    k = points.shape[1] + 1
    spread = float(np.linalg.slogdet(np.atleast_2d(np.cov(points.T)))[1])
    return float(0.5 * (spread + np.log(k) + (k - 1) * np.log(k * (k + 1))))


def _unknown(vertices: Floats) -> LikelySimplex:
    """Return vertices with the prior concentrations and shares."""
    k = len(vertices)
    return LikelySimplex(vertices, np.ones(k), np.full(k, PURE / (1 + k * PURE)), np.inf)


def climbed(
    points: Floats, start: LikelySimplex, max_iter: int, *, fixed: bool = False
) -> LikelySimplex:
    """Return a likelier simplex than the start, by quasi-Newton steps; `fixed` leaves the vertices.

    Where the points are flat, or a simplex becomes flat on the way, the start comes back.
    """
    k, filled = len(start.vertices), filled_volume(points)
    if not np.isfinite(filled):
        return start
    odds = np.clip(start.pure / (1.0 - start.pure.sum()), *ODDS)
    same, infinite, one = np.eye(k).ravel(), np.full(k * k, np.inf), np.ones(k)
    first = np.concatenate([same, np.log(start.concentrations), np.log(odds)])
    lower = np.concatenate(
        [same if fixed else -infinite, np.log(LEAST_CONCENTRATION * one), np.log(ODDS[0] * one)]
    )
    upper = np.concatenate([same if fixed else infinite, 0.0 * one, np.log(ODDS[1] * one)])
    try:
        objective = _objective(points, start.vertices, filled)
        units = _units(start.vertices)

        def in_units(scaled: Floats) -> tuple[float, Floats]:
            value, gradient = objective(scaled * units)
            return value, gradient * units

        found = minimize(
            in_units,
            first / units,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(lower / units, upper / units),
            options={"maxiter": max_iter},
        )
    except np.linalg.LinAlgError:
        return start
    mixing, concentrations, odds = _split(found.x * units, k)
    cost = float(found.fun + log_volume(start.vertices))
    return LikelySimplex(
        mixing / mixing.sum(axis=1, keepdims=True) @ start.vertices,
        concentrations,
        odds / (1.0 + odds.sum()),
        cost if np.isfinite(cost) else np.inf,
    )


def _units(vertices: Floats) -> Floats:
    """Return scales of the unknowns that precondition the problem.

    Of n points about n / H lie at a facet of height H, and moving it by a share of its height is
    moving it by H times that in units of the noise.
    """
    k = len(vertices)
    heights = 1.0 / np.linalg.norm(_facets(vertices)[:-1], axis=0)
    moves = np.tile(1.0 / np.sqrt(np.maximum(heights, 1.0)), (k, 1))
    return np.concatenate([moves.ravel(), np.ones(k), np.full(k, PURE**-0.5)])


def _split(unknowns: Floats, k: int) -> tuple[Floats, Floats, Floats]:
    """Split unknowns into mixtures of the start's vertices, concentrations and odds."""
    rest = np.exp(unknowns[k * k :])
    return unknowns[: k * k].reshape(k, k), rest[:k], rest[k:]


def _objective(
    points: Floats, start: Floats, filled: float
) -> Callable[[Floats], tuple[float, Floats]]:
    """Return minus the log-likelihood of a point, and its gradient, as a function of the unknowns.

    In coordinates of the start all directions are alike, however large the noise is.
    filled : see `filled_volume`.
    """
    n, k = len(points), len(start)
    facets = _facets(start)
    inside, spread = np.column_stack([points, np.ones(n)]) @ facets, facets[:-1]
    lengths_of_points = np.einsum("ij,ij->i", points, points)
    # Densities are relative to that of evenly spread points, (k − 1)! / volume.
    volume = log_volume(start)
    at_a_vertex = volume - gammaln(k) - 0.5 * (k - 1) * np.log(2 * np.pi)
    log_odd = LOG_ODD + volume - filled

    def objective(unknowns: Floats) -> tuple[float, Floats]:
        flat, a, odds = _split(unknowns, k)
        sums = flat.sum(axis=1, keepdims=True)
        mixing = flat / sums
        inverse, growth = np.linalg.inv(mixing), np.linalg.slogdet(mixing)[1]
        across = spread @ inverse
        depth = np.linalg.norm(across, axis=0)  # one over the heights of the vertices
        vertices = mixing @ start
        log_shares = -np.log1p(odds.sum()) + np.log(odds)
        distances = inside @ inverse / depth
        squares = lengths_of_points[:, None] - 2.0 * points @ vertices.T
        squares += np.einsum("ij,ij->i", vertices, vertices)
        constant = gammaln(a.sum()) - gammaln(a).sum() - gammaln(k) + (a - 1.0) @ np.log(depth)
        value, slope, change = facet_density(distances, a)
        inside_all = constant - np.log1p(odds.sum()) + value.sum(axis=1)
        at = log_shares + at_a_vertex + growth - 0.5 * squares
        largest = np.maximum(np.maximum(inside_all, at.max(axis=1)), log_odd + growth)
        relative = np.exp(inside_all - largest) + np.exp(log_odd + growth - largest)
        logarithms = largest + np.log(relative + np.exp(at - largest[:, None]).sum(axis=1))
        total, share = logarithms.sum(), np.exp(inside_all - logarithms)
        mixed, by_a = share.sum(), share @ change
        pulls, pure = share[:, None] * slope, np.exp(at - logarithms[:, None])
        moments = np.einsum("ij,ij->j", pulls, distances)
        flatness = np.maximum(np.log(LEAST_HEIGHT * depth), 0.0)
        stiff = 2.0 * STIFF * n * flatness
        of_inverse = -(inside.T @ pulls) / depth
        of_inverse += spread.T @ across * ((moments - (a - 1.0) * mixed + stiff) / depth**2)
        found = pure.sum(axis=0)
        of_mixing = mixed * inverse.T - inverse.T @ of_inverse @ inverse.T
        of_mixing -= (pure.T @ points - found[:, None] * vertices) @ start.T
        of_flat = (of_mixing - (of_mixing * mixing).sum(axis=1, keepdims=True)) / sums
        of_a = -a * (by_a + mixed * (np.log(depth) + digamma(a.sum()) - digamma(a)))
        of_odds = (mixed + found.sum()) * np.exp(log_shares) - found
        gradient = np.concatenate([of_flat.ravel(), of_a, of_odds]) / n
        return float(growth - total / n + STIFF * flatness @ flatness), gradient

    return objective


def log_volume(vertices: Floats) -> float:
    """Return the log volume up to a constant; −∞ for a flat simplex."""
    return float(np.linalg.slogdet(np.column_stack([vertices, np.ones(len(vertices))]))[1])


def _facets(vertices: Floats) -> Floats:
    """Return (k, k): column j gives the coordinate of vertex j from [point, 1]."""
    return np.asarray(np.linalg.inv(np.column_stack([vertices, np.ones(len(vertices))])))
