"""Theorems 1, 2, 6 and 7 of Li, Liang and Risteski (2016, Li16), which has no experiments.

Features have absolute sum one, so c = d·C_ν is the size ‖ν‖₁ of the noise in a row, to be compared
with the size of the signal, ‖A*x*‖₁ ≤ s, the number of features in a row. The theorems allow
C_ν = G c / max(d, k ‖A†‖_∞): `effective` is that c for G = 1. Where it says "exact moments", the
weights form an orthogonal array, whose moments are those of infinitely many independent rows.

Settings: start with ‖E‖_s = 1/10 as the theorems ask for; the step of the proof is η = 1/60, the
solver's own 1/2; "there exist α, r": the solver's rules choose them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from provenmf.data import as_blocks
from provenmf.datasets.purification import (
    noisy_sample,
    orthogonal_array_weights,
    overlapping_features,
    sample_purification,
    warm_start,
)
from provenmf.datasets.sample import Sample
from provenmf.linalg.left_inverse import PseudoInverse, left_inverse, mixing_of
from provenmf.linalg.norms import largest_row_sum
from provenmf.methods.purification.kernels import relu_decode
from provenmf.methods.purification.solver import Rule, purification
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
    exponent,
)
from provenmf.results import Trace

PROOF_ETA = 1.0 / 60.0
KINDS: tuple[PseudoInverse, ...] = ("min-inf", "moore-penrose")


class Trial(NamedTuple):
    """‖E‖_1 and ‖N‖_1 relative to Σ of the last iteration, and the trace."""

    mixing: float
    outside: float
    trace: Trace

    @property
    def error(self) -> float:
        """‖E‖_1 + ‖N‖_1: bounds ‖Â − A*‖_1/2 for features scaled to absolute sum one."""
        return self.mixing + self.outside


def purify(
    sample: Sample, start: NDArray[np.floating], rule: Rule | None = None, **settings: Any
) -> Trial:
    """Run purification and compare the result with the truth."""
    found = purification(as_blocks(sample.data), start, rule, truth=sample.components, **settings)
    relative = mixing_of(found.components, sample.components).relative()
    return Trial(
        largest_row_sum(relative.off_diagonal), largest_row_sum(relative.outside), found.trace
    )


def exact_sample(
    components: NDArray[np.float64], levels: int, hits: ArrayLike, **noise: Any
) -> Sample:
    """Build data whose weights have the moments of infinitely many independent rows."""
    weights = orthogonal_array_weights(len(components), levels, hits=hits)
    return noisy_sample(weights, components, **noise)


def mean_factor(values: NDArray[np.floating], *, above: float) -> float:
    """Return the mean ratio of successive entries while they exceed `above`."""
    used = values[: int(np.count_nonzero(np.cumprod(values > above)))]
    if used.size < 2:
        return float("nan")
    return float((used[-1] / used[0]) ** (1.0 / (used.size - 1)))


def effective(features: NDArray[np.floating], level: float) -> float:
    """Compute the theorems' c for noise entries of at most `level`, with the constant G = 1."""
    k, d = features.shape
    return float(level * max(d, k * left_inverse(features, "min-inf").infinity_norm))


def theorem_1(settings: Settings) -> Measured:
    """Test Theorem 1: geometric decrease without noise, error ∝ c with adversarial noise."""
    levels = 11 if settings.quick else 17
    features = overlapping_features(levels - 1, 20 * levels, random_state=settings.seed)
    start = warm_start(features, mixing=0.1, random_state=settings.seed + 1)
    clean = exact_sample(features, levels, 2)
    rows: list[Row] = []
    decrease = []
    for name, eta, iterations in (("1/60 (proof)", PROOF_ETA, 1500), ("1/2 (solver)", 0.5, 60)):
        settings.progress(len(rows) / 4, f"no noise, eta {name}")
        trial = purify(clean, start, Rule(step_size=eta), max_iter=iterations, tol=1e-12)
        sizes = trial.trace["truth_mixing"]
        rows.append(
            {
                "eta": name,
                "iterations": len(sizes),
                "first": sizes[0],
                "last": sizes[-1],
                "mean factor": mean_factor(sizes, above=1e-10),
                "factor in the proof": 1 - eta / 25,
            }
        )
        decrease.append(Series(f"eta {name}", list(range(1, len(sizes) + 1)), sizes.tolist()))
    noisy: list[Row] = []
    sizes_of_noise = [0.03, 0.3, 1.0] if settings.quick else [0.01, 0.03, 0.1, 0.3, 1.0]
    for adversary in ("decoding", "features"):
        for c in sizes_of_noise:
            settings.progress(0.5 + len(noisy) / 20, f"{adversary}, c = {c}")
            sample = exact_sample(
                features,
                levels,
                2,
                noise=adversary,
                noise_level=c / features.shape[1],
                random_state=settings.seed + 2,
            )
            trial = purify(sample, start)
            noisy.append(
                {
                    "adversary": adversary,
                    "c": c,
                    "effective c": effective(features, c / features.shape[1]),
                    "signal": float(sample.weights.sum(axis=1).mean()),
                    "E": trial.mixing,
                    "N": trial.outside,
                    "error": trial.error,
                }
            )
    figures = [
        Figure("Decrease without noise", "iteration", "‖E‖_s", decrease, log_y=True),
        Figure(
            "Final error under adversarial noise",
            "c = ‖ν‖₁",
            "‖E‖_1 + ‖N‖_1",
            curves(noisy, "c", "error", by="adversary"),
            log_x=True,
            log_y=True,
        ),
    ]
    return Measured({"Without noise": rows, "Adversarial noise": noisy}, figures)


def theorem_2(settings: Settings) -> Measured:
    """Test Theorem 2: unbiased noise √k times the signal, dominating the sampling error.

    The number of rows grows with k² only, and the noise is drawn a second time with entries whose
    sign is random and whose size depends on the weights, as (N2) permits.
    """
    rows: list[Row] = []
    for k in (8, 16) if settings.quick else (8, 16, 32):
        n, d = 20 * k * k, 20 * k
        c = math.sqrt(k)
        for noise in ("none", "unbiased", "unbiased, depends on x", "adversarial"):
            settings.progress(len(rows) / 16, f"k = {k}, {noise}")
            sample = sample_purification(n, d, k, random_state=settings.seed + 3)
            rng = np.random.default_rng(settings.seed + 4)
            data = sample.data + noise_of(noise, sample, c / d, rng)
            begin = warm_start(sample.components, mixing=0.1, random_state=settings.seed + 5)
            trial = purify(Sample(data, sample.components, sample.weights), begin, tol=1e-4)
            rows.append(
                {"k": k, "rows": n, "noise": noise, "c = ‖ν‖₁": c, "error": trial.error}
                | {"error / ‖ν‖₁": trial.error / c, "1/√k": 1 / math.sqrt(k)}
            )
    lines = [*curves(rows, "k", "error / ‖ν‖₁", by="noise"), *curves(rows, "k", "1/√k")]
    drawn = Figure("Noise √k times the signal", "k", "error / ‖ν‖₁", lines, log_x=True, log_y=True)
    return Measured({"Dominant noise": rows}, [drawn])


def noise_of(
    kind: str, sample: Sample, level: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw noise with entries of at most `level`: none, unbiased, or one pattern per feature."""
    shape = sample.data.shape
    if kind == "none":
        return np.zeros(shape)
    if kind == "adversarial":
        patterns = rng.choice([-1.0, 1.0], size=sample.components.shape)
        return np.asarray(level * np.sign(sample.weights @ patterns))
    signs = rng.choice([-level, level], size=shape)
    if kind == "unbiased":
        return signs
    # Entries are loud where a feature with an odd number is present and nearly silent elsewhere.
    loud = (sample.weights[:, 1::2] > 0).any(axis=1)
    return np.asarray(signs * np.where(loud, 1.0, 0.1)[:, None])


def pseudo_inverse(settings: Settings) -> Measured:
    """Compare the left inverses against adversaries designed for either one."""
    levels = 11 if settings.quick else 17
    k, d = levels - 1, 20 * levels
    overlaps = [0.2, 0.5, 0.8] if settings.quick else [0.0, 0.2, 0.4, 0.6, 0.8, 0.9]
    rows: list[Row] = []
    for overlap in overlaps:
        settings.progress(len(rows) / len(overlaps), f"overlap {overlap}")
        features = overlapping_features(k, d, overlap=overlap, random_state=settings.seed)
        start = warm_start(features, mixing=0.1, random_state=settings.seed + 1)
        row: Row = {"overlap": overlap, "effective c": effective(features, 0.3 / d)}
        attacks = [
            exact_sample(
                features,
                levels,
                1,
                noise="decoding",
                noise_level=0.3 / d,
                against=attacked,
                random_state=settings.seed + 2,
            )
            for attacked in KINDS
        ]
        for kind in KINDS:
            inverse = left_inverse(features, kind)
            row[f"{kind} norm"] = inverse.infinity_norm
            row[f"{kind} worst weight"] = max(
                float(np.abs(relu_decode(s.data, inverse.rows, 0.0) - s.weights).max())
                for s in attacks
            )
            row[f"{kind} final E"] = max(purify(s, start, Rule(kind)).mixing for s in attacks)
        rows.append(row)
    names = [f"{kind} {what}" for what in ("worst weight", "final E") for kind in KINDS]
    drawn = Figure("Two left inverses", "overlap", "error", curves(rows, "overlap", *names))
    return Measured({"Left inverses": rows}, [drawn])


def starts(settings: Settings) -> Measured:
    """Measure the final error by start, and the sampling error: from the truth without noise."""
    k, d, n = (8, 160, 3000) if settings.quick else (16, 320, 10000)
    trials = 2 if settings.quick else 5
    c = 0.1
    rows: list[Row] = []
    for size in (0.0, 0.1, 0.5, 1.0, 2.0, 4.0):
        settings.progress(len(rows) / 6, f"start with {size}")
        errors, floors = [], []
        for trial in range(trials):
            seed = settings.seed + trial
            sample = sample_purification(
                n, d, k, noise="decoding", noise_level=c / d, random_state=seed
            )
            begin = warm_start(sample.components, mixing=size, random_state=seed)
            errors.append(purify(sample, begin, tol=1e-4).error)
            if size == 0:
                clean = sample.weights @ sample.components
                without = Sample(clean, sample.components, sample.weights)
                floors.append(purify(without, begin, tol=1e-4).error)
        row = {"‖E‖_s of the start": size, "mean error": float(np.mean(errors))}
        rows.append({**row, "worst": max(errors), "trials": trials})
        if size == 0:
            floor = max(floors)
    for row in rows:
        row["sampling error"], row["c"] = floor, c
    lines = curves(rows, "‖E‖_s of the start", "mean error", "worst", "sampling error")
    drawn = Figure("Starts", "‖E‖_s of the start", "final error", lines, log_y=True)
    return Measured({"Starts": rows}, [drawn])


def theorem_6(settings: Settings) -> Measured:
    """Test Theorem 6: linear sparsity, a start outside the span, and adversarial noise."""
    levels = 11 if settings.quick else 17
    features = overlapping_features(levels - 1, 20 * levels, random_state=settings.seed)
    d = features.shape[1]
    start = warm_start(features, mixing=0.1, outside=0.1, random_state=settings.seed + 1)
    rows: list[Row] = []
    for hits in range(1, levels // 2 + 1, 2 if settings.quick else 1):
        settings.progress(hits / levels, f"sparsity {hits / levels:.2f} k")
        clean = purify(exact_sample(features, levels, hits), start, tol=1e-11)
        noise: Options = {"noise": "decoding", "noise_level": 0.1 / d}
        attacked = exact_sample(features, levels, hits, **noise, random_state=settings.seed + 2)
        noisy = purify(attacked, start)
        sizes = clean.trace["truth_mixing"]
        rows.append(
            {
                "G = s/k": hits / levels,
                "iterations": len(sizes),
                "factor of E": mean_factor(sizes, above=1e-9),
                "factor of N": mean_factor(clean.trace["truth_outside"], above=1e-9),
                "E without noise": clean.mixing,
                "N without noise": clean.outside,
                "c": 0.1,
                "E with noise": noisy.mixing,
                "N with noise": noisy.outside,
            }
        )
    lines = curves(rows, "G = s/k", "E with noise", "N with noise", "c")
    drawn = Figure("Linear sparsity under adversarial noise", "G = s/k", "error", lines)
    return Measured({"Linear sparsity s = G k": rows}, [drawn])


def theorem_7(settings: Settings) -> Measured:
    """Test Theorem 7: unequal proportions, real weights, negative entries, unbiased noise."""
    k, d = 10, 200
    numbers = [1000, 4000, 16000] if settings.quick else [4000, 16000, 64000]
    cases: dict[str, Options] = {
        "binary weights": {},
        "weights in [0, 1]": {"values": "uniform"},
        "negative entries": {"signed": True},
        "proportions 1 : 10": {"sparsity": np.geomspace(0.4, 4.0, k)},
    }
    rows: list[Row] = []
    lines = []
    for name, model in cases.items():
        settings.progress(len(rows) / (len(cases) + 1), name)
        errors = []
        for n in numbers:
            sample = sample_purification(
                n, d, k, noise="unbiased", noise_level=0.5 / d, random_state=settings.seed, **model
            )
            begin = warm_start(
                sample.components, mixing=0.1, outside=0.1, random_state=settings.seed + 1
            )
            errors.append(purify(sample, begin, tol=1e-4).error)
        rows.append(
            {"case": name, "c": 0.5, "error": errors[-1], "power": exponent(numbers, errors)}
        )
        lines.append(Series(name, numbers, errors))
    drawn = Figure("Unbiased noise", "rows", "final error", lines, log_x=True, log_y=True)
    return Measured({"Cases": rows, "Unequal proportions": proportions(settings)}, [drawn])


def proportions(settings: Settings) -> list[Row]:
    """Measure convergence for two ranges of proportions, with and without balancing."""
    levels = 11 if settings.quick else 17
    features = overlapping_features(levels - 1, 20 * levels, random_state=settings.seed)
    rows: list[Row] = []
    for most in (levels // 2, levels - 2):
        hits = np.round(np.geomspace(1, most, levels - 1)).astype(int)
        start = warm_start(features, mixing=0.1, random_state=settings.seed + 1)
        sample = exact_sample(features, levels, hits)
        for balance in (False, True):
            trial = purify(sample, start, balance=balance, max_iter=200, tol=1e-11)
            sizes = trial.trace["truth_mixing"]
            rows.append(
                {
                    "C2/c2": float(hits.max() / hits.min()),
                    "balanced": balance,
                    "iterations to 1e-6": int(np.count_nonzero(sizes > 1e-6)) + 1,
                    "factor of E": mean_factor(sizes, above=1e-9),
                    "E at the end": trial.mixing,
                }
            )
    return rows


def noise_powers(tables: Tables) -> list[float]:
    """Estimate the exponent of the error in c for each adversary."""
    title = "Adversarial noise"
    return [
        exponent(
            column(tables, title, "c", adversary=a), column(tables, title, "error", adversary=a)
        )
        for a in ("decoding", "features")
    ]


def ratios(tables: Tables, title: str, top: str, bottom: str, **where: Any) -> list[float]:
    """Return the ratio of two columns for each row."""
    pairs = zip(column(tables, title, top, **where), column(tables, title, bottom, **where))
    return [above / below for above, below in pairs]


def unbiased_excess(tables: Tables) -> float:
    """Return the largest √k error / ‖ν‖₁ of unbiased noise, dependent on x or not."""
    return max(
        max(ratios(tables, "Dominant noise", "error / ‖ν‖₁", "1/√k", noise=noise))
        for noise in ("unbiased", "unbiased, depends on x")
    )


def noise_dominates(tables: Tables) -> float:
    """Return the smallest ratio of the error with unbiased noise to that without noise."""
    pairs = zip(
        column(tables, "Dominant noise", "error", noise="unbiased"),
        column(tables, "Dominant noise", "error", noise="none"),
    )
    return min(noisy / clean for noisy, clean in pairs)


def densest(tables: Tables) -> float:
    """Return the largest G up to which every tested sparsity has E <= 1e-6 without noise."""
    title, reached = "Linear sparsity s = G k", 0.0
    rows = zip(column(tables, title, "G = s/k"), column(tables, title, "E without noise"))
    for share, error in sorted(rows):
        if not error <= 1e-6:
            break
        reached = share
    return reached


def start_excess(tables: Tables, size: float) -> float:
    """Return the worst final error from a start minus the sampling error, divided by c."""
    worst = cell(tables, "Starts", "worst", **{"‖E‖_s of the start": size})
    floor = cell(tables, "Starts", "sampling error", **{"‖E‖_s of the start": size})
    return (worst - floor) / cell(tables, "Starts", "c", **{"‖E‖_s of the start": size})


EXPERIMENTS = declare(
    Recipe(
        "purification-theorem1",
        theorem_1,
        {
            "geometric-rate": lambda t: cell(t, "Without noise", "mean factor", eta="1/60 (proof)"),
            "arbitrarily-small": lambda t: cell(t, "Without noise", "last", eta="1/60 (proof)"),
            "error-up-to-c": lambda t: max(
                ratios(t, "Adversarial noise", "E", "effective c")
                + ratios(t, "Adversarial noise", "N", "effective c")
            ),
            "proportional": lambda t: max(abs(power - 1) for power in noise_powers(t)),
            "noise-as-large-as-signal": lambda t: max(
                ratios(t, "Adversarial noise", "c", "signal")
            ),
        },
        variant={"1/60 (proof)": "1/2 (solver)"},
    ),
    Recipe(
        "purification-theorem2",
        theorem_2,
        {
            "noise-dominates": noise_dominates,
            "error-over-sqrt-k": unbiased_excess,
            "adversarial-is-worse": lambda t: min(
                a / b
                for a, b in zip(
                    column(t, "Dominant noise", "error", noise="adversarial"),
                    column(t, "Dominant noise", "error", noise="unbiased"),
                )
            ),
        },
    ),
    Recipe(
        "purification-pseudo-inverse",
        pseudo_inverse,
        {
            "more-robust": lambda t: min(
                ratios(t, "Left inverses", "moore-penrose worst weight", "min-inf worst weight")
            ),
            "purification-succeeds": lambda t: max(
                ratios(t, "Left inverses", "min-inf final E", "effective c")
            ),
        },
        variant={"min-inf final E": "moore-penrose final E"},
    ),
    Recipe(
        "purification-starts",
        starts,
        {
            "tenth-is-sufficient": lambda t: start_excess(t, 0.1),
            "start-does-not-matter": lambda t: (
                cell(t, "Starts", "worst", **{"‖E‖_s of the start": 0.1})
                / cell(t, "Starts", "worst", **{"‖E‖_s of the start": 0.0})
            ),
        },
        trials=lambda t: cell(t, "Starts", "trials", **{"‖E‖_s of the start": 0.1}),
    ),
    Recipe(
        "purification-theorem6",
        theorem_6,
        {
            "linear-sparsity": densest,
            "mixing-within-bound": lambda t: (
                2 * max(ratios(t, "Linear sparsity s = G k", "E with noise", "c"))
            ),
            "outside-within-bound": lambda t: (
                2 * max(ratios(t, "Linear sparsity s = G k", "N with noise", "c"))
            ),
            "leaves-the-span-behind": lambda t: max(
                column(t, "Linear sparsity s = G k", "N without noise")
            ),
        },
    ),
    Recipe(
        "purification-theorem7",
        theorem_7,
        {
            "general-weights": lambda t: max(ratios(t, "Cases", "error", "c")),
            "averages-out": lambda t: max(
                abs(power + 0.5) for power in column(t, "Cases", "power")
            ),
            "balancing-recovers": lambda t: max(
                column(t, "Unequal proportions", "E at the end", balanced=True)
            ),
            "balancing-needed": lambda t: max(
                plain / balanced
                for plain, balanced in zip(
                    column(t, "Unequal proportions", "iterations to 1e-6", balanced=False),
                    column(t, "Unequal proportions", "iterations to 1e-6", balanced=True),
                )
            ),
        },
    ),
)
