"""AND: the adaptive schedule against the paper's, on ten seeds of every data set.

    python benchmarks/and_schedules.py [--quick] [--data DIR] [--seeds 10]

Both start from (I + U) components. The paper's schedule makes 200 stages (T = 50 steps each); one
stage is one pass over the data for both. Errors are total squared correlation errors. With --data
the components are the first k topics of DIR/nips/anchor_topics_100.npz on their 300 most used
words, otherwise synthetic ones. The paper's schedule runs on data turned into the span of the
components, d = k, which changes neither its iterates nor its errors and saves time.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from provenmf.data import as_blocks
from provenmf.datasets.and_descent import (
    load_topics,
    sample_dirichlet,
    sample_fresh_covariance,
    sample_logistic_normal,
    sample_signed,
    start_nearby,
    topic_components,
)
from provenmf.methods.and_descent.solver import StageRule, and_descent
from provenmf.metrics.recovery import total_squared_correlation_error
from provenmf.reproduce.and_courses import PAPER

NAMES = ("DIR", "CTM fresh", "CTM one 10", "CTM one k", "NEG")
STALLED = 1e-6  # a final error above this, after 200 stages


def used_words(topics, n_words: int):
    """Topics on the words that are used most, as distributions again."""
    kept = topics[:, np.sort(np.argsort(-topics.sum(axis=0), kind="stable")[:n_words])]
    return kept / kept.sum(axis=1, keepdims=True)


def draw(name: str, n: int, topics, seed: int):
    k, d = topics.shape
    if name == "DIR":
        return sample_dirichlet(n, topics, random_state=seed)
    if name == "CTM fresh":
        return sample_fresh_covariance(n, topics, random_state=seed)
    if name == "CTM one 10":
        return sample_logistic_normal(n, topics, random_state=seed)
    if name == "CTM one k":
        return sample_logistic_normal(n, topics, spread=k, random_state=seed)
    return sample_signed(n, n_components=k, n_columns=d, random_state=seed)


def compare(name: str, n: int, topics, seed: int) -> dict[str, float]:
    sample = draw(name, n, topics, seed)
    start = start_nearby(sample.components, random_state=1000 + seed)
    basis = np.linalg.qr(sample.components.T)[0]
    row = {}
    for label, rule, turn in (("paper", PAPER, basis), ("ours", StageRule(), np.eye(len(basis)))):
        blocks = as_blocks(sample.data @ turn)
        began = time.perf_counter()
        found = and_descent(blocks, start @ turn, rule=rule, tol=0.0 if label == "paper" else 1e-10)
        row[f"{label} seconds"] = time.perf_counter() - began
        row[f"{label} passes"] = len(found.trace)
        row[f"{label} error"] = total_squared_correlation_error(
            found.components, sample.components @ turn
        )
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two seeds, the smaller size")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--columns", type=int, default=300, help="of the components")
    parser.add_argument("--sizes", default="50x2000,100x5000", help="k x n, comma separated")
    parser.add_argument("--only", help="data sets, comma separated")
    arguments = parser.parse_args()
    names = arguments.only.split(",") if arguments.only else NAMES
    sizes = [tuple(map(int, size.split("x"))) for size in arguments.sizes.split(",")]
    seeds = arguments.seeds
    if arguments.quick:
        sizes, seeds = sizes[:1], 2
    print(
        f"{'data':12} {'(k, n)':>11} | {'paper: error median':>19} {'worst':>8} {'stalled':>7}"
        f" | {'ours: error median':>18} {'worst':>8} {'passes':>9} | {'worst ratio':>11}"
        f" {'gain where stalled':>18} {'seconds':>13}"
    )
    for k, n in sizes:
        if arguments.data:
            topics = load_topics(arguments.data / "nips" / "anchor_topics_100.npz")[:k]
            topics = used_words(topics, arguments.columns)
        else:
            topics = topic_components(k, arguments.columns, random_state=k)
        for name in names:
            rows = [compare(name, n, topics, seed) for seed in range(seeds)]
            paper, ours, passes, paper_seconds, our_seconds = (
                np.array([row[key] for row in rows])
                for key in (
                    "paper error",
                    "ours error",
                    "ours passes",
                    "paper seconds",
                    "ours seconds",
                )
            )
            stalled = paper > STALLED
            gain = f"{np.min(paper[stalled] / ours[stalled]):18.1e}" if stalled.any() else "-"
            print(
                f"{name:12} {f'({k}, {n})':>11} | {np.median(paper):19.1e} {paper.max():8.1e}"
                f" {stalled.sum():7d} | {np.median(ours):18.1e} {ours.max():8.1e}"
                f" {passes.min():4d}-{passes.max():<4d} | {np.max(ours / paper):11.2g} {gain:>18}"
                f" {np.median(paper_seconds):6.1f}{np.median(our_seconds):7.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
