"""Theorems 1, 2, 6 and 7 of Li, Liang and Risteski (2016, Li16), which has no experiments.

Features have absolute sum one, so c = d·C_ν is the size ‖ν‖₁ of the noise in a row, to be compared
with the size of the signal, ‖A*x*‖₁ ≤ s, the number of features in a row. The theorems allow
C_ν = G c / max(d, k ‖A†‖_∞): `effective` is that c for G = 1. Where it says "exact moments", the
weights form an orthogonal array, whose moments are those of infinitely many independent rows.

Settings: start with ‖E‖_s = 1/10 as the theorems ask for; the step of the proof is η = 1/60, the
solver's own 1/2; "there exist α, r": the solver's rules choose them.
"""

from __future__ import annotations

import itertools
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
    Measured,
    Options,
    Row,
    Settings,
    Tables,
    chart,
    column,
    exponent,
    quotients,
)
from provenmf.results import Trace

PROOF_ETA = 1.0 / 60.0
KINDS: tuple[PseudoInverse, ...] = ("min-inf", "moore-penrose")
PROOF, SOLVER = "1/60 (proof)", "1/2 (solver)"
OVERLAPS = [0.0, 0.2, 0.4, 0.6, 0.8, 0.9]
ADVERSARIES = ("decoding", "features")
UNBIASED = ("unbiased", "unbiased, depends on x")
ADVERSARIAL, DOMINANT = "Adversarial noise", "Dominant noise"
SPARSE = "Linear sparsity s = G k"


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


class Setting(NamedTuple):
    """Features, a start with ‖E‖_s = 1/10, and rows with exact moments."""

    features: NDArray[np.float64]
    start: NDArray[np.float64]
    levels: int
    seed: int

    def sample(self, hits: ArrayLike, **noise: Any) -> Sample:
        """Build data whose weights have the moments of infinitely many independent rows."""
        return exact_sample(self.features, self.levels, hits, **noise, random_state=self.seed + 2)


def exact_setting(settings: Settings, *, outside: float = 0.0, **shape: Any) -> Setting:
    """Draw overlapping features, 10 or 16, and a start near them."""
    levels, seed = 11 if settings.quick else 17, settings.seed
    features = overlapping_features(levels - 1, 20 * levels, random_state=seed, **shape)
    start = warm_start(features, mixing=0.1, outside=outside, random_state=seed + 1)
    return Setting(features, start, levels, seed)


def theorem_1(settings: Settings) -> Measured:
    """Test Theorem 1: geometric decrease without noise, error ∝ c with adversarial noise."""
    setting = exact_setting(settings)
    d, clean = setting.features.shape[1], setting.sample(2)
    rows: list[Row] = []
    decrease = []
    for name, eta, iterations in ((PROOF, PROOF_ETA, 1500), (SOLVER, 0.5, 60)):
        settings.progress(len(rows) / 4, f"no noise, eta {name}")
        trial = purify(clean, setting.start, Rule(step_size=eta), max_iter=iterations, tol=1e-12)
        sizes = trial.trace["truth_mixing"]
        row: Row = {"eta": name, "iterations": len(sizes), "first": sizes[0], "last": sizes[-1]}
        row["mean factor"] = mean_factor(sizes, above=1e-10)
        rows.append(row | {"factor in the proof": 1 - eta / 25})
        decrease.append((f"eta {name}", list(range(1, len(sizes) + 1)), sizes.tolist()))
    noisy: list[Row] = []
    sizes_of_noise = [0.03, 0.3, 1.0] if settings.quick else [0.01, 0.03, 0.1, 0.3, 1.0]
    for adversary, c in itertools.product(ADVERSARIES, sizes_of_noise):
        settings.progress(0.5 + len(noisy) / 20, f"{adversary}, c = {c}")
        sample = setting.sample(2, noise=adversary, noise_level=c / d)
        trial = purify(sample, setting.start)
        noisy.append(
            {
                "adversary": adversary,
                "c": c,
                "effective c": effective(setting.features, c / d),
                "signal": float(sample.weights.sum(axis=1).mean()),
                "E": trial.mixing,
                "N": trial.outside,
                "error": trial.error,
            }
        )
    figure = chart("Decrease without noise", "iteration", "‖E‖_s", decrease, "y")
    return Measured({"Without noise": rows, ADVERSARIAL: noisy}, [figure])


def theorem_2(settings: Settings) -> Tables:
    """Test Theorem 2: unbiased noise √k times the signal, dominating the sampling error.

    The number of rows grows with k² only, and the noise is drawn a second time with entries whose
    sign is random and whose size depends on the weights, as (N2) permits.
    """
    rows: list[Row] = []
    kinds = ("none", *UNBIASED, "adversarial")
    for k, noise in settings.each(
        itertools.product((8, 16) if settings.quick else (8, 16, 32), kinds)
    ):
        n, d, c = 20 * k * k, 20 * k, math.sqrt(k)
        sample = sample_purification(n, d, k, random_state=settings.seed + 3)
        rng = np.random.default_rng(settings.seed + 4)
        data = sample.data + noise_of(noise, sample, c / d, rng)
        begin = warm_start(sample.components, mixing=0.1, random_state=settings.seed + 5)
        trial = purify(Sample(data, sample.components, sample.weights), begin, tol=1e-4)
        row = {"k": k, "rows": n, "noise": noise, "c = ‖ν‖₁": c, "error": trial.error}
        rows.append(row | {"error / ‖ν‖₁": trial.error / c, "1/√k": 1 / math.sqrt(k)})
    return {DOMINANT: rows}


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


def pseudo_inverse(settings: Settings) -> Tables:
    """Compare the left inverses against adversaries designed for either one."""
    rows: list[Row] = []
    for overlap in settings.each([0.2, 0.5, 0.8] if settings.quick else OVERLAPS):
        setting = exact_setting(settings, overlap=overlap)
        level = 0.3 / setting.features.shape[1]
        row: Row = {"overlap": overlap, "effective c": effective(setting.features, level)}
        attacks = [
            setting.sample(1, noise="decoding", noise_level=level, against=attacked)
            for attacked in KINDS
        ]
        for kind in KINDS:
            inverse = left_inverse(setting.features, kind)
            row[f"{kind} norm"] = inverse.infinity_norm
            row[f"{kind} worst weight"] = np.max(
                [np.abs(relu_decode(s.data, inverse.rows, 0.0) - s.weights) for s in attacks]
            )
            row[f"{kind} final E"] = np.max(
                [purify(s, setting.start, Rule(kind)).mixing for s in attacks]
            )
        rows.append(row)
    return {"Left inverses": rows}


def starts(settings: Settings) -> Tables:
    """Measure the final error from several random starts at each distance, with exact moments."""
    setting, c, trials = exact_setting(settings), 0.1, 2 if settings.quick else 5
    d = setting.features.shape[1]
    sample = setting.sample(2, noise="decoding", noise_level=c / d)
    rows: list[Row] = []
    for size in settings.each((0.0, 0.1, 0.5, 1.0, 2.0, 4.0)):
        errors = []
        for seed in range(settings.seed, settings.seed + trials):
            begin = warm_start(setting.features, mixing=size, random_state=seed)
            errors.append(purify(sample, begin, tol=1e-4).error)
        row: Row = {
            "‖E‖_s of the start": size,
            "mean error": float(np.mean(errors)),
            "worst": np.max(errors),
        }
        rows.append(row | {"trials": trials, "c": c})
    return {"Starts": rows}


def theorem_6(settings: Settings) -> Tables:
    """Test Theorem 6: linear sparsity, a start outside the span, and adversarial noise."""
    setting = exact_setting(settings, outside=0.1)
    level = 0.1 / setting.features.shape[1]
    noise: Options = {"noise": "decoding", "noise_level": level}
    rows: list[Row] = []
    for hits in settings.each(range(1, setting.levels // 2 + 1, 2 if settings.quick else 1)):
        clean = purify(setting.sample(hits), setting.start, tol=1e-11)
        noisy = purify(setting.sample(hits, **noise), setting.start)
        sizes = clean.trace["truth_mixing"]
        rows.append(
            {
                "G = s/k": hits / setting.levels,
                "iterations": len(sizes),
                "factor of E": mean_factor(sizes, above=1e-9),
                "factor of N": mean_factor(clean.trace["truth_outside"], above=1e-9),
                "E without noise": clean.mixing,
                "N without noise": clean.outside,
                "c/2": effective(setting.features, level) / 2,
                "E with noise": noisy.mixing,
                "N with noise": noisy.outside,
            }
        )
    return {SPARSE: rows}


def theorem_7(settings: Settings) -> Measured:
    """Test Theorem 7: unequal proportions, real weights, negative entries, unbiased noise."""
    k, d, seed = 10, 200, settings.seed
    numbers = [1000, 4000, 16000] if settings.quick else [4000, 16000, 64000]
    cases: dict[str, Options] = {
        "binary weights": {},
        "weights in [0, 1]": {"values": "uniform"},
        "negative entries": {"signed": True},
        "proportions 1 : 10": {"sparsity": np.geomspace(0.4, 4.0, k)},
    }
    rows: list[Row] = []
    lines = []
    noise: Options = {"noise": "unbiased", "noise_level": 0.5 / d}
    for name in settings.each(cases):
        errors = []
        for n in numbers:
            sample = sample_purification(n, d, k, random_state=seed, **noise, **cases[name])
            begin = warm_start(sample.components, mixing=0.1, outside=0.1, random_state=seed + 1)
            errors.append(purify(sample, begin, tol=1e-4).error)
        # Unbiased noise may be √k times as large as adversarial noise (Theorems 2 and 7).
        c = effective(sample.components, 0.5 / d) / math.sqrt(k)
        row: Row = {"case": name, "c": c, "error": errors[-1]}
        rows.append(row | {"power": exponent(numbers, errors)})
        lines.append((name, numbers, errors))
    figure = chart("Unbiased noise", "rows", "final error", lines, "xy")
    return Measured({"Cases": rows, "Unequal proportions": proportions(settings)}, [figure])


def proportions(settings: Settings) -> list[Row]:
    """Measure convergence for two ranges of proportions, with and without balancing."""
    setting = exact_setting(settings)
    rows: list[Row] = []
    for most in (setting.levels // 2, setting.levels - 2):
        hits = np.round(np.geomspace(1, most, setting.levels - 1)).astype(int)
        sample = setting.sample(hits)
        for balance in (False, True):
            trial = purify(sample, setting.start, balance=balance, max_iter=200, tol=1e-11)
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


def coupled_potential(settings: Settings) -> Measured:
    """Follow the potential a + βb of the proof (5.1, 5.2), without noise and with η = 1/60.

    a and b are the sizes of the positive and the negative part of E; 7.6 ≤ β ≤ 8, here 7.8.
    """
    settings.progress(0.0, "coupled potential")
    levels, steps = (7 if settings.quick else 11), 300
    features = overlapping_features(levels - 1, 20 * levels, random_state=settings.seed)
    start = warm_start(features, mixing=0.1, random_state=settings.seed + 1)
    sample = exact_sample(features, levels, 1)
    trace = purify(sample, start, Rule(step_size=PROOF_ETA), max_iter=steps, tol=0.0).trace
    potential = trace["truth_potential"]
    row: Row = {"β": 7.8, "first": potential[0], "last": potential[-1], "iterations": steps}
    row["largest factor"] = float((potential[1:] / potential[:-1]).max())
    lines = [
        (name, list(range(1, steps + 1)), trace[key].tolist())
        for key, name in (("truth_potential", "a + 7.8b"), ("truth_mixing", "‖E‖_s"))
    ]
    title = "Coupled potential"
    return Measured({title: [row]}, [chart(title, "iteration", "size", lines, "y")])


def excess(tables: Tables) -> float:
    """Return the smallest error under adversarial noise over √k times that under unbiased noise."""
    worse, better, k = (
        column(tables, DOMINANT, name, noise=noise)
        for name, noise in (("error", "adversarial"), ("error", "unbiased"), ("k", "adversarial"))
    )
    return float(np.min(quotients(worse, better) / np.sqrt(k)))


def densest(tables: Tables) -> float:
    """Return the largest G up to which every tested sparsity has E <= 1e-6 without noise."""
    reached = 0.0
    rows = zip(column(tables, SPARSE, "G = s/k"), column(tables, SPARSE, "E without noise"))
    for share, error in sorted(rows):
        if not error <= 1e-6:
            break
        reached = share
    return reached


def endured(tables: Tables) -> float:
    """Return the largest c over the signal with ‖E‖_1 and ‖N‖_1 within c, for every adversary."""
    names = ("c", "signal", "E", "N", "effective c")
    reached = []
    for adversary in ADVERSARIES:
        rows = zip(*(column(tables, ADVERSARIAL, n, adversary=adversary) for n in names))
        within = (c / signal for c, signal, e, n, bound in rows if max(e, n) <= bound)
        reached.append(max(within, default=0.0))
    return min(reached)
