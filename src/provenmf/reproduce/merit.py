"""The synthetic experiments of Nguyen, Fu & Wu (Nguyen22), Section V-A: Figs. 2 to 5 and Table I.

The paper's MERIT takes 100 open-loop steps from C = 0 with its λ; "our MERIT" is the estimator with
its defaults. SPA and FastGradient (150 steps, as in the authors' runs) are ours. The paper's
figures are curves without numbers; runs of the authors' programs on data of the same kind (50
trials a point, 20 for Fig. 4a) stand beside ours as "authors' code". No figure shows Theorem 1,
Fact 1 and Lemma 1, tested on rows without noise, and Proposition 1, on the warm start.

MRSA: the authors divide by the largest value of any trial, so the printed figures depend on the set
of trials. Here it is 100/π times the angle in radians, in [0, 100].
"""

from __future__ import annotations

import itertools
import math
import multiprocessing
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.data import as_blocks
from provenmf.datasets.sample import Sample
from provenmf.datasets.separable import dirichlet_mixtures, middle_points
from provenmf.linalg.nnls import encoder
from provenmf.methods import make_estimator
from provenmf.methods.merit import guarantee
from provenmf.methods.separable.spa import spa
from provenmf.metrics.recovery import (
    mean_removed_spectral_angle,
    relative_approximation,
    success,
)
from provenmf.reproduce.claims import (
    Options,
    Row,
    Settings,
    Tables,
    column,
    contents,
    logarithms,
)

AUTHORS_METHODS = ("SPA", "FastGradient", "MERIT")
# The iteration as the authors ran it: their λ, 100 steps whatever the gap.
OPEN_LOOP: Options = {"step": "open-loop", "lam": "authors", "max_iter": 100, "tol": 0.0}
PAPER, VARIANT = "MERIT", "our MERIT"
METHODS: dict[str, tuple[str, Options]] = {
    "SPA": ("spa", {}),
    "FastGradient": ("fast_gradient", {"max_iter": 150, "tol": 0.0}),
    PAPER: ("merit", OPEN_LOOP),
    VARIANT: ("merit", {}),
}
MEASURES = RATE, MRSA, RAE = ("success rate", "MRSA, 0 to 100", "RAE")
MEMORY, DB = "Peak memory of a fit beyond the data, MB", "SNR (dB)"
CLEAN, WARM = "Without noise", "Warm start"
LARGEST_ENTRY = "smallest maximum of an anchor"
Names = Sequence[str]
Generator = Callable[[float, int], Sample]


def fit_anchors(
    method: tuple[str, Options], data: NDArray[np.floating], k: int, seed: int
) -> NDArray[np.intp]:
    """Find anchors with a method, such as one of `METHODS`."""
    stem, options = method
    options = {"random_state": seed, "certify": False, **options}
    return make_estimator(stem, k, **options).fit(data).anchors_


def trial_seed(seed: int, level: float, trial: int) -> int:
    """Return the seed of a trial at a level, independent of the other levels."""
    entropy = (seed, round(1000 * level), trial)
    return int(np.random.SeedSequence(entropy).generate_state(1)[0])


def judge(sample: Sample, anchors: NDArray[np.intp]) -> tuple[float, float, float]:
    """Compute success, MRSA in [0, 100] and RAE of the chosen rows."""
    components = sample.data[anchors]
    weights = encoder(components, sample.data.dtype, "simplex")(sample.data)
    assert sample.anchors is not None  # these generators always plant them
    return (
        float(success(anchors, sample.anchors)),
        mean_removed_spectral_angle(components, sample.components),
        relative_approximation(sample.data, weights, components),
    )


def trials_of(
    generate: Generator,
    level_name: str,
    levels: Sequence[float],
    trials: int,
    settings: Settings,
    methods: Mapping[str, tuple[str, Options]] = METHODS,
) -> Tables:
    """Average over trials: a table per measure, a row per level, a column per method.

    Beside a mean that is no rate stands its standard error, "±".
    """
    tables: Tables = {name: [] for name in MEASURES}
    for level in settings.each(levels):
        found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in methods}
        for trial in range(trials):
            seed = trial_seed(settings.seed, level, trial)
            sample = generate(level, seed)
            for name, method in methods.items():
                anchors = fit_anchors(method, sample.data, sample.n_components, seed)
                found[name].append(judge(sample, anchors))
        for place, (measure, table) in enumerate(tables.items()):
            row: Row = {level_name: level, "trials": trials}
            for name, values in found.items():
                one = np.array(values)[:, place]
                row[name] = float(one.mean())
                if measure != RATE:
                    row[f"{name} ±"] = float(one.std(ddof=1) / math.sqrt(trials))
            table.append(row)
    return tables


def middle(snr: float, seed: int) -> Sample:
    """Draw the data of Figs. 2 and 3: (d, n, K) = (50, 55, 10), structured noise, unit-sum W."""
    return middle_points(10, 50, snr=snr, random_state=seed)


def mixed(snr: float, seed: int) -> Sample:
    """Draw the data of Figs. 4a and 5: (d, n, K) = (50, 200, 40), Gaussian noise."""
    return dirichlet_mixtures(200, 50, 40, snr=snr, random_state=seed)


def by_snr(settings: Settings, generate: Generator, levels: Sequence[int], name: str) -> Tables:
    """Tabulate by SNR; success rates of the authors' code stand beside ours."""
    tables = trials_of(generate, DB, levels, 2 if settings.quick else 50, settings)
    for row in tables[RATE]:
        rates = zip(AUTHORS_METHODS, contents("published.toml")[name][str(row[DB])])
        row |= {f"authors' {method}": rate for method, rate in rates}
    return tables


def fig2(settings: Settings) -> Tables:
    """Reproduce Figs. 2 and 3: success rates, MRSA and RAE on middle points."""
    levels = [10, 16, 20] if settings.quick else [7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 22, 25]
    return by_snr(settings, middle, levels, "authors_fig2")


def fig4(settings: Settings) -> Tables:
    """Reproduce Fig. 4: success rates on Dirichlet mixtures, and memory as a function of n."""
    levels = [9, 12] if settings.quick else [6, 7, 8, 9, 10, 11, 12, 14, 16]
    tables = by_snr(settings, mixed, levels, "authors_fig4")
    memory: list[Row] = []
    for n in [500, 1500] if settings.quick else [1000, 2000, 5000, 10_000]:
        settings.progress(1.0, f"memory at n = {n}")
        peaks = {m: peak_megabytes(fit_mixture, m, n, warm=60) for m in METHODS}
        memory.append({"n": n, **{m: peak - before for m, (peak, before) in peaks.items()}})
    return {**tables, MEMORY: memory}


def fit_mixture(method: str, n: int) -> None:
    """Fit n rows of Fig. 4 (b); FastGradient's memory does not depend on its number of steps."""
    fewer = {"max_iter": 3} if method == "FastGradient" else {}
    data = dirichlet_mixtures(n, 50, 40, snr=10, random_state=0).data
    stem, options = METHODS[method]
    fit_anchors((stem, options | fewer), data, 40, 0)


def fig5(settings: Settings) -> Tables:
    """Reproduce Fig. 5: success rates by λ and μ of the paper's iteration, data of Fig. 4 (a)."""
    levels = [8, 12] if settings.quick else [6, 8, 10, 12]
    trials = 2 if settings.quick else 30
    lams = [0.1, 1.0] if settings.quick else [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
    mus = [1e-5, 1e-3] if settings.quick else [1e-6, 1e-5, 1e-4, 1e-3, 1e-2]
    tables: Tables = {}
    for name, option, values in (("λ", "lam", lams), ("μ", "mu", mus)):
        methods = {str(value): ("merit", OPEN_LOOP | {option: value}) for value in values}
        rates = trials_of(mixed, DB, levels, trials, settings, methods)[RATE]
        tables[f"by {name}"] = [
            {name: value, "trials": trials} | {f"{r[DB]:g} dB": r[str(value)] for r in rates}
            for value in values
        ]
    return tables


def table1(settings: Settings) -> Tables:
    """Reproduce Table I: success, MRSA and RAE for K = 40 … 70 at (d, n) = (80, 200), 10 dB."""

    def generate(k: float, seed: int) -> Sample:
        return dirichlet_mixtures(200, 80, int(k), snr=10, random_state=seed)

    ks = [40, 70] if settings.quick else [40, 50, 60, 70]
    tables = trials_of(generate, "K", ks, 2 if settings.quick else 50, settings)
    for place, rows in enumerate(tables.values()):
        for row in rows:
            printed = contents("published.toml")["table1"][str(row["K"])][place]
            row |= {f"printed {m}": v for m, v in zip(AUTHORS_METHODS, printed)}
    return tables


def peak_megabytes(
    function: Callable[..., Any], *arguments: Any, warm: Any = None
) -> tuple[float, float]:
    """Return the peak resident memory of a call in a fresh process, and that before the call.

    With `warm` the function first runs with this last argument, which loads and compiles what is
    needed. The function must be importable. Both numbers contain Python and its libraries.
    """
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_measure_memory, (function, arguments, warm))


def _measure_memory(
    function: Callable[..., Any], arguments: tuple[Any, ...], warm: Any
) -> tuple[float, float]:
    if warm is not None:
        function(*arguments[:-1], warm)
    before = high_water_mark(restart=warm is not None)
    function(*arguments)
    return high_water_mark(), before


def high_water_mark(*, restart: bool = False) -> float:
    """Return this process's peak resident memory in megabytes; Linux can restart it from now.

    NaN where the system does not tell, as on Windows.
    """
    if restart and (clear := Path("/proc/self/clear_refs")).exists():
        clear.write_text("5")
    status = Path("/proc/self/status")
    if status.exists():  # getrusage also counts the parent's memory before the fork
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return float(line.split()[1]) / 1024
    try:
        import resource
    except ModuleNotFoundError:
        return math.nan
    scale = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def lemmas(settings: Settings) -> Tables:
    """Test Theorem 1, Fact 1, Lemma 1 without noise; Proposition 1 at 20 dB, warm start."""
    rows: list[Row] = []
    starts: list[Row] = []
    for trial in settings.each(range(3 if settings.quick else 20)):
        rows.append(noiseless(settings.seed + trial))
        starts.append(warm_started(settings.seed + trial))
    return {CLEAN: rows, WARM: starts}


def noiseless(seed: int) -> Row:
    """Follow 300 steps of Algorithm 1 with λ = 0 on rows without noise."""
    sample = dirichlet_mixtures(100, 30, 8, random_state=seed)
    anchors, least_gap = sample.anchors, math.inf
    assert anchors is not None  # this generator plants them
    path = guarantee.algorithm_1(sample.data, 0.0, 1e-5)
    for _, (C, residual, gradient) in zip(range(301), path):
        fitted = np.linalg.norm(residual, axis=1) <= 1e-9
        two = np.partition(gradient, 1, axis=1)[~fitted]
        least_gap = np.minimum(least_gap, (two[:, 1] - two[:, 0]).min(initial=math.inf))
        # A row that is fitted exactly has a constant gradient, against (15): it stays.
        gradient[fitted, C[fitted].argmax(axis=1)] = -np.inf
    omega = float(np.linalg.norm(C @ sample.weights - sample.weights, axis=1).max())
    maxima = C.max(axis=0)
    return {
        "entries outside the anchors": int(np.count_nonzero(np.delete(maxima, anchors))),
        "smallest gap": least_gap,
        "ω √K / 2": 1 - guarantee.lemma_1_bound(omega, sample.n_components),
        LARGEST_ENTRY: float(maxima[anchors].min()),
    }


def warm_started(seed: int) -> Row:
    """Compare the smallest difference within an anchor's column to the bound of Proposition 1."""
    sample = dirichlet_mixtures(60, 30, 5, snr=20, random_state=seed)
    X, anchors, steps = sample.data, sample.anchors, 40
    chosen = spa(as_blocks(X), 5).anchors
    assert chosen is not None and anchors is not None  # SPA and the generator have them
    C = np.zeros((60, 60))
    C[:, chosen] = encoder(X[chosen], X.dtype, "simplex")(X)
    left = float(np.linalg.norm(C @ X - X))
    first = max(1, round(math.sqrt(X.size) / left))  # 1 / RMSE
    bound = guarantee.proposition_1_bound(C[:, anchors], first, first + steps)
    path = guarantee.algorithm_1(X, left / 5, 1e-5, C=C, first_step=first)
    last, _, _ = next(itertools.islice(path, steps, None))
    least = guarantee.smallest_difference(last[:, anchors])
    return {"T": first + steps, "smallest difference": least, "bound": bound}


def lead(tables: Tables, ahead: Names, behind: Names) -> float:
    """Return by how much the success rate of each method ahead exceeds that of each behind."""
    ours, others = (
        [np.mean(column(tables, RATE, method)) for method in methods] for methods in (ahead, behind)
    )
    return float(np.min(ours) - np.max(others))


def estimate(tables: Tables, title: str, method: str, errors: float) -> float:
    """Return the mean of a measure over all levels plus so many of its standard errors."""
    mean, spread = (np.array(column(tables, title, f"{method}{end}")) for end in ("", " ±"))
    return float(mean.mean() + errors * np.linalg.norm(spread) / len(spread))


def mean_lead(tables: Tables) -> float:
    """Return MERIT's mean RAE minus that of the better rival, two standard errors each nearer."""
    others = [estimate(tables, RAE, name, 2.0) for name in ("SPA", "FastGradient")]
    return estimate(tables, RAE, PAPER, -2.0) - float(np.max(others))


def least_lead(tables: Tables) -> float:
    """Return the smallest RAE lead over the better of SPA and FastGradient at any SNR."""
    others = np.max([column(tables, RAE, method) for method in ("SPA", "FastGradient")], axis=0)
    return float(np.min(column(tables, RAE, PAPER) - others))


def angle_ratio(tables: Tables) -> float:
    """Return MERIT's mean MRSA over the better rival's, two standard errors each nearer."""
    others = [estimate(tables, MRSA, name, -2.0) for name in ("SPA", "FastGradient")]
    least = float(np.min(others))
    return estimate(tables, MRSA, PAPER, 2.0) / least if least > 0 else math.nan


def shift_of_lambda(tables: Tables) -> float:
    """Return the mean log10 λ, weighted by the success rate, at 8 dB minus that at 12 dB."""
    logs = logarithms(column(tables, "by λ", "λ")) / math.log(10)
    rates = [np.array(column(tables, "by λ", snr)) for snr in ("8 dB", "12 dB")]
    low, high = (rate @ logs / rate.sum() if rate.sum() > 0 else math.nan for rate in rates)
    return float(low - high)


def spread_by_mu(tables: Tables) -> float:
    """Return the largest range of a success rate over μ."""
    levels = [name for name in tables.get("by μ", [{}])[0] if name.endswith(" dB")]
    return float(np.max([np.ptp(column(tables, "by μ", name)) for name in levels] or [math.nan]))


def from_the_print(tables: Tables, title: str, methods: Names) -> float:
    """Return the largest difference between our numbers and the printed ones."""
    ours, printed = (
        [column(tables, title, prefix + method) for method in methods]
        for prefix in ("", "printed ")
    )
    return float(np.max(np.abs(np.subtract(ours, printed))))


def margin_of_lemma_1(tables: Tables) -> float:
    """Return the least excess of an anchor's largest entry over 1 − ω √K / 2."""
    largest, half = (column(tables, CLEAN, n) for n in (LARGEST_ENTRY, "ω √K / 2"))
    return float(np.min(np.add(largest, half) - 1))
