"""Figures 1 to 4 of Li and Liang (2017, Li17): AND on data with known components.

Setting of the paper: k = 100, n = 5000, the word-topic matrix of the NIPS corpus as components
(with --data the one of nips/anchor_topics_100.npz, d = 2940; otherwise synthetic topics, d = 2000),
d = 1000 for NEG, T = 50 steps a stage (100 with noise), η = 0.5/k on sums, thresholds 0.1/1.1^j.
The quick size has k = 12, n = 400, d = 60. Errors are the paper's total correlation error, not
squared; the relative error divides it by the sum of the components' lengths.

A method is a function from data (n, d) and a start (k, d) to a sequence of components, one a pass.
Seconds are those of the processor, so that a busy machine does not matter.

Differs: Li17 use their own HALS and multiplicative updates and Kim and Park's ANLS. HALS here is
written anew, ANLS solves both problems exactly with our solver, MU and LDA are scikit-learn's.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.datasets.and_descent import (
    load_topics,
    sample_dirichlet,
    sample_fresh_covariance,
    sample_logistic_normal,
    sample_signed,
    start_nearby,
    topic_components,
)
from provenmf.datasets.sample import Sample
from provenmf.linalg.nnls import nonnegative_least_squares
from provenmf.methods.and_descent.kernels import after_gradient_steps
from provenmf.metrics.recovery import total_correlation_error
from provenmf.reproduce.claims import (
    Figure,
    Measured,
    Recipe,
    Row,
    Series,
    Settings,
    Tables,
    cell,
    column,
    declare,
    exponent,
)

Array = NDArray[np.float64]
Method = Callable[[Array, Array], Iterator[NDArray[np.floating]]]

PAPER, VARIANT = "AND", "AND, adaptive"


def paper_stages(
    data: Array,
    start: Array,
    *,
    steps: int = 50,
    alpha: float = 0.1,
    decay: float = 1.1,
    eta: float | None = 0.5,
) -> Iterator[Array]:
    """Run Algorithm 1 on all rows: per stage, take the T gradient steps in closed form.

    The step is eta/k as in the authors' code, or for None 1/‖ZᵀZ‖₂, which never diverges.
    """
    components, stage = start.copy(), 0
    while True:
        stage += 1
        weights = data @ np.linalg.pinv(components)
        weights[weights < alpha / decay**stage] = 0.0
        cross, gram = weights.T @ data, weights.T @ weights
        step = 1.0 / float(np.linalg.norm(gram, 2)) if eta is None else eta / len(start)
        with np.errstate(over="ignore", invalid="ignore"):  # a step that is too large diverges
            components = after_gradient_steps(components, cross, gram, step_size=step, steps=steps)
        if not np.isfinite(components).all():
            return
        yield components


def adaptive_stages(data: Array, start: Array) -> Iterator[NDArray[np.floating]]:
    """Yield the result of `provenmf.AND` from this start."""
    from provenmf import AND

    model = AND(len(start), init=start, certify=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a stall is what the table shows
        yield model.fit(data).components_


def hals_sweeps(data: Array, start: Array, *, signed: bool = False) -> Iterator[Array]:
    """Run hierarchical alternating least squares; if signed, only the weights are nonnegative."""
    H = start.copy() if signed else np.maximum(start, 0.0)
    W = np.maximum(data @ np.linalg.pinv(H), 0.0)
    least = np.finfo(float).tiny
    while True:
        for factor, cross, gram, bounded in (
            (W, data @ H.T, H @ H.T, True),
            (H.T, None, None, not signed),
        ):
            if cross is None or gram is None:
                cross, gram = data.T @ W, W.T @ W
            for j in range(len(gram)):
                moved = factor[:, j] + (cross[:, j] - factor @ gram[:, j]) / max(gram[j, j], least)
                factor[:, j] = np.maximum(moved, 0.0) if bounded else moved
        yield H.copy()


def anls_sweeps(
    data: Array, start: Array, *, signed: bool = False
) -> Iterator[NDArray[np.floating]]:
    """Run alternating nonnegative least squares; signed features are unconstrained."""
    H: NDArray[np.floating] = start if signed else np.maximum(start, 0.0)
    while True:
        W = nonnegative_least_squares(H @ H.T, data @ H.T)
        if signed:
            H = np.linalg.lstsq(W, data, rcond=None)[0]
        else:
            H = nonnegative_least_squares(W.T @ W, data.T @ W).T
        yield H


def mu_sweeps(data: Array, start: Array) -> Iterator[Array]:
    """Run scikit-learn's multiplicative updates, one sweep over both factors at a time."""
    from sklearn.decomposition import NMF

    H = np.maximum(start, 1e-12)  # multiplicative updates cannot leave zero
    W = np.maximum(data @ np.linalg.pinv(H), 1e-12)
    while True:
        model = NMF(len(start), init="custom", solver="mu", max_iter=1, tol=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one sweep is what we ask for
            W = model.fit_transform(data, W=W, H=H)
        H = model.components_
        yield H


def lda_sweeps(data: Array, start: Array) -> Iterator[Array]:
    """Run scikit-learn's online LDA on the rows as documents of 1000 words, sweep by sweep."""
    from scipy.special import psi
    from sklearn.decomposition import LatentDirichletAllocation

    counts = 1000 * data
    model: Any = LatentDirichletAllocation(
        len(start), learning_method="online", total_samples=len(data), random_state=0
    )
    model.partial_fit(counts[:1])  # makes the arrays that are then overwritten with the start
    model.components_ = np.maximum(start, 1e-9) * 1000
    totals = model.components_.sum(axis=1, keepdims=True)
    model.exp_dirichlet_component_ = np.exp(psi(model.components_) - psi(totals))
    while True:
        for first in range(0, len(data), 500):
            model.partial_fit(counts[first : first + 500])
        yield model.components_


COMPETITORS: dict[str, Method] = {
    "HALS": hals_sweeps,
    "ANLS": anls_sweeps,
    "MU": mu_sweeps,
    "LDA": lda_sweeps,
}
# Footnote 9: without the constraint on the features, on NEG.
SIGNED_COMPETITORS: dict[str, Method] = {
    "HALS": hals_sweeps,
    "ANLS": anls_sweeps,
    "HALS, signed features": partial(hals_sweeps, signed=True),
    "ANLS, signed features": partial(anls_sweeps, signed=True),
}


@dataclass(frozen=True)
class Course:
    """Seconds and errors after each pass, the error of the start first."""

    seconds: list[float]
    errors: list[float]

    @property
    def late_factor(self) -> float:
        """Mean factor of the error from pass to pass in the second half of the course."""
        half = len(self.errors) // 2
        passes = len(self.errors) - 1 - half
        if passes < 1 or self.errors[half] <= 0:
            return math.nan
        return float((self.errors[-1] / self.errors[half]) ** (1 / passes))

    @property
    def largest_rise(self) -> float:
        """Largest factor by which the error grew in one pass after the first."""
        pairs = list(zip(self.errors[1:], self.errors[2:]))
        return max((after / before for before, after in pairs if before > 0), default=math.nan)


def course(
    method: Method, sample: Sample, start: Array, *, passes: int, seconds: float = math.inf
) -> Course:
    """Run a method until a limit, its own end, or the last digits of the error."""
    first = total_correlation_error(start, sample.components)
    run = Course([0.0], [first])
    iterates = method(sample.data, start)
    while len(run.errors) <= passes and run.seconds[-1] <= seconds:
        began = time.process_time()
        components = next(iterates, None)
        if components is None:
            break
        run.seconds.append(run.seconds[-1] + time.process_time() - began)
        run.errors.append(total_correlation_error(components, sample.components))
        if run.errors[-1] < 1e-10 * first:
            break
    return run


def courses(
    methods: Mapping[str, Method], sample: Sample, start: Array, settings: Settings
) -> dict[str, Course]:
    """Run several methods from one start; competitors have a minute of the processor each."""
    passes, seconds = (60, 0.5) if settings.quick else (200, 60.0)
    return {
        name: course(
            method,
            sample,
            start,
            passes=passes,
            seconds=seconds if method in COMPETITORS.values() else math.inf,
        )
        for name, method in methods.items()
    }


def rows_of(runs: Mapping[str, Course], sample: Sample, **same: Any) -> list[Row]:
    """Return one row per method: errors at the start and end, convergence, passes and seconds."""
    length = float(np.linalg.norm(sample.components, axis=1).sum())
    return [
        {
            **same,
            "method": name,
            "error at the start": run.errors[0],
            "error": run.errors[-1],
            "error / start": run.errors[-1] / run.errors[0],
            "relative error": run.errors[-1] / length,
            "late factor": run.late_factor,
            "largest rise": run.largest_rise,
            "passes": len(run.errors) - 1,
            "seconds": round(run.seconds[-1], 3),
        }
        for name, run in runs.items()
    ]


def figure(title: str, runs: Mapping[str, Course]) -> Figure:
    """Plot errors against seconds, as in the paper."""
    series = [Series(name, run.seconds, run.errors) for name, run in runs.items()]
    return Figure(title, "seconds", "total correlation error", series, log_y=True)


def sizes(settings: Settings) -> tuple[int, int, int, int]:
    """Return the numbers of components, rows, columns, and columns of NEG."""
    return (12, 400, 60, 40) if settings.quick else (100, 5000, 2000, 1000)


def topics(settings: Settings) -> Array:
    """Return the word-topic matrix, one topic per row."""
    k, _, d, _ = sizes(settings)
    if settings.data is not None:
        return load_topics(settings.data / "nips" / "anchor_topics_100.npz")[:k]
    return topic_components(k, d, random_state=settings.seed)


def standard_start(
    components: Array, seed: int, *, in_span: float = 1.0, out_of_span: float = 0.0
) -> Array:
    """Draw a start (I + U) components, U uniform in ±0.05 in_span as in the paper, for any k."""
    return start_nearby(
        components,
        in_span=in_span * math.sqrt(len(components)) / 10,
        out_of_span=out_of_span,
        random_state=seed + 1,
    )


def convergence(settings: Settings) -> Measured:
    """Reproduce Figure 1: all algorithms on DIR, CTM and NEG; add our schedule and a true CTM."""
    components = topics(settings)
    k, n, _, d_signed = sizes(settings)
    seed = settings.seed
    samples = {
        "DIR": sample_dirichlet(n, components, random_state=seed),
        "CTM": sample_fresh_covariance(n, components, random_state=seed),
        "NEG": sample_signed(n, n_components=k, n_columns=d_signed, random_state=seed),
        "CTM, one covariance (not in the paper)": sample_logistic_normal(
            n, components, random_state=seed
        ),
    }
    tables: Tables = {}
    figures = []
    for position, (name, sample) in enumerate(samples.items()):
        settings.progress(position / len(samples), name)
        others = SIGNED_COMPETITORS if name == "NEG" else COMPETITORS
        methods: dict[str, Method] = {PAPER: paper_stages, VARIANT: adaptive_stages, **others}
        runs = courses(methods, sample, standard_start(sample.components, seed), settings)
        tables[name] = rows_of(runs, sample)
        figures.append(figure(name, runs))
    return Measured(tables, figures)


def thresholds_and_noise(settings: Settings) -> Measured:
    """Reproduce Figure 2: decreasing and constant thresholds (a, b), and noise (c)."""
    components = topics(settings)
    _, n, _, _ = sizes(settings)
    seed = settings.seed
    start = standard_start(components, seed)
    schemes: dict[str, Method] = {
        PAPER: paper_stages,
        "constant 0.1": partial(paper_stages, alpha=0.1, decay=1.0),
        "constant 0.0001": partial(paper_stages, alpha=0.0001, decay=1.0),
        VARIANT: adaptive_stages,
    }
    tables: Tables = {}
    figures: list[Figure] = []
    for name, draw in {"DIR": sample_dirichlet, "CTM": sample_fresh_covariance}.items():
        settings.progress(0.3 * len(figures), f"thresholds on {name}")
        sample = draw(n, components, random_state=seed)
        runs = courses(schemes, sample, start, settings)
        tables[f"Thresholds on {name}"] = rows_of(runs, sample)
        figures.append(figure(f"Thresholds on {name}", runs))
    rows: list[Row] = []
    curves: dict[str, Course] = {}
    methods: dict[str, Method] = {
        PAPER: partial(paper_stages, steps=100),
        VARIANT: adaptive_stages,
    }
    for level in (0.1, 0.01, 0.001) if settings.quick else (0.1, 0.05, 0.01, 0.005, 0.001, 0.0005):
        settings.progress(0.7, f"noise {level}")
        sample = sample_fresh_covariance(n, components, noise_level=level, random_state=seed)
        runs = courses(methods, sample, start, settings)
        rows += rows_of(runs, sample, **{"noise level": level})
        curves |= {f"{name}, γ = {level}": run for name, run in runs.items()}
    tables["Noise on CTM"] = rows
    return Measured(tables, [*figures, figure("Noise on CTM", curves)])


def weak_starts(settings: Settings) -> Measured:
    """Reproduce Figure 3: distant starts inside the span of the truth (a) and outside it (b)."""
    components = topics(settings)
    _, n, _, _ = sizes(settings)
    sample = sample_dirichlet(n, components, random_state=settings.seed)
    choices = [("in-span", r) for r in (0.5, 1.0, 1.5, 2.0)]
    choices += [("out-of-span", r) for r in (0.1, 0.3, 1.0)]
    tables: Tables = {}
    figures: dict[str, dict[str, Course]] = {}
    for position, (kind, size) in enumerate(choices):
        settings.progress(position / len(choices), f"{kind} {size}")
        given = {"in_span": size} if kind == "in-span" else {"out_of_span": size}
        start = standard_start(components, settings.seed, **given)
        runs = courses({PAPER: paper_stages, VARIANT: adaptive_stages}, sample, start, settings)
        tables.setdefault(f"Starts, {kind}", []).extend(rows_of(runs, sample, size=size))
        figures.setdefault(kind, {}).update({f"{name}, {size}": r for name, r in runs.items()})
    return Measured(tables, [figure(f"Starts, {kind}", runs) for kind, runs in figures.items()])


def sparsity(settings: Settings) -> Measured:
    """Reproduce Figure 4: Dirichlet weights from sparse (α = 1) to nearly dense (α = 80)."""
    components = topics(settings)
    k, n, _, _ = sizes(settings)
    totals = (1, 20, 80) if settings.quick else (1, 5, 10, 20, 40, 80)
    start = standard_start(components, settings.seed)
    rows: list[Row] = []
    curves: dict[str, Course] = {}
    for position, total in enumerate(totals):
        settings.progress(position / len(totals), f"Dirichlet total {total}")
        # The paper's α at k = 100; the same parameter per component for another k.
        sample = sample_dirichlet(
            n, components, concentration=total / 100, random_state=settings.seed
        )
        runs = courses({PAPER: paper_stages, VARIANT: adaptive_stages}, sample, start, settings)
        rows += rows_of(runs, sample, α=total)
        curves |= {f"{name}, α = {total}": run for name, run in runs.items()}
    return Measured({"Sparsity": rows}, [figure("Sparsity of the weights", curves)])


def worst(tables: Tables, titles: tuple[str, ...], name: str, **where: Any) -> float:
    """Return the largest entry of a column over several tables."""
    return max(max(column(tables, title, name, **where)) for title in titles)


def pace(tables: Tables, title: str, method: str) -> float:
    """Return the decrease of the log error per second."""
    fallen = -math.log(cell(tables, title, "error / start", method=method))
    return fallen / cell(tables, title, "seconds", method=method)


def slower(method: str, tables: Tables) -> float:
    """Return the ratio of AND's pace to another method's, the minimum over DIR and CTM."""
    return min(pace(tables, name, PAPER) / pace(tables, name, method) for name in ("DIR", "CTM"))


def noise_exponent(method: str, tables: Tables) -> float:
    """Estimate the exponent p in error ∝ γ^p."""
    levels = column(tables, "Noise on CTM", "noise level", method=method)
    return exponent(levels, column(tables, "Noise on CTM", "error", method=method))


BOTH = ("DIR", "CTM")
ALL = ("DIR", "CTM", "NEG")
SCHEMES = ("Thresholds on DIR", "Thresholds on CTM")
EXPERIMENTS = declare(
    Recipe(
        "and-fig1",
        convergence,
        {
            "and-converges": lambda t: worst(t, ALL, "error / start", method=PAPER),
            "and-linear-rate": lambda t: worst(t, ALL, "late factor", method=PAPER),
            "hals-converges": lambda t: worst(t, BOTH, "error / start", method="HALS"),
            "hals-slower": lambda t: slower("HALS", t),
            "hals-oscillates": lambda t: cell(t, "CTM", "largest rise", method="HALS"),
            "hals-fails-on-neg": lambda t: cell(t, "NEG", "error / start", method="HALS"),
            "anls-slower": lambda t: slower("ANLS", t),
            "others-fail": lambda t: min(
                cell(t, name, "error / start", method=m) for name in BOTH for m in ("MU", "LDA")
            ),
            "signed-features-fail": lambda t: min(
                cell(t, "NEG", "error / start", method=f"{m}, signed features")
                for m in ("HALS", "ANLS")
            ),
        },
        variant={PAPER: VARIANT},
    ),
    Recipe(
        "and-fig2",
        thresholds_and_noise,
        {
            "decreasing-falls": lambda t: worst(t, SCHEMES, "error / start", method=PAPER),
            "constant-stops": lambda t: min(
                cell(t, title, "late factor", method=f"constant {c}")
                for title in SCHEMES
                for c in ("0.1", "0.0001")
            ),
            "constant-stays-far": lambda t: min(
                cell(t, title, "error / start", method=f"constant {c}")
                for title in SCHEMES
                for c in ("0.1", "0.0001")
            ),
            "noise-first-drops": lambda t: max(
                column(t, "Noise on CTM", "error / start", method=PAPER)
            ),
            "noise-stabilizes": lambda t: max(
                abs(math.log(f)) for f in column(t, "Noise on CTM", "late factor", method=PAPER)
            ),
            "noise-level-decides": lambda t: abs(noise_exponent(PAPER, t) - 1),
        },
        variant={PAPER: VARIANT},
    ),
    Recipe(
        "and-fig3",
        weak_starts,
        {
            "in-span": lambda t: worst(t, ("Starts, in-span",), "error / start", method=PAPER),
            "in-span-exponential": lambda t: worst(
                t, ("Starts, in-span",), "late factor", method=PAPER
            ),
            "out-of-span": lambda t: worst(
                t, ("Starts, out-of-span",), "relative error", method=PAPER
            ),
        },
        variant={PAPER: VARIANT},
    ),
    Recipe(
        "and-fig4",
        sparsity,
        {
            "converges-to-20": lambda t: max(
                cell(t, "Sparsity", "error / start", method=PAPER, α=a) for a in (1, 20)
            ),
            "exponential-to-20": lambda t: cell(t, "Sparsity", "late factor", method=PAPER, α=20),
            "small-error-at-80": lambda t: cell(
                t, "Sparsity", "relative error", method=PAPER, α=80
            ),
        },
        variant={PAPER: VARIANT},
    ),
)
