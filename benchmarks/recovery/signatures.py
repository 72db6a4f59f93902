"""How well `find_signatures` does in the league of Liu, Wu, Jiang, Boot & Rozen (2023), K found.

Score = precision + recall + mean cosine of the matches, a match being a cosine above .9; 3 is
perfect. Rivals' runs come from rivals.csv in the same folder. The algorithm was tuned on drawn
counts and on the noise levels "noiseless" and "moderate" of set 1; "realistic" is for reporting.
`--tumors` matches signatures of real tumors with COSMIC, beside scikit-learn's NMF at the same K;
`--panel FIRST` draws cohorts of other signatures and noise with `--seeds` seeds from that one on;
`--coverage` says how often exposure intervals of 95 % hold the truth, on counts drawn from scratch.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import NMF

from provenmf import find_signatures


def cosines(found, true):
    unit = [m / np.linalg.norm(m, axis=1, keepdims=True) for m in (found, true)]
    return unit[0] @ unit[1].T


def score(found, true):
    values = cosines(found, true)
    matched = np.where(values > 0.9, values, -1.0)
    rows, columns = linear_sum_assignment(-matched)
    kept = matched[rows, columns][matched[rows, columns] > 0]
    cosine = kept.mean() if len(kept) else 0.0
    return len(kept) / len(found) + len(kept) / len(true) + cosine, len(kept)


def league(folder: Path, name: str, noise: str, seeds: int) -> None:
    data = np.load(folder / f"{name}_{noise}.npz")
    first = None
    for seed in range(seeds):
        started = time.process_time()
        found = find_signatures(data["counts"], evidence=False, random_state=seed).signatures
        seconds = time.process_time() - started
        first = found if first is None else first
        same = cosines(first, found).max(axis=1).min()
        reached, matched = score(found, data["signatures"])
        print(
            f"{name} {noise} seed {seed}: K {len(found)} (true {len(data['signatures'])}), "
            f"matched {matched}, "
            f"score {reached:.3f}, {seconds:.0f} s, least cosine with seed 0 {same:.3f}",
            flush=True,
        )
    with (folder / "rivals.csv").open() as file:
        rows = [r for r in csv.DictReader(file) if (r["set"], r["noise"].lower()) == (name, noise)]
    for method in sorted({r["method"] for r in rows}):
        scores = [float(r["score"]) for r in rows if r["method"] == method]
        print(f"    {method:24}{np.mean(scores):.3f}")


def tumors(folder: Path) -> None:
    counts = np.load(folder / "pcawg.npz")["X"].T.astype(float)
    known = np.load(folder / "cosmic_v3.3_sbs.npz")["W"].T
    started = time.process_time()
    found = find_signatures(counts, evidence=False).signatures
    seconds = time.process_time() - started
    k = len(found)
    settings = {"init": "nndsvda", "max_iter": 1000, "tol": 1e-7}  # by default it stops after 60
    peer = NMF(k, beta_loss="kullback-leibler", solver="mu", **settings)
    again = time.process_time()
    peer.fit(counts)
    peer_seconds = time.process_time() - again
    for who, signatures, cpu in (
        ("provenmf", found, seconds),
        ("scikit-learn KL", peer.components_, peer_seconds),
    ):
        values = cosines(signatures, known).max(axis=1)
        at = [int((values > level).sum()) for level in (0.9, 0.8)]
        print(f"{who:16} K {k}: {at[0]} at .9, {at[1]} at .8, {cpu:.0f} s")


class Cohort(NamedTuple):
    """Tumors of several kinds, each of which uses some of the signatures."""

    catalogue: str  # "SBS": signatures of COSMIC; "indel": those of indel_set1, altered
    signatures: int
    tumors: int
    size: float  # of the negative binomial part of each signature in a count
    kinds: int
    mutations: float  # median number due to a signature
    hypermutated: int = 0  # tumors with fifty times as many
    rare: int = 0  # of the signatures, each spiked into 1.5 % of the tumors


PANEL = {
    "SBS 8": Cohort("SBS", 8, 120, np.inf, 2, 1000),
    "SBS 12, rare": Cohort("SBS", 12, 500, 20, 4, 1500, rare=3),
    "SBS 15, hypermutated": Cohort("SBS", 15, 300, 10, 5, 1500, hypermutated=4),
    "SBS 20": Cohort("SBS", 20, 500, 10, 8, 3000),
    "SBS 25": Cohort("SBS", 25, 800, 30, 9, 2000, hypermutated=3),
    "SBS 16, noisy": Cohort("SBS", 16, 400, 5, 6, 3000),
    "indel 8": Cohort("indel", 8, 300, np.inf, 3, 150),
    "indel 11": Cohort("indel", 11, 1000, 10, 9, 150, hypermutated=3),
    "indel 11, rare": Cohort("indel", 11, 600, 20, 6, 150, rare=2),
}


def signatures_of(folder: Path, cohort: Cohort, rng) -> np.ndarray:
    """Return a random choice of COSMIC's signatures, or indel signatures with altered entries."""
    if cohort.catalogue == "SBS":
        known = np.load(folder / "cosmic_v3.3_sbs.npz")["W"].T
    else:
        known = np.load(folder / "league" / "indel_set1_noiseless.npz")["signatures"]
        known = known * rng.lognormal(0, 0.7, known.shape)
    chosen: list[int] = []
    unit = known / np.linalg.norm(known, axis=1, keepdims=True)
    for j in rng.permutation(len(known)):
        if len(chosen) < cohort.signatures and np.all(unit[chosen] @ unit[j] < 0.9):
            chosen.append(j)
    return known[chosen] / known[chosen].sum(axis=1, keepdims=True)


def drawn(folder: Path, cohort: Cohort, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return counts and the true signatures, two of which occur in most tumors."""
    rng = np.random.default_rng(seed)
    true = signatures_of(folder, cohort, rng)
    n, k = cohort.tumors, len(true)
    share = rng.beta(0.3, 0.6, (cohort.kinds, k)) * (rng.random((cohort.kinds, k)) < 0.4)
    share[:, :2] = rng.beta(6, 1, (cohort.kinds, 2))
    absent = share.max(axis=0) < 0.2
    share[rng.integers(0, cohort.kinds, absent.sum()), np.flatnonzero(absent)] = 0.5
    share[:, k - cohort.rare :] = 0.0
    kind = rng.integers(0, cohort.kinds, n)
    used = rng.random((n, k)) < share[kind]
    for j in range(k - cohort.rare, k):
        used[rng.choice(n, max(3, round(0.015 * n)), replace=False), j] = True
    used[:, 0] |= ~used.any(axis=1)
    typical = rng.normal(np.log(cohort.mutations), 0.8, (cohort.kinds, k))
    exposures = used * np.exp(rng.normal(typical[kind], 0.7))
    exposures[rng.choice(n, cohort.hypermutated, replace=False)] *= 50
    counts = np.zeros((n, true.shape[1]))
    for column, signature in zip(exposures.T, true):
        means = np.outer(column, signature)
        if np.isfinite(cohort.size):
            means *= rng.gamma(cohort.size, 1 / cohort.size, means.shape)
        counts += rng.poisson(means)
    return counts, true


def panel(folder: Path, seeds: range) -> None:
    """Print scores on drawn cohorts, and their means."""
    scores = []
    for name, cohort in PANEL.items():
        for seed in seeds:
            counts, true = drawn(folder, cohort, seed)
            started = time.process_time()
            found = find_signatures(counts, evidence=False)
            seconds = time.process_time() - started
            reached, matched = score(found.signatures, true)
            scores.append(reached)
            print(
                f"{name:22} seed {seed}: K {len(found.signatures)} (true {len(true)}), matched "
                f"{matched}, score {reached:.3f}, {seconds:.0f} s",
                flush=True,
            )
    print(f"mean of {len(scores)}: {np.mean(scores):.3f}")


def coverage(seeds: int, n: int = 200, k: int = 5) -> None:
    for a in (0.0, 0.02, 0.1):
        estimated, of_used, of_others = [], [], []
        for seed in range(seeds):
            rng = np.random.default_rng(900 + seed)
            true = rng.dirichlet(np.full(96, 0.1), k)
            used = rng.random((n, k)) < 0.5
            used[np.arange(n), rng.integers(0, k, n)] = True
            exposures = used * rng.lognormal(6, 1, (n, k))
            means = exposures @ true
            noise = rng.gamma(1 / a, a, means.shape) if a else 1.0
            found = find_signatures(rng.poisson(means * noise).astype(float), k, evidence=False)
            rows, columns = linear_sum_assignment(-cosines(found.signatures, true))
            lower, upper = (ends[:, rows] for ends in found.exposure_intervals(0.95))
            truth = exposures[:, columns]
            inside = (lower <= truth) & (truth <= upper)
            estimated.append(found.overdispersion)
            of_used.append(inside[truth > 0].mean())
            of_others.append(inside[truth == 0].mean())
        print(
            f"overdispersion {a} (estimated {np.mean(estimated):.3f}): covered "
            f"{np.mean(of_used):.3f} of those used ({np.round(of_used, 3)}), "
            f"{np.mean(of_others):.3f} of others",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder mutational_signatures")
    parser.add_argument("--sets", nargs="+", default=["SBS_set1", "indel_set1"])
    parser.add_argument("--noise", nargs="+", default=["noiseless", "moderate", "realistic"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tumors", action="store_true")
    parser.add_argument("--panel", type=int, metavar="FIRST")
    parser.add_argument("--coverage", action="store_true")
    options = parser.parse_args()
    if options.tumors:
        tumors(options.data)
        return
    if options.coverage:
        coverage(options.seeds)
        return
    if options.panel is not None:
        panel(options.data, range(options.panel, options.panel + options.seeds))
        return
    for name in options.sets:
        for noise in options.noise:
            league(options.data / "league", name, noise, options.seeds)


if __name__ == "__main__":
    main()
