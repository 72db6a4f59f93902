"""The synthetic experiments of Nguyen, Fu & Wu (Nguyen22), Section V-A: Figs. 2 to 5 and Table I.

Four methods side by side: SPA, FastGradient (150 steps, as in the authors' runs), MERIT with the
paper's open-loop steps and λ (100 steps from C = 0), and MERIT as it comes. The figures of the
paper are curves without numbers, so next to ours stand the rates of the authors' own programs on
data of the same kind (50 trials a point; 20 for Fig. 4a); Table I is the paper's.

MRSA: the authors divide by the largest value of any trial, so the paper's figures depend on the set
of trials. Here it is 100/π times the angle in radians, in [0, 100].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from provenmf.datasets.sample import Sample
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.reproduce.experiment import Experiment, Figure, Outcome, Row, Series, Settings
from provenmf.reproduce.merit_reference import AUTHORS, AUTHORS_FIG2, AUTHORS_FIG4, PAPER_TABLE1
from provenmf.reproduce.merit_trials import (
    METHODS,
    Generator,
    measure,
    middle,
    mixed,
    open_loop_rates,
    peak_megabytes,
)


def fig2(settings: Settings) -> Outcome:
    """Success rates on middle points with structured noise."""
    return _success_outcome(settings, middle, AUTHORS_FIG2, [9, 14], "Fig. 2")


def fig3(settings: Settings) -> Outcome:
    """MRSA and RAE on the data of Fig. 2."""
    levels = [10, 20] if settings.quick else list(AUTHORS_FIG2)
    found = measure(middle, levels, 2 if settings.quick else 50, settings)
    tables = {
        name: [
            {"SNR (dB)": snr, **{m: float(found[m][row, column]) for m in METHODS}}
            for row, snr in enumerate(levels)
        ]
        for column, name in ((1, "MRSA, 0 to 100"), (2, "RAE"))
    }
    angle = {m: float(found[m][:, 1].mean()) for m in METHODS}
    holds = angle["MERIT"] <= angle["SPA"] and angle["MERIT"] <= angle["FastGradient"]
    return Outcome(
        tables=tables,
        figures=tuple(
            Figure(
                f"{name}, (d, n, K) = (50, 55, 10)",
                "SNR (dB)",
                name,
                [Series(m, levels, found[m][:, column].tolist()) for m in METHODS],
            )
            for column, name in ((1, "MRSA"), (2, "RAE"))
        ),
        verdict="The mean MRSA over all SNRs is "
        + ", ".join(f"{a:.2f} for {m}" for m, a in angle.items())
        + ".",
        holds=holds,
    )


def fig4(settings: Settings) -> Outcome:
    """Success rates on Dirichlet mixtures, and memory as n grows."""
    rates = _success_outcome(settings, mixed, AUTHORS_FIG4, [9, 12], "Fig. 4 (a)")
    sizes = [1500] if settings.quick else [1000, 2000, 5000, 10_000]
    methods = ["FastGradient", "MERIT"] if settings.quick else list(METHODS)
    peaks = {m: [peak_megabytes(m, n) for n in sizes] for m in methods}
    rows = [{"n": n, **{m: peaks[m][i] for m in methods}} for i, n in enumerate(sizes)]
    largest = ", ".join(f"{m} {peaks[m][-1]:.0f} MB" for m in methods)
    return Outcome(
        tables={**rates.tables, "Fig. 4 (b): peak memory of a fit beyond the data, MB": rows},
        figures=(
            *rates.figures,
            Figure(
                "Memory of a fit, (d, K) = (50, 40), 10 dB",
                "n",
                "MB",
                [Series(m, sizes, [row[m] for row in rows]) for m in methods],
                log_x=True,
                log_y=True,
            ),
        ),
        verdict=f"{rates.verdict} Memory at n = {sizes[-1]}: {largest}. In the paper, at "
        "n = 10 000: FastGradient near 5 GB, MERIT below 0.1 GB.",
        holds=rates.holds and peaks["MERIT"][-1] < peaks["FastGradient"][-1],
    )


def fig5(settings: Settings) -> Outcome:
    """How λ and μ of the open-loop iteration matter on the data of Fig. 4 (a)."""
    levels = [8] if settings.quick else [6, 8, 10, 12]
    trials = 2 if settings.quick else 30
    lams = [0.3, 3.0] if settings.quick else [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
    mus = [1e-5, 1e-3] if settings.quick else [1e-6, 1e-5, 1e-4, 1e-3, 1e-2]
    by_lam = [open_loop_rates(levels, trials, settings, lam=lam) for lam in lams]
    by_mu = [open_loop_rates(levels, trials, settings, mu=mu) for mu in mus]
    best = {
        snr: lams[int(np.argmax([rates[i] for rates in by_lam]))] for i, snr in enumerate(levels)
    }
    spread = float(np.ptp(np.array(by_mu), axis=0).max())
    return Outcome(
        tables={
            "success rate by λ, μ = 1e-5": _rate_rows("λ", lams, levels, by_lam),
            "success rate by μ, λ of the paper's rule": _rate_rows("μ", mus, levels, by_mu),
        },
        figures=(
            _rate_figure("λ", lams, levels, by_lam),
            _rate_figure("μ", mus, levels, by_mu),
        ),
        verdict="The best λ is "
        + ", ".join(f"{lam:g} at {snr:g} dB" for snr, lam in best.items())
        + f". The choice of μ changes a success rate by at most {spread:.2f}.",
        holds=best[levels[0]] >= best[levels[-1]],
    )


def table1(settings: Settings) -> Outcome:
    """Success, MRSA and RAE for K = 40 … 70 at (d, n) = (80, 200), 10 dB."""
    ks = [40] if settings.quick else list(PAPER_TABLE1)

    def generate(k: float, seed: int) -> Sample:
        return dirichlet_mixtures(200, 80, int(k), snr=10, random_state=seed)

    found = measure(generate, ks, 3 if settings.quick else 50, settings)
    names = ("success rate", "MRSA, 0 to 100", "RAE")
    rows: dict[str, list[Row]] = {name: [{"K": k} for k in ks] for name in names}
    for column, table in enumerate(rows.values()):
        for row, k in enumerate(ks):
            table[row] |= {m: float(found[m][row, column]) for m in METHODS}
            if column != 1:
                paper = PAPER_TABLE1[k][0 if column == 0 else 1]
                table[row] |= {f"paper's {m}": v for m, v in zip(AUTHORS, paper, strict=True)}
    rows["MRSA, radians"] = [
        {"K": k, **{m: float(found[m][row, 1]) * np.pi / 100 for m in METHODS}}
        for row, k in enumerate(ks)
    ]
    rates = {m: found[m][:, 0] for m in METHODS}
    holds = bool((rates["MERIT"] >= 0.95).all() and (rates["MERIT open-loop"] >= 0.95).all())
    return Outcome(
        tables=rows,
        verdict="The success rates of MERIT are "
        + ", ".join(f"{r:.2f}" for r in rates["MERIT"])
        + ".",
        holds=holds,
    )


def _success_outcome(
    settings: Settings,
    generate: Generator,
    authors: dict[int, tuple[float, float, float]],
    quick_levels: list[int],
    title: str,
) -> Outcome:
    levels = quick_levels if settings.quick else list(authors)
    trials = 3 if settings.quick else 50
    found = measure(generate, levels, trials, settings)
    rows = [
        {
            "SNR (dB)": snr,
            **{m: float(found[m][row, 0]) for m in METHODS},
            **{f"authors' {m}": v for m, v in zip(AUTHORS, authors[snr], strict=True)},
        }
        for row, snr in enumerate(levels)
    ]
    series = [Series(m, levels, found[m][:, 0].tolist()) for m in METHODS]
    series += [
        Series(f"authors' {m}", levels, [authors[snr][i] for snr in levels], paper=True)
        for i, m in enumerate(AUTHORS)
    ]
    behind = _significantly_behind(found["MERIT"][:, 0], found["MERIT open-loop"][:, 0], trials)
    where = ", ".join(f"{snr} dB" for snr, is_behind in zip(levels, behind) if is_behind)
    return Outcome(
        tables={f"{title}: success rate, {trials} trials": rows},
        figures=(Figure(title, "SNR (dB)", "success rate", series),),
        verdict=f"{title}: MERIT is worse than its open-loop form at {where}."
        if where
        else f"{title}: MERIT is nowhere worse than its open-loop form by more than sampling "
        "error.",
        holds=not where,
    )


def _significantly_behind(
    rates: NDArray[np.float64], others: NDArray[np.float64], trials: int
) -> list[bool]:
    """Whether a rate is lower than another by more than two standard errors of the difference."""
    error = np.sqrt((rates * (1 - rates) + others * (1 - others)) / trials)
    return list(others - rates > np.maximum(2 * error, 1e-12))


def _rate_rows(
    name: str, values: Sequence[float], levels: Sequence[float], rates: list[list[float]]
) -> list[Row]:
    return [
        {name: value, **{f"{snr:g} dB": rate for snr, rate in zip(levels, line)}}
        for value, line in zip(values, rates, strict=True)
    ]


def _rate_figure(
    name: str, values: Sequence[float], levels: Sequence[float], rates: list[list[float]]
) -> Figure:
    lines = [
        Series(f"{snr:g} dB", list(values), [line[i] for line in rates])
        for i, snr in enumerate(levels)
    ]
    return Figure(f"Fig. 5: success rate by {name}", name, "success rate", lines, log_x=True)


EXPERIMENTS = [
    Experiment(
        "merit-fig2",
        "Nguyen22",
        "success rates under various SNRs, middle points",
        "FastGradient succeeds from 16 dB on and MERIT from 10 dB on; SPA fails even at 20 dB.",
        fig2,
    ),
    Experiment(
        "merit-fig3",
        "Nguyen22",
        "MRSA and RAE under various SNRs, middle points",
        "MERIT has the lowest MRSA and the highest RAE.",
        fig3,
    ),
    Experiment(
        "merit-fig4",
        "Nguyen22",
        "success rates on Dirichlet mixtures, and memory as n grows",
        "MERIT and FastGradient are far better than SPA; of the two, only MERIT's memory grows "
        "slowly.",
        fig4,
    ),
    Experiment(
        "merit-table1",
        "Nguyen22",
        "success, MRSA and RAE under various numbers of components",
        "The convex methods succeed for K = 40 to 70; SPA gets worse with K.",
        table1,
    ),
    Experiment(
        "merit-fig5",
        "Nguyen22",
        "dependence on λ and μ",
        "A larger λ works better at a lower SNR; μ hardly matters.",
        fig5,
    ),
]
