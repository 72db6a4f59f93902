"""Hostile data and forged records: repeats, outliers, extreme scales, near-dependence, zeros."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp


def mixtures(rng, n, d, k):
    corners = rng.random((k, d)) * (rng.random((k, d)) > rng.choice([0.0, 0.3, 0.6]))
    return np.vstack([np.eye(k), rng.dirichlet(np.full(k, 0.5), max(n - k, 1))]) @ corners


def sparse(rng, n, d, k):
    return rng.random((n, d)) * (rng.random((n, d)) > 0.6)


def noisy(rng, n, d, k):
    return mixtures(rng, n, d, k) + 10.0 ** rng.uniform(-12, -1) * rng.random((max(n, k + 1), d))


def counts(rng, n, d, k):
    return rng.poisson(5 * mixtures(rng, n, d, k)).astype(float)


def one_hot(rng, n, d, k):
    return np.diag(rng.choice([1.0, 8.0, 8.0, 9.0], d))[rng.integers(0, d, n)]


def repeats(rng, n, d, k):
    rows = mixtures(rng, n, d, k)
    picked = rng.integers(0, len(rows), len(rows))
    near = 10.0 ** rng.integers(-17, -6) * rng.random(rows.shape) * rng.integers(0, 2)
    return rows[picked] + near


def long_row(rng, n, d, k):
    rows = mixtures(rng, n, d, k)
    rows[rng.integers(len(rows))] *= 10.0 ** rng.uniform(3, 12)
    return rows


def near_dependent(rng, n, d, k):
    rows = rng.random((n, 1)) @ rng.random((1, d))
    return rows + 10.0 ** rng.uniform(-16, -4) * rng.random(rows.shape)


def equal_rows(rng, n, d, k):
    return np.tile(rng.random(d), (n, 1))


def wide_range(rng, n, d, k):
    return mixtures(rng, n, d, k) * 10.0 ** rng.uniform(-9, 9, (1, d))


def with_zero_rows(rng, n, d, k):
    rows = mixtures(rng, n, d, k)
    rows[rng.random(len(rows)) < 0.3] = 0
    rows[:, rng.random(d) < 0.2] = 0
    return rows


KINDS = (
    mixtures,
    sparse,
    noisy,
    counts,
    one_hot,
    repeats,
    long_row,
    near_dependent,
    equal_rows,
    wide_range,
    with_zero_rows,
)


def data(rng):
    """A small hostile matrix, dense or sparse, in either precision, and its kind."""
    kind = KINDS[rng.integers(len(KINDS))]
    k = int(rng.integers(1, 4))
    rows = kind(rng, int(rng.integers(4, 13)), int(rng.integers(2, 7)), k)
    scale = rng.choice(["one", "power", "decimal"], p=[0.6, 0.2, 0.2])
    single = rng.random() < 0.3
    largest = 30 if single else 290
    if scale == "power":
        rows = rows * 2.0 ** int(rng.integers(-3 * largest, 3 * largest))
    elif scale == "decimal":
        rows = rows * 10.0 ** rng.uniform(-largest, largest)
    with np.errstate(over="ignore", under="ignore"):
        rows = rows.astype(np.float32 if single else np.float64)
    rows = np.nan_to_num(rows, posinf=1.0)
    name = kind.__name__
    return (sp.csr_array(rows) if rng.random() < 0.3 else rows), k, name


def forgeries(rng, record):
    """Yield (what, record): copies of a record, one thing changed in each."""
    n, k = record.weights.shape
    order = rng.permutation(n)
    yield "weights in another order", replace(record, weights=record.weights[order])
    yield "weights scaled", replace(record, weights=record.weights * 2)
    tampered = record.weights.copy()
    tampered[rng.integers(n)] = 0
    yield "a row of weights zero", replace(record, weights=tampered)
    yield "components scaled", replace(record, components=record.components * 0.5)
    yield (
        "components changed",
        replace(
            record,
            components=(
                record.components * (1 + 1e-3 * rng.random(record.components.shape))
            ).astype(record.components.dtype),
        ),
    )
    if record.anchors is not None:
        yield "other anchors", replace(record, anchors=rng.integers(0, n, k).astype(np.intp))
        yield "anchors outside", replace(record, anchors=record.anchors + n)
        rows = rng.integers(0, n, k).astype(np.intp)
        yield "anchors of minus one", replace(record, anchors=np.full_like(rows, -1))
    if record.labels is not None:
        yield "no labels", replace(record, labels=np.full(n, -1, dtype=record.labels.dtype))
        yield (
            "other labels",
            replace(record, labels=rng.integers(0, k, n).astype(record.labels.dtype)),
        )
    yield from forged_words(rng, record)


def forged_words(rng, record):
    """What is neither a factor nor a row number: state, parameters, fingerprint, certificate."""
    if record.state is not None:
        for name, value in vars(record.state).items():
            if isinstance(value, float | np.ndarray):
                state = replace(record.state, **{name: value * 0})
                yield f"state: {name}", replace(record, state=state)
    for name, value in record.parameters.items():
        if isinstance(value, bool):
            yield f"parameter: {name}", with_parameter(record, name, not value)
    if "constraint" in record.parameters:
        other = "simplex" if record.parameters["constraint"] == "nonnegative" else "nonnegative"
        yield "parameter: constraint", with_parameter(record, "constraint", other)
    other = str(rng.choice(["spa", "merit", "cones", "hals", "purification", "and_descent"]))
    yield f"method: {other}", replace(record, method=other)
    bounds = {name: value * 1e3 for name, value in record.certificate.bounds.items()}
    boast = replace(record.certificate, bounds=bounds, measures={}, checks=())
    yield "certificate", replace(record, certificate=boast, trace=type(record.trace)())


def with_parameter(record, name, value):
    return replace(record, parameters={**record.parameters, name: value})
