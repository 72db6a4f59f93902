"""Long sums: data of up to a million rows or columns, certified and compared in wider arithmetic.

Small data cannot show what rounding does to sums of a million terms. Oracles here are sums in
extended precision, a slice at a time.
"""

import warnings

import numpy as np

import provenmf

CASES = (
    ("spa", (1_000_000, 3), 2, {}),
    ("poisson", (1_000_000, 2), 1, {"max_iter": 5}),
    ("poisson", (2, 1_000_000), 1, {"max_iter": 5}),
    ("poisson", (100_000, 4), 2, {"max_iter": 5}),
    ("hals", (100_000, 5), 3, {"max_iter": 5}),
    ("xray", (100_000, 4), 2, {}),
    ("cones", (100_000, 4), 2, {}),
    ("fast_anchor", (4, 100_000), 2, {}),
)


def data(rng, shape, kind):
    """Equal entries, counts, or mixtures with noise."""
    if kind == "equal":
        return np.full(shape, 0.7)
    if kind == "counts":
        return rng.poisson(3.0, shape).astype(np.float64)
    return rng.random(shape) + 0.1


def extended_sum(values, step=2**16):
    flat = values.reshape(-1)
    return sum(
        (flat[i : i + step].astype(np.longdouble).sum() for i in range(0, len(flat), step)),
        np.longdouble(0),
    )


def cases(quick=False):
    """Yield (name, statement, verdict) of every comparison."""
    rng = np.random.default_rng(0)
    for method, shape, k, options in CASES:
        if quick:
            shape = tuple(max(2, size // 50) if size > 100 else size for size in shape)
        for kind in ("equal", "counts", "mixtures"):
            rows = data(rng, shape, kind)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    fit = provenmf.factorize(rows, k, method=method, **options)
                except provenmf.ProvenmfError:
                    continue
            for name, verdict in compared(rows, fit, fit.certificate):
                yield f"{method} {kind} {shape}", name, bool(verdict)


def compared(rows, fit, certificate):
    """Compare what a certificate says with sums in extended precision."""
    product = fit.weights @ fit.components
    residual = rows - product
    norm = np.sqrt(extended_sum(rows**2))
    error = np.sqrt(extended_sum(residual**2)) / norm
    bounds, measures = certificate.bounds, certificate.measures
    if "relative_error" in measures:
        yield "relative_error", abs(measures["relative_error"] - error) <= 1e-9 + 1e-9 * error
    if "relative_error_lower_bound" in bounds:
        yield "lower bound", bounds["relative_error_lower_bound"] <= error * (1 + 1e-12) + 1e-13
        best = rank_error(rows, len(fit.components)) / norm
        yield "lower bound of rank", bounds["relative_error_lower_bound"] <= best + 1e-9
        yield "gap", bounds["relative_error_gap"] >= error - best - 1e-9
    if "weights_divergence_gap" in bounds:
        yield from divergences(rows, product, fit, bounds, measures)


def rank_error(rows, k):
    """The error of the product with the leading singular vectors."""
    small = rows if len(rows) <= rows.shape[1] else rows.T
    vectors = np.linalg.eigh(small @ small.T)[1][:, ::-1][:, :k]
    left = small - vectors @ (vectors.T @ small)
    return np.sqrt(extended_sum(left**2))


def divergences(rows, product, fit, bounds, measures):
    reached = divergence(rows, product)
    if not np.isfinite(reached):
        return
    slack = 1e-12 * float(extended_sum(rows))
    yield "divergence", abs(measures["divergence"] - reached) <= 1e-7 * abs(reached) + slack
    if len(fit.components) == 1:
        down, across = rows.sum(axis=1), rows.sum(axis=0)
        weights, components = fit.weights[:, 0], fit.components[0]
        alone = {
            "weights": np.outer(down, components / components.sum()),
            "components": np.outer(weights / weights.sum(), across),
        }
        least = divergence(rows, np.outer(down, across / across.sum()))
        yield "divergence of rank one", reached >= least - slack
        for factor, best in alone.items():
            gained = reached - divergence(rows, best)
            yield f"{factor} gap", bounds[f"{factor}_divergence_gap"] >= gained - slack


def divergence(rows, product):
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(rows > 0, rows * np.log(rows / product), 0.0) - rows + product
    return extended_sum(terms)
