"""Figures 1 to 4 and Theorems 1, 4 and 26 of Li and Liang (2017, Li17): AND, known components.

Setting of the paper: k = 100, n = 5000, the word-topic matrix of the NIPS corpus as components
(with --data the one of nips/anchor_topics_100.npz, d = 2940; otherwise synthetic topics, d = 2000),
d = 1000 for NEG, T = 50 steps a stage (100 with noise), η = 0.5/k on sums, thresholds 0.1/1.1^j.
The quick size has k = 12, n = 400, d = 60. Errors are the paper's total correlation error, not
squared; the relative error divides it by the sum of the components' lengths.

No figure shows the theorems: Theorem 1, binary weights with the constant threshold 1/4, independent
or with the highest possible correlation; Theorem 4, thresholds tied to the error; the weights of
Section 6.1 that no method can decode; Theorem 26, noise that is only bounded, (γ₁, γ₂)-rounded of
Definition 5. "η = 1/poly" is 1/‖ZᵀZ‖₂.

A method is a function from data (n, d) and a start (k, d) to a sequence of components, one a pass.
Seconds are those of the processor, so that a busy machine does not matter.

Differs: Li17 use their own HALS and multiplicative updates and Kim and Park's ANLS. HALS here is
written anew, ANLS solves both problems exactly with our solver, MU and LDA are scikit-learn's.
"""

from __future__ import annotations

import itertools
import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.data import LocalRows
from provenmf.datasets import and_descent as data_sets
from provenmf.datasets.sample import Sample
from provenmf.io.matrices import read_matrix
from provenmf.linalg.nnls import nonnegative_least_squares
from provenmf.methods.and_descent.guarantee import general_correlation
from provenmf.methods.and_descent.kernels import after_gradient_steps
from provenmf.metrics.recovery import total_correlation_error
from provenmf.report.elements import Chart
from provenmf.reproduce.claims import (
    Measured,
    Row,
    Settings,
    Tables,
    cell,
    chart,
    logarithms,
    quotients,
)

Array = NDArray[np.float64]
Method = Callable[[Array, Array], Iterator[NDArray[np.floating]]]
# What distinguishes a row of a table, the data, and the start.
Case = tuple[Row, Sample, Array]

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


def one_sample_stages(
    data: Array, start: Array, *, alpha: float, decay: float, seed: int
) -> Iterator[Array]:
    """Run Algorithm 1 as printed, one row y a step: A ← A + η (y − A z) zᵀ, in our orientation.

    The decoder is fixed in a stage. So with G = E[zzᵀ] the mean of A minus the stage's
    least-squares solution is multiplied by I − ηG a step, and T = 2 / (η λ_min(G)) steps leave e⁻²
    of it. No step enlarges that difference if η ≤ 1 / max ‖z‖². The noise of the steps is
    proportional to the error of decoding, which shrinks from stage to stage, so η need not.

    For all rows at once the experiments have n η T λ_min(G) = 2.1 (DIR, η = 0.5/k, T = 50); the
    same η and T with one row a step have 1/n of it, and leave 0.9996 of the difference a stage.
    """
    components, rng = start.copy(), np.random.default_rng(seed)
    for stage in itertools.count(1):
        weights = data @ np.linalg.pinv(components)
        weights[weights < alpha / decay**stage] = 0.0
        eta = 1.0 / (weights**2).sum(axis=1).max()
        slowest = float(np.linalg.eigvalsh(weights.T @ weights)[0]) / len(data)
        # Where a feature is not decoded yet, T would be infinite: at most ten passes.
        steps = min(math.ceil(2.0 / max(eta * slowest, 1e-12)), 10 * len(data))
        for row in rng.integers(len(data), size=steps):
            used = np.flatnonzero(weights[row])
            z = weights[row, used]
            components[used] += eta * np.outer(z, data[row] - z @ components[used])
        yield components.copy()


def adaptive_stages(data: Array, start: Array, **options: Any) -> Iterator[NDArray[np.floating]]:
    """Yield the result of `provenmf.AND` from this start."""
    from provenmf import AND

    model = AND(len(start), init=start, certify=False, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a stall is what the table shows
        yield model.fit(data).components_


def hals_sweeps(data: Array, start: Array, *, signed: bool = False) -> Iterator[Array]:
    """Run hierarchical alternating least squares; if signed, only the weights are nonnegative."""

    def sweep_in_place(factor: Array, cross: Array, gram: Array, bound: float) -> None:
        for j in range(len(gram)):
            step = (cross[:, j] - factor @ gram[:, j]) / max(gram[j, j], np.finfo(float).tiny)
            factor[:, j] = np.maximum(factor[:, j] + step, bound)

    H = start.copy() if signed else np.maximum(start, 0.0)
    W = np.maximum(data @ np.linalg.pinv(H), 0.0)
    while True:
        sweep_in_place(W, data @ H.T, H @ H.T, 0.0)
        sweep_in_place(H.T, data.T @ W, W.T @ W, -math.inf if signed else 0.0)
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


OURS: dict[str, Method] = {PAPER: paper_stages, VARIANT: adaptive_stages}
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
    """Run a method until it ends, reaches a limit, or reduces the error to rounding."""
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


def study(
    title: str, methods: Mapping[str, Method], cases: Iterable[Case], settings: Settings
) -> tuple[list[Row], Chart]:
    """Run methods in several cases: a row each, and errors against seconds as in the paper.

    Competitors have a minute of the processor each.
    """
    passes, limit = (60, 0.5) if settings.quick else (200, 60.0)
    rows: list[Row] = []
    lines = []
    for same, sample, start in cases:
        length = float(np.linalg.norm(sample.components, axis=1).sum())
        described = ", ".join(f"{key} = {value}" for key, value in same.items())
        for name, method in methods.items():
            settings.progress(0.5, f"{title}, {described} {name}")
            seconds = math.inf if name not in COMPETITORS | SIGNED_COMPETITORS else limit
            run = course(method, sample, start, passes=passes, seconds=seconds)
            lines.append((f"{name} {described}".strip(), run.seconds, run.errors))
            rows.append(
                {
                    **same,
                    "method": name,
                    "error at the start": run.errors[0],
                    "error": run.errors[-1],
                    "relative error": run.errors[-1] / length,
                    "late factor": run.late_factor,
                    "largest rise": run.largest_rise,
                    "passes": len(run.errors) - 1,
                    "seconds": round(run.seconds[-1], 3),
                }
            )
    return rows, chart(title, "seconds", "total correlation error", lines, "y")


def sizes(settings: Settings) -> tuple[int, int, int, int]:
    """Return the numbers of components, rows, columns, and columns of NEG."""
    return (12, 400, 60, 40) if settings.quick else (100, 5000, 2000, 1000)


def topics(settings: Settings) -> Array:
    """Return the word-topic matrix, one topic per row."""
    k, _, d, _ = sizes(settings)
    if settings.data is not None:
        found = read_matrix(settings.data / "nips" / "anchor_topics_100.npz", "A")
        return np.ascontiguousarray(found.T[:k], dtype=np.float64)
    return data_sets.topic_components(k, d, random_state=settings.seed)


def standard_start(
    components: Array, seed: int, *, in_span: float = 1.0, out_of_span: float = 0.0
) -> Array:
    """Draw a start (I + U) components, U uniform in ±0.05 in_span as in the paper, for any k."""
    return data_sets.start_nearby(
        components,
        in_span=in_span * math.sqrt(len(components)) / 10,
        out_of_span=out_of_span,
        random_state=seed + 1,
    )


def convergence(settings: Settings) -> Measured:
    """Reproduce Figure 1: all algorithms on DIR, CTM and NEG; add our schedule and a true CTM."""
    components = topics(settings)
    k, n, _, d = sizes(settings)
    seed = settings.seed
    samples = {
        "DIR": data_sets.sample_dirichlet(n, components, random_state=seed),
        "CTM": data_sets.sample_fresh_covariance(n, components, random_state=seed),
        "NEG": data_sets.sample_signed(n, n_components=k, n_columns=d, random_state=seed),
        "CTM, one covariance (not in the paper)": data_sets.sample_logistic_normal(
            n, components, random_state=seed
        ),
    }
    tables: Tables = {}
    figures = []
    for name, sample in samples.items():
        methods = OURS | (SIGNED_COMPETITORS if name == "NEG" else COMPETITORS)
        case: Case = ({}, sample, standard_start(sample.components, seed))
        tables[name], figure = study(name, methods, [case], settings)
        figures.append(figure)
    return Measured(tables, figures)


def thresholds_and_noise(settings: Settings) -> Measured:
    """Reproduce Figure 2: decreasing and constant thresholds (a, b), and noise (c)."""
    components = topics(settings)
    n, seed = sizes(settings)[1], settings.seed
    start = standard_start(components, seed)
    schemes = OURS | {
        f"constant {alpha}": partial(paper_stages, alpha=alpha, decay=1.0)
        for alpha in (0.1, 0.0001)
    }
    tables: Tables = {}
    figures = []
    draws = {"DIR": data_sets.sample_dirichlet, "CTM": data_sets.sample_fresh_covariance}
    for name, draw in draws.items():
        title, sample = f"Thresholds on {name}", draw(n, components, random_state=seed)
        tables[title], figure = study(title, schemes, [({}, sample, start)], settings)
        figures.append(figure)
    levels = (0.1, 0.01, 0.001) if settings.quick else (0.1, 0.05, 0.01, 0.005, 0.001, 0.0005)
    noisy = partial(data_sets.sample_fresh_covariance, n, components, random_state=seed)
    cases: Iterable[Case] = (
        ({"noise level": level}, noisy(noise_level=level), start) for level in levels
    )
    methods = OURS | {PAPER: partial(paper_stages, steps=100)}
    tables["Noise on CTM"], figure = study("Noise on CTM", methods, cases, settings)
    return Measured(tables, [*figures, figure])


def weak_starts(settings: Settings) -> Measured:
    """Reproduce Figure 3: distant starts inside the span of the truth (a) and outside it (b)."""
    components, seed = topics(settings), settings.seed
    sample = data_sets.sample_dirichlet(sizes(settings)[1], components, random_state=seed)
    tables: Tables = {}
    figures = []
    for title, option, lengths in (
        ("Starts, in-span", "in_span", (0.5, 1.0, 1.5, 2.0)),
        ("Starts, out-of-span", "out_of_span", (0.1, 0.3, 1.0)),
    ):
        cases: Iterable[Case] = (
            ({"size": size}, sample, standard_start(components, seed, **{option: size}))
            for size in lengths
        )
        tables[title], figure = study(title, OURS, cases, settings)
        figures.append(figure)
    return Measured(tables, figures)


def sparsity(settings: Settings) -> Measured:
    """Reproduce Figure 4: Dirichlet weights from sparse (α = 1) to nearly dense (α = 80).

    The paper's α at k = 100; the same parameter per component for another k.
    """
    components, n, seed = topics(settings), sizes(settings)[1], settings.seed
    start = standard_start(components, seed)
    draw = partial(data_sets.sample_dirichlet, n, components, random_state=seed)
    cases: Iterable[Case] = (
        ({"α": total}, draw(concentration=total / 100), start)
        for total in ((1, 20, 80) if settings.quick else (1, 5, 10, 20, 40, 80))
    )
    rows, figure = study("Sparsity of the weights", OURS, cases, settings)
    return Measured({"Sparsity": rows}, [figure])


def theorems(settings: Settings) -> Measured:
    """Test Theorems 1 and 4, the counterexample of Section 6.1, and Theorem 26."""
    k, d, n = (12, 40, 600) if settings.quick else (50, 300, 4000)
    components = data_sets.topic_components(k, d, random_state=settings.seed)
    start = standard_start(components, settings.seed)
    sample = data_sets.sample_sparse_binary(n, components, n_ones=3, random_state=settings.seed)
    pairs = in_pairs(sample.weights, 0.5, np.random.default_rng(settings.seed))
    cases: Iterable[Case] = (
        ({"weights": name}, Sample(weights @ components, components, weights), start)
        for name, weights in (("independent", sample.weights), ("pairs", pairs))
    )
    constant = partial(paper_stages, alpha=0.25, decay=1.0, eta=None)
    title = "Binary weights, α = 1/4"
    tables = {title: study(title, OURS | {PAPER: constant}, cases, settings)[0]}
    everywhere = np.where(sample.weights > 0, 1.0, 1.0 / k)
    data = Sample(everywhere @ components, components, everywhere)
    methods = OURS | {PAPER: partial(paper_stages, eta=None)}
    title = "Weights of Section 6.1"
    tables[title], figure = study(title, methods, [({}, data, start)], settings)
    # Each of the three features with weight one may take a third of the common vector.
    absorbed = (1 - 1 / k) * components + components.mean(axis=0) / 3
    for row in tables[title]:
        row["absorbed"] = total_correlation_error(absorbed, components)
    data = data_sets.sample_dirichlet(n, components, random_state=settings.seed)
    theorem_4 = partial(adaptive_stages, schedule="theorem-4", scale_rows=False)
    title = "DIR, thresholds of Theorem 4"
    tables[title], _ = study(title, {PAPER: theorem_4}, [({}, data, start)], settings)
    tables["Bounded noise"] = [
        noise_row(kind, level, sample, start, settings)
        for kind in ("random", "adversarial")
        for level in (0.003, 0.01, 0.03)
    ]
    title = "One sample a step"
    ones = tables[title] = []
    for name, drawn, alpha, decay in (("binary", sample, 0.25, 1.0), ("DIR", data, 0.1, 1.1)):
        stages = partial(one_sample_stages, alpha=alpha, decay=decay, seed=settings.seed)
        ones += study(title, {PAPER: stages}, [({"data": name}, drawn, start)], settings)[0]
    return Measured(tables, [figure])


def in_pairs(weights: Array, share: float, rng: np.random.Generator) -> Array:
    """Let every second feature follow its neighbor with this chance: E[x_i x_j] = O(1/D)."""
    paired = weights.copy()
    follows = rng.random((len(weights), weights.shape[1] // 2)) < share
    second = paired[:, 1::2][:, : follows.shape[1]]
    second[follows] = paired[:, 0::2][:, : follows.shape[1]][follows]
    return paired


def noise_row(kind: str, level: float, sample: Sample, start: Array, settings: Settings) -> Row:
    """Compute ‖A − A*Σ‖₂ for noise of norm γ₂ = level · σ_min(A*), and Theorem 26's bound."""
    settings.progress(0.6, f"{kind} noise {level}")
    truth, weights = sample.components, sample.weights
    rng = np.random.default_rng(settings.seed + 1)
    singular = np.linalg.svd(truth, compute_uv=False)
    gamma = level * singular[-1]
    directions = rng.standard_normal(truth.shape)
    if kind == "random":
        directions = rng.standard_normal(sample.data.shape)
    else:  # always the same push for the first feature that a row has
        directions = directions[weights.argmax(axis=1)]
    noise = gamma * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    stages = paper_stages(sample.data + noise, start, steps=100, alpha=0.25, decay=1.0, eta=None)
    for _, found in zip(range(20 if settings.quick else 60), stages):
        last = found
    scales = np.einsum("ij,ij->i", last, truth) / np.einsum("ij,ij->i", truth, truth)
    error = float(np.linalg.norm(last - scales[:, None] * truth, 2))
    correlation = general_correlation(LocalRows.of(weights))
    gamma_1 = float(np.linalg.norm(noise.T @ noise / len(noise), 2))
    lam, k = correlation.lam, correlation.k
    bound = correlation.r * gamma / lam * singular[0] / singular[-1]
    bound += math.sqrt(gamma_1 * correlation.D / k) / lam
    return {"noise": kind, "γ₂": gamma, "γ₁": gamma_1, "error": error, "bound": bound}


def slower(tables: Tables, method: str) -> float:
    """Return the smallest ratio of AND's speed to that of another method, on DIR and CTM.

    The speed is the decrease of the logarithm of the error in a second.
    """

    def pace(title: str, name: str) -> float:
        first, last, seconds = (
            cell(tables, title, column, method=name)
            for column in ("error at the start", "error", "seconds")
        )
        return float(np.subtract(*logarithms([first, last])) / (seconds or math.nan))

    pairs = [(pace(title, PAPER), pace(title, method)) for title in ("DIR", "CTM")]
    return float(np.min(quotients(*zip(*pairs))))
