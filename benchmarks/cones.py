"""Cone NMF at the paper's sizes: errors, bounds and times in one run.

d = 1000, K = 50, α = 0.3, n = 10² … 10⁴ (Liu and Tan 2017, Section 4). Compared: the literal
algorithm with full decompositions; the farthest-first part against the K passes that the paper
prints and against the one matrix product of the data with all K centroids.
"""

import argparse
import math
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from provenmf import ConeNMF
from provenmf.data import as_blocks
from provenmf.datasets.cones import paper_cones
from provenmf.methods.cones.guarantee import theorem_5_bound, theorem_5_limit
from provenmf.methods.cones.solver import farthest_first, row_lengths
from provenmf.reproduce.cones import PAPER_SECONDS, algorithm_2, literal_algorithm_2, relative_error

K, ALPHA = 50, 0.3
# The authors' later code for the same algorithm, in Octave, on two cores.
LATER_SECONDS = {100: "0.02", 1000: "0.03–0.05", 10_000: "0.41–0.53"}


CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
clock = time.perf_counter


def timed(function, *arguments):
    start = clock()
    result = function(*arguments)
    return clock() - start, result


def our_farthest_first(X):
    blocks = as_blocks(X)
    lengths = row_lengths(blocks)
    return list(farthest_first(blocks, lengths, int(np.argmax(lengths)), 12, range(K)))


def passes_of_the_paper(X):
    lengths = np.linalg.norm(X, axis=1)
    row = int(np.argmax(lengths))
    similarity = X @ (X[row] / lengths[row]) / lengths
    for _ in range(K - 2):
        row = int(np.argmin(similarity))
        similarity = np.maximum(similarity, X @ (X[row] / lengths[row]) / lengths)


def errors(n, runs):
    worst = dict.fromkeys(("error", "certified"), 0.0)
    mean, violations = [], 0
    rates, angles = 1 / np.arange(1, K + 1), np.full(K, ALPHA)
    model_bound = theorem_5_bound(angles, rates, n)
    for run in range(runs):
        X = paper_cones(n, random_state=run).data
        error = relative_error(X, algorithm_2(X, K))
        fitted = ConeNMF().fit(X)
        bound = fitted.certificate_.bounds["relative_error"]
        own = fitted.certificate_.measures["relative_error"]
        violations += error > min(math.sin(ALPHA), model_bound) or own > bound
        mean.append(error)
        worst["error"] = max(worst["error"], error)
        worst["certified"] = max(worst["certified"], bound)
    return [
        f"{n}",
        f"{np.mean(mean):.4f}",
        f"{worst['error']:.4f}",
        f"{worst['certified']:.4f}",
        f"{model_bound:.4f}",
        f"{theorem_5_limit(angles, rates):.4f}",
        f"{math.sin(ALPHA):.4f}",
        f"{violations} of {runs}",
    ]


def times(n, repeats):
    X = paper_cones(n, random_state=0).data
    ours = [timed(algorithm_2, X, K)[0] for _ in range(repeats)]
    chosen = [timed(our_farthest_first, X) for _ in range(repeats)]
    passes = min(timed(passes_of_the_paper, X)[0] for _ in range(repeats))
    centroids = np.array([centroid for _, centroid, _ in chosen[0][1]])
    product = min(timed(np.matmul, X, centroids.T)[0] for _ in range(repeats))
    literal = timed(literal_algorithm_2, X, K)[0]
    greedy = min(seconds for seconds, _ in chosen)
    return [
        f"{n}",
        f"{min(ours):.4f}",
        f"{np.median(ours):.4f}",
        f"{literal:.3f}",
        f"{literal / np.median(ours):.1f}",
        f"{greedy:.4f}",
        f"{passes:.4f}",
        f"{product:.4f}",
        f"{PAPER_SECONDS[n]['Alg2']}",
        LATER_SECONDS[n],
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="n up to 1000, three runs")
    parser.add_argument("--only", choices=["errors", "times"], help="one of the two tables")
    parser.add_argument(
        "--clock", choices=CLOCKS, default="wall", help="'processor' on a busy machine, one thread"
    )
    arguments = parser.parse_args()
    quick = arguments.quick
    global clock
    clock = CLOCKS[arguments.clock]
    sizes = [100, 1000] if quick else [100, 1000, 10_000]
    our_farthest_first(paper_cones(60, random_state=0).data)
    algorithm_2(paper_cones(60, random_state=0).data, K)  # kernels are compiled before we measure

    console = Console(width=150)
    if arguments.only != "times":
        console.print(error_table(sizes, 3 if quick else 10))
    if arguments.only != "errors":
        console.print(time_table(sizes, arguments.clock))


def error_table(sizes, runs):
    table = Table(title="Relative error and bounds; certified: measured cones, K from the gap")
    for name in (
        "n",
        "Alg2 mean",
        "Alg2 worst",
        "certified, worst",
        "Theorem 5, 99 %",
        "Theorem 5, Δ",
        "Theorem 4",
        "violations",
    ):
        table.add_column(name, justify="right")
    for n in sizes:
        table.add_row(*errors(n, runs))
    return table


def time_table(sizes, clock_name):
    table = Table(title=f"Seconds ({clock_name} clock)")
    for name in (
        "n",
        "ours, best",
        "ours, median",
        "literal, full SVD",
        "ratio to median",
        "farthest-first",
        "K passes",
        "one product",
        "paper (MATLAB)",
        "authors, later",
    ):
        table.add_column(name, justify="right")
    for n in sizes:
        table.add_row(*times(n, 5))
    return table


if __name__ == "__main__":
    main()
