"""AND: error against noise, ten levels, on the paper's NOISE data.

    python benchmarks/and_noise.py [--quick] [--data DIR]

Rows get normal noise of length γ (the paper's scale). γ is given relative to the median length of
the components. The error is the largest distance between a true and a found component, both of
unit length. Theorem 5 says: at most proportional to γ.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from provenmf.data import as_blocks
from provenmf.datasets.and_descent import (
    load_topics,
    sample_dirichlet,
    sample_fresh_covariance,
    start_nearby,
    topic_components,
)
from provenmf.methods.and_descent.solver import StageRule, and_descent
from provenmf.metrics.recovery import total_correlation_error, unit_distances
from provenmf.reproduce.and_courses import PAPER

LEVELS = np.geomspace(1e-4, 0.3, 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="k = 20, n = 500, d = 60")
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    k, n, d = (20, 500, 60) if arguments.quick else (50, 2000, 500)
    topics = topic_components(k, d, random_state=0)
    if arguments.data and not arguments.quick:
        topics = load_topics(arguments.data / "nips" / "anchor_topics_100.npz")
        topics = topics[:k, np.argsort(-topics.sum(axis=0), kind="stable")[:1000]]
    length = float(np.median(np.linalg.norm(topics, axis=1)))
    start = start_nearby(topics, random_state=1)
    rules = {"ours": StageRule(), "paper's": replace(PAPER, n_steps=100)}
    for name, sample in (("CTM fresh", sample_fresh_covariance), ("DIR", sample_dirichlet)):
        print(f"{name}: k = {k}, n = {n}, d = {topics.shape[1]}")
        print(f"{'γ':>10} " + " ".join(f"{r + ' largest':>16} {'total':>9}" for r in rules))
        errors: dict[str, list[float]] = {rule: [] for rule in rules}
        for level in LEVELS:
            data = sample(n, topics, noise_level=level * length, random_state=2).data
            cells = []
            for label, rule in rules.items():
                found = and_descent(as_blocks(data), start, rule=rule).components
                errors[label].append(float(unit_distances(found, topics).max()))
                total = total_correlation_error(found, topics) / length
                cells.append(f"{errors[label][-1]:16.3e} {total:9.2e}")
            print(f"{level:10.1e} " + " ".join(cells), flush=True)
        for label, values in errors.items():
            slope, _ = np.polyfit(np.log(LEVELS), np.log(values), 1)
            factors = np.array(values) / LEVELS
            print(
                f"{label}: log-log slope {slope:.3f}; error/γ between {factors.min():.2f} "
                f"and {factors.max():.2f}"
            )


if __name__ == "__main__":
    main()
