"""How well `find_signatures` does in the league of Liu, Wu, Jiang, Boot & Rozen (2023), K found.

Score = precision + recall + mean cosine of the matches, a match being a cosine above .9; 3 is
perfect. Rivals' runs come from rivals.csv in the same folder. The algorithm was tuned on drawn
counts and on the noise levels "noiseless" and "moderate" of set 1; "realistic" is for reporting.
`--tumors` matches signatures of real tumors with COSMIC, beside scikit-learn's NMF at the same K.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

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
    return len(kept) / len(found) + len(kept) / len(true) + (kept.mean() if len(kept) else 0.0)


def league(folder: Path, name: str, noise: str, seeds: int) -> None:
    data = np.load(folder / f"{name}_{noise}.npz")
    first = None
    for seed in range(seeds):
        started = time.process_time()
        found = find_signatures(data["counts"], evidence=False, random_state=seed).signatures
        seconds = time.process_time() - started
        first = found if first is None else first
        same = cosines(first, found).max(axis=1).min()
        reached = score(found, data["signatures"])
        print(
            f"{name} {noise} seed {seed}: K {len(found)} (true {len(data['signatures'])}), "
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
    peer = NMF(k, beta_loss="kullback-leibler", solver="mu", init="nndsvda", max_iter=1000)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder mutational_signatures")
    parser.add_argument("--sets", nargs="+", default=["SBS_set1", "indel_set1"])
    parser.add_argument("--noise", nargs="+", default=["noiseless", "moderate", "realistic"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tumors", action="store_true")
    options = parser.parse_args()
    if options.tumors:
        tumors(options.data)
        return
    for name in options.sets:
        for noise in options.noise:
            league(options.data / "league", name, noise, options.seeds)


if __name__ == "__main__":
    main()
