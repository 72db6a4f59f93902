"""Try to beat each proved statement many times: other fits, other rows, other parts, other noise.

Where `statements` compares a number with one exact computation, a rival is a random attempt to do
better than the number allows. Every attempt is one comparison; arithmetic is double precision with
a margin of 1e-6 of what is compared.
"""

import numpy as np
from exact import mixture_near
from scipy.optimize import nnls

RIVALS = {}
MARGIN = 1e-6


def rival(name):
    """Register attempts against the bound or measure of this name: yields True where it holds."""

    def register(attempts):
        RIVALS[name] = attempts
        return attempts

    return register


def attack(case, rng):
    """Yield (name, verdict) of every attempt against one certificate of data of a usual size."""
    size = np.abs(case.rows).max(initial=0.0)
    if not 1e-30 < size < 1e30 or not 1e-30 < np.abs(case.components).max() < 1e30:
        return
    known = {**case.certificate.measures, **case.certificate.bounds}
    for name, attempts in RIVALS.items():
        if name in known:
            for verdict in attempts(case, known[name], rng):
                yield name, bool(verdict)


@rival("relative_error_lower_bound")
def other_products(case, bound, rng):
    """Alternating least squares without any constraint, from random starts."""
    rows, k = case.rows / case.unit, len(case.components)
    norm = np.linalg.norm(rows)
    for _ in range(10):
        right = rng.standard_normal((k, rows.shape[1]))
        for _ in range(4):
            left = rows @ np.linalg.pinv(right)
            right = np.linalg.pinv(left) @ rows
            error = np.linalg.norm(rows - left @ right) / norm
            yield error >= bound * (1 - MARGIN) - 1e-12


def best_weights(case, row):
    if case.constraint == "simplex":
        return mixture_near(row, case.components)
    return nnls(case.components.T, row)[0]


def pairs_of_rows(case, rng, count=60):
    """Weights of random pairs of rows: the movement of the row and that of its weights."""
    size = np.abs(case.rows).max()
    if not 1e-9 < np.abs(case.components).max() / size < 1e9:
        return
    for _ in range(count):
        row = case.rows[rng.integers(len(case.rows))]
        other = row + size * 10.0 ** rng.uniform(-4, 0.5) * rng.standard_normal(len(row))
        moved = best_weights(case, row) - best_weights(case, other)
        yield np.linalg.norm(row - other), moved


@rival("weight_amplification")
def weights_together(case, bound, rng):
    if case.constraint == "simplex" or bound * np.abs(case.components).max() > 1e4:
        return  # solvers of the rival lose the digits then
    for length, moved in pairs_of_rows(case, rng):
        yield np.linalg.norm(moved) <= bound * length * (1 + MARGIN)


@rival("component_amplification")
def weights_alone(case, bounds, rng):
    if case.constraint == "simplex" or max(bounds) * np.abs(case.components).max() > 1e4:
        return
    for length, moved in pairs_of_rows(case, rng, 30):
        yield from np.abs(moved) <= np.array(bounds) * length * (1 + MARGIN)


def balanced(case):
    """Factors in the scale of claims about mixing: largest entries of components in [1/2, 1)."""
    peaks = 2.0 ** np.frexp(case.components.max(axis=1))[1]
    return case.weights * (peaks / peaks.max()), case.components / peaks[:, None]


def transitions(rng, k, sizes):
    """I + T with zero diagonal of the given sizes: random ones, sparse ones and of single pairs."""
    change = rng.standard_normal((len(sizes), k, k))
    change[::2] *= rng.random((len(sizes[::2]), k, k)) < 1.5 / k
    change[:, np.arange(k), np.arange(k)] = 0.0
    lengths = np.linalg.norm(change, axis=(1, 2))
    kept = lengths > 0
    return np.eye(k) + change[kept] * (sizes[kept] / lengths[kept])[:, None, None]


@rival("other_fit_mixing")
def other_parts(case, reach, rng):
    """No nearer mixing gives nonnegative factors."""
    weights, components = balanced(case.rounded)
    least = 1e-6
    if least >= reach:
        return
    sizes = np.exp(rng.uniform(np.log(least), np.log(reach * (1 - MARGIN)), 200))
    for transition in transitions(rng, len(components), sizes):
        inside = (weights @ transition >= 0).all() and (
            np.linalg.solve(transition, components) >= 0
        ).all()
        yield not inside


def survivors(case, noise, rng, scaled):
    """Noise of exactly this size in every row leaves each anchor outside the hull of the others."""
    if case.certificate.measures.get("rows_near_anchors", 0.0) > 0:
        return
    rows = case.rows
    if scaled:
        rows = rows[rows.sum(axis=1) > 0] / rows[rows.sum(axis=1) > 0].sum(axis=1, keepdims=True)
        return  # the numbers of the anchors are those of all rows
    for _ in range(10):
        way = rng.standard_normal(rows.shape)
        clean = rows + noise * (1 - MARGIN) * way / np.linalg.norm(way, axis=1, keepdims=True)
        anchor = int(rng.choice(case.record.anchors))
        others = np.delete(clean, anchor, axis=0)
        mixed = mixture_near(clean[anchor], others, origin=case.origin)
        hull = np.vstack([others, np.zeros(others.shape[1])]) if case.origin else others
        yield np.linalg.norm(clean[anchor] - mixed @ hull) > 0


@rival("anchor_noise")
def noisy_rows(case, noise, rng):
    yield from survivors(case, noise, rng, False)
