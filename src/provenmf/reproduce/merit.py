"""The synthetic experiments of Nguyen, Fu & Wu (Nguyen22), Section V-A: Figs. 2 to 5 and Table I.

The paper's MERIT takes 100 open-loop steps from C = 0 with its λ; "our MERIT" is the estimator with
its defaults. SPA and FastGradient (150 steps, as in the authors' runs) are ours. The paper's
figures are curves without numbers; runs of the authors' programs on data of the same kind (50
trials a point, 20 for Fig. 4a) stand beside ours as "authors' code".

MRSA: the authors divide by the largest value of any trial, so the printed figures depend on the set
of trials. Here it is 100/π times the angle in radians, in [0, 100].
"""

from __future__ import annotations

import math
import multiprocessing
import sys
import tomllib
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.datasets.sample import Sample
from provenmf.datasets.separable import dirichlet_mixtures, middle_points
from provenmf.linalg.nnls import encoder
from provenmf.methods import make_estimator
from provenmf.metrics.recovery import (
    mean_removed_spectral_angle,
    relative_approximation,
    success,
)
from provenmf.reproduce.claims import (
    Figure,
    Measured,
    Options,
    Recipe,
    Row,
    Series,
    Settings,
    Tables,
    cell,
    column,
    curves,
    declare,
)

_TEXT = resources.files("provenmf.reproduce").joinpath("published.toml").read_text("utf-8")
_FOUND: dict[str, Any] = tomllib.loads(_TEXT)

AUTHORS_METHODS = ("SPA", "FastGradient", "MERIT")
# SNR -> success rates of these methods by the authors' programs.
AUTHORS_FIG2 = {int(snr): tuple(rates) for snr, rates in _FOUND["authors_fig2"].items()}
AUTHORS_FIG4 = {int(snr): tuple(rates) for snr, rates in _FOUND["authors_fig4"].items()}
# K -> success rates, MRSA and RAE of these methods.
PRINTED_TABLE1 = {int(k): measures for k, measures in _FOUND["table1"].items()}
TOPIC_SIZES = (3, 4, 5, 6, 7, 8, 9, 10)
# measure -> corpus -> method -> values by K.
PRINTED_TOPICS: dict[str, dict[str, dict[str, list[float]]]] = _FOUND["table2"]
# Number of communities of each network; method -> network -> SRC.
NETWORK_SIZES = {1: 6, 2: 3, 3: 3, 4: 3}
PRINTED_SPEARMAN = {
    method: dict(zip(NETWORK_SIZES, scores)) for method, scores in _FOUND["table4"].items()
}

# The iteration as the authors ran it: their λ, 100 steps whatever the gap.
OPEN_LOOP: Options = {
    "step": "open-loop",
    "lam": "authors",
    "max_iter": 100,
    "tol": 0.0,
}
PAPER, VARIANT = "MERIT", "our MERIT"
METHODS: dict[str, tuple[str, Options]] = {
    "SPA": ("spa", {}),
    "FastGradient": ("fast_gradient", {"max_iter": 150, "tol": 0.0}),
    PAPER: ("merit", OPEN_LOOP),
    VARIANT: ("merit", {}),
}
MEASURES = ("success rate", "MRSA, 0 to 100", "RAE")
MEMORY = "Peak memory of a fit beyond the data, MB"
Generator = Callable[[float, int], Sample]


def fit_anchors(method: str, data: NDArray[np.floating], k: int, seed: int) -> NDArray[np.intp]:
    """Find anchors with one of `METHODS`."""
    stem, options = METHODS[method]
    estimator = make_estimator(stem, k, random_state=seed, certify=False, **options)
    return estimator.fit(data).anchors_


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
    methods: Sequence[str] = tuple(METHODS),
) -> Tables:
    """Average over trials: a table per measure, a row per level, a column per method."""
    tables: Tables = {name: [] for name in MEASURES}
    for row, level in enumerate(levels):
        sums = dict.fromkeys(methods, np.zeros(3))
        for trial in range(trials):
            settings.progress((row + trial / trials) / len(levels), f"{level:g}, trial {trial + 1}")
            seed = trial_seed(settings.seed, level, trial)
            sample = generate(level, seed)
            for method in methods:
                anchors = fit_anchors(method, sample.data, sample.n_components, seed)
                sums[method] = sums[method] + judge(sample, anchors)
        for place, table in enumerate(tables.values()):
            means = {m: float(total[place] / trials) for m, total in sums.items()}
            table.append({level_name: level, "trials": trials, **means})
    return tables


def middle(snr: float, seed: int) -> Sample:
    """Draw the data of Figs. 2 and 3: (d, n, K) = (50, 55, 10), structured noise, unit-sum W."""
    return middle_points(10, 50, snr=snr, random_state=seed)


def mixed(snr: float, seed: int) -> Sample:
    """Draw the data of Figs. 4a and 5: (d, n, K) = (50, 200, 40), Gaussian noise."""
    return dirichlet_mixtures(200, 50, 40, snr=snr, random_state=seed)


def with_authors(rows: list[Row], authors: dict[int, tuple[float, ...]]) -> list[Row]:
    """Put the rates of the authors' code beside ours."""
    return [
        {**row, **{f"authors' {m}": v for m, v in zip(AUTHORS_METHODS, authors[row["SNR (dB)"]])}}
        for row in rows
    ]


def level_figure(title: str, rows: Sequence[Row], level: str, y_label: str) -> Figure:
    """Plot a curve for each column; the authors' curves are dotted."""
    names = [name for name in rows[0] if name not in (level, "trials")]
    x = [row[level] for row in rows]
    lines = [
        Series(name, x, [row[name] for row in rows], dotted=name.startswith("authors'"))
        for name in names
    ]
    return Figure(title, level, y_label, lines)


def fig2_and_3(settings: Settings, measures: Sequence[str]) -> Measured:
    """Measure success rates, or MRSA and RAE, on middle points with structured noise."""
    levels = [10, 16, 20] if settings.quick else list(AUTHORS_FIG2)
    found = trials_of(middle, "SNR (dB)", levels, 2 if settings.quick else 50, settings)
    tables = {name: found[name] for name in measures}
    if "success rate" in tables:
        tables["success rate"] = with_authors(tables["success rate"], AUTHORS_FIG2)
    titles = [(name, rows) for name, rows in tables.items()]
    return Measured(tables, [level_figure(n, rows, "SNR (dB)", n) for n, rows in titles])


def fig2(settings: Settings) -> Measured:
    """Reproduce Fig. 2: success rates."""
    return fig2_and_3(settings, MEASURES[:1])


def fig3(settings: Settings) -> Measured:
    """Reproduce Fig. 3: MRSA and RAE."""
    return fig2_and_3(settings, MEASURES[1:])


def fig4(settings: Settings) -> Measured:
    """Reproduce Fig. 4: success rates on Dirichlet mixtures, and memory as a function of n."""
    levels = [9, 12] if settings.quick else list(AUTHORS_FIG4)
    found = trials_of(mixed, "SNR (dB)", levels, 2 if settings.quick else 50, settings)
    rates = with_authors(found["success rate"], AUTHORS_FIG4)
    sizes = [500, 1500] if settings.quick else [1000, 2000, 5000, 10_000]
    memory = []
    for n in sizes:
        settings.progress(1.0, f"memory at n = {n}")
        peaks = {m: peak_megabytes(fit_mixture, m, n, warm=60) for m in METHODS}
        memory.append({"n": n, **{m: peak - before for m, (peak, before) in peaks.items()}})
    lines = curves(memory, "n", *METHODS)
    return Measured(
        {"success rate": rates, MEMORY: memory},
        [
            level_figure("Fig. 4 (a)", rates, "SNR (dB)", "success rate"),
            Figure("Fig. 4 (b): memory of a fit, 10 dB", "n", "MB", lines, True, True),
        ],
    )


def fit_mixture(method: str, n: int) -> None:
    """Fit n rows of Fig. 4 (b); FastGradient's memory does not depend on its number of steps."""
    stem, options = METHODS[method]
    if stem == "fast_gradient":
        options = {**options, "max_iter": 3}
    estimator = make_estimator(stem, 40, random_state=0, certify=False, **options)
    estimator.fit(dirichlet_mixtures(n, 50, 40, snr=10, random_state=0).data)


def fig5(settings: Settings) -> Measured:
    """Reproduce Fig. 5: success rates by λ and μ of the paper's iteration, data of Fig. 4 (a)."""
    levels = [8, 12] if settings.quick else [6, 8, 10, 12]
    trials = 2 if settings.quick else 30
    lams = [0.1, 1.0] if settings.quick else [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
    mus = [1e-5, 1e-3] if settings.quick else [1e-6, 1e-5, 1e-4, 1e-3, 1e-2]
    tables: Tables = {"by λ": [], "by μ": []}
    for name, values in (("λ", lams), ("μ", mus)):
        for value in values:
            option = {"lam": value} if name == "λ" else {"mu": value}
            rates = open_loop_rates(levels, trials, settings, **option)
            named = {f"{snr:g} dB": rate for snr, rate in zip(levels, rates)}
            tables[f"by {name}"].append({name: value, "trials": trials, **named})
    figures = [
        Figure(f"Fig. 5: success rate by {name}", name, "success rate", lines, log_x=True)
        for name, lines in (
            (name, curves(tables[f"by {name}"], name, *(f"{snr:g} dB" for snr in levels)))
            for name in ("λ", "μ")
        )
    ]
    return Measured(tables, figures)


def open_loop_rates(
    levels: Sequence[float], trials: int, settings: Settings, **options: Any
) -> list[float]:
    """Return the success rate of the paper's iteration at each SNR with modified options."""
    rates = []
    for row, snr in enumerate(levels):
        count = 0.0
        for trial in range(trials):
            settings.progress(row / len(levels), f"{options}, {snr:g} dB, trial {trial + 1}")
            sample = mixed(snr, trial_seed(settings.seed, snr, trial))
            assert sample.anchors is not None  # this generator plants them
            merit = make_estimator("merit", 40, certify=False, **{**OPEN_LOOP, **options})
            count += success(merit.fit(sample.data).anchors_, sample.anchors)
        rates.append(count / trials)
    return rates


def table1(settings: Settings) -> Measured:
    """Reproduce Table I: success, MRSA and RAE for K = 40 … 70 at (d, n) = (80, 200), 10 dB."""
    ks = [40, 70] if settings.quick else list(PRINTED_TABLE1)

    def generate(k: float, seed: int) -> Sample:
        return dirichlet_mixtures(200, 80, int(k), snr=10, random_state=seed)

    tables = trials_of(generate, "K", ks, 2 if settings.quick else 50, settings)
    for measure, rows in tables.items():
        for row in rows:
            printed = PRINTED_TABLE1[row["K"]][MEASURES.index(measure)]
            row |= {f"printed {m}": v for m, v in zip(AUTHORS_METHODS, printed)}
    return Measured(tables)


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


def fewest_trials(tables: Tables, title: str) -> float:
    """Return the smallest number of trials in a row of a table."""
    return min(column(tables, title, "trials"))


def rate_at(tables: Tables, method: str, snr: float) -> float:
    """Return the success rate of a method at an SNR."""
    return cell(tables, "success rate", method, **{"SNR (dB)": snr})


def lead(tables: Tables, ahead: Sequence[str], behind: str, title: str = "success rate") -> float:
    """Return the smallest mean over the levels of some methods minus the mean of another."""
    means = [float(np.mean(column(tables, title, method))) for method in ahead]
    return min(means) - float(np.mean(column(tables, title, behind)))


def largest_gap(tables: Tables, method: str) -> float:
    """Return the smallest RAE lead over the better of SPA and FastGradient at any SNR."""
    others = zip(column(tables, "RAE", "SPA"), column(tables, "RAE", "FastGradient"))
    return min(mine - max(pair) for mine, pair in zip(column(tables, "RAE", method), others))


def angle_ratio(tables: Tables, method: str) -> float:
    """Return the ratio of the mean MRSA to that of the better of SPA and FastGradient."""
    means = {m: np.mean(column(tables, MEASURES[1], m)) for m in (method, "SPA", "FastGradient")}
    return float(means[method] / min(means["SPA"], means["FastGradient"]))


def centre_of_lambda(tables: Tables, snr: str) -> float:
    """Return the mean of log10 λ weighted by the success rate; NaN if all rates are zero."""
    rates = np.array(column(tables, "by λ", snr))
    logs = np.log10(column(tables, "by λ", "λ"))
    return float(rates @ logs / rates.sum()) if rates.sum() > 0 else math.nan


def spread_by_mu(tables: Tables) -> float:
    """Return the largest range of a success rate over μ."""
    levels = [name for name in tables.get("by μ", [{}])[0] if name.endswith(" dB")]
    return max((float(np.ptp(column(tables, "by μ", name))) for name in levels), default=math.nan)


EXPERIMENTS = declare(
    Recipe(
        "merit-fig2",
        fig2,
        {
            "merit-from-10-db": lambda t: rate_at(t, PAPER, 10),
            "fastgradient-from-16-db": lambda t: rate_at(t, "FastGradient", 16),
            "spa-not-at-20-db": lambda t: rate_at(t, "SPA", 20),
            "convex-above-spa": lambda t: lead(t, (PAPER, "FastGradient"), "SPA"),
            "merit-above-fastgradient": lambda t: lead(t, (PAPER,), "FastGradient"),
        },
        variant={PAPER: VARIANT},
        trials=lambda t: fewest_trials(t, "success rate"),
    ),
    Recipe(
        "merit-fig3",
        fig3,
        {
            "lowest-mrsa": lambda t: angle_ratio(t, PAPER),
            "anchors-recovered": lambda t: cell(t, MEASURES[1], PAPER, **{"SNR (dB)": 20}),
            "highest-mean-rae": lambda t: min(
                lead(t, (PAPER,), m, "RAE") for m in ("SPA", "FastGradient")
            ),
            "highest-rae-everywhere": lambda t: largest_gap(t, PAPER),
        },
        variant={PAPER: VARIANT},
        trials=lambda t: fewest_trials(t, "RAE"),
    ),
    Recipe(
        "merit-fig4",
        fig4,
        {
            "gap-to-spa": lambda t: lead(t, (PAPER, "FastGradient"), "SPA"),
            "convex-methods-succeed": lambda t: min(
                rate_at(t, m, 12) for m in (PAPER, "FastGradient")
            ),
            "fastgradient-5-gb": lambda t: cell(t, MEMORY, "FastGradient", n=10_000),
            "merit-below-100-mb": lambda t: cell(t, MEMORY, PAPER, n=10_000),
            "merit-grows-gracefully": lambda t: (
                cell(t, MEMORY, PAPER, n=10_000) / cell(t, MEMORY, PAPER, n=1000)
            ),
        },
        variant={PAPER: VARIANT},
        trials=lambda t: fewest_trials(t, "success rate"),
    ),
    Recipe(
        "merit-table1",
        table1,
        {
            "merit-succeeds": lambda t: min(column(t, "success rate", PAPER)),
            "fastgradient-succeeds": lambda t: min(column(t, "success rate", "FastGradient")),
            "spa-falls": lambda t: cell(t, "success rate", "SPA", K=70),
            "mrsa-below-spa": lambda t: (
                cell(t, MEASURES[1], PAPER, K=70) / cell(t, MEASURES[1], "SPA", K=70)
            ),
            "rae-as-printed": lambda t: max(
                abs(a - b)
                for a, b in zip(column(t, "RAE", PAPER), column(t, "RAE", "printed MERIT"))
            ),
        },
        variant={PAPER: VARIANT},
        trials=lambda t: fewest_trials(t, "success rate"),
    ),
    Recipe(
        "merit-fig5",
        fig5,
        {
            "larger-lambda-at-low-snr": lambda t: (
                centre_of_lambda(t, "8 dB") - centre_of_lambda(t, "12 dB")
            ),
            "some-lambda-succeeds": lambda t: max(column(t, "by λ", "12 dB")),
            "mu-hardly-matters": spread_by_mu,
        },
        trials=lambda t: fewest_trials(t, "by λ"),
    ),
)
