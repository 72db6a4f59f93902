"""Memberships of nodes against SPOC, GeoNMF, Mixed-SCORE and SPACL.

    python -m benchmarks.recovery.communities [--data DIR] [--quick] [--million] [--first-seed 0]

Mean L1 distance between true and found memberships (0 best, 2 worst) on graphs of the model, dense
(mean degree n / 20, at most 100), sparse (mean degree 20) and degree-corrected (as dense, lognormal
factors of spread .5); medians of three seeds, one for n = 8000 and 100 000. Then the number of
communities found, and with --data the rank correlation (SRC) on DIR/coauthorship, dblp1 to dblp4.
With --million only one graph of a million nodes and mean degree 20, its making and its communities,
with the peak memory of the process. Mixed-SCORE and SPACL are written here as their papers have
them. Seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from benchmarks.peers.communities import mixed_score, spacl

from provenmf.applications import find_communities
from provenmf.datasets.networks import mixed_membership_network
from provenmf.io.arrays import read_npz
from provenmf.metrics.matching import averaged_spearman, best_assignment
from provenmf.reproduce.rivals import geo_nmf, spoc

LARGE = 8000
KINDS = {
    "dense": (lambda n: min(n / 20, 100.0), 0.0),
    "sparse": (lambda n: 20.0, 0.0),
    "degrees": (lambda n: min(n / 20, 100.0), 0.5),
}


def ours(**options):
    def run(adjacency, k):
        return find_communities(adjacency, k, certify=False, **options).memberships

    return run


METHODS = {
    "provenmf": ours(),
    "eigenvectors": ours(refine=False),
    "SPOC": spoc,
    "GeoNMF": geo_nmf,
    "Mixed-SCORE": mixed_score,
    "SPACL": spacl,
}


def mean_l1(found, truth):
    """After the matching of columns with the least distance."""
    distances = np.abs(truth[:, :, None] - found[:, None, :]).sum(axis=0)
    rows, columns = best_assignment(-distances)
    return distances[rows, columns].sum() / len(truth)


def print_row(name, results):
    cells = "".join(f"{f'{score:.3f} {seconds:5.2f}':>15}" for score, seconds in results)
    print(f"{name:17}{cells}", flush=True)


def measure(adjacency, truth, score):
    results = []
    for run in METHODS.values():
        start = time.process_time()
        found = run(adjacency, truth.shape[1])
        results.append((score(found, truth), time.process_time() - start))
    return results


def model_graphs(sizes, seeds, first, kinds):
    for kind in kinds:
        degree, spread = KINDS[kind]
        for n in sizes:
            table = []
            for seed in range(first, first + (seeds if n < LARGE else 1)):
                graph = mixed_membership_network(
                    n, 3, mean_degree=degree(n), degree_spread=spread, random_state=seed
                )
                table.append(measure(graph.adjacency, graph.memberships, mean_l1))
            print_row(f"{kind} n={n}", np.median(table, axis=0))


def count_communities(sizes, numbers, seeds, first):
    hits, total = 0, 0
    for k in numbers:
        found = []
        for n in sizes:
            for seed in range(first, first + seeds):
                graph = mixed_membership_network(n, k, mean_degree=40.0, random_state=seed)
                answer = find_communities(graph.adjacency, certify=False)
                found.append(answer.memberships.shape[1])
        hits, total = hits + found.count(k), total + len(found)
        print(f"k={k}: found {found}", flush=True)
    print(f"{hits} of {total} numbers are right")


def million_nodes():
    started = time.process_time()

    def line(what):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"{what}: {time.process_time() - started:.1f} s, peak {peak:.2f} GB", flush=True)

    line("libraries")
    graph = mixed_membership_network(1_000_000, 3, mean_degree=20.0, random_state=0)
    line(f"graph of a million nodes, {graph.adjacency.nnz // 2} edges")
    found = find_communities(graph.adjacency, 3, certify=False)
    line(f"communities, mean L1 {mean_l1(found.memberships, graph.memberships):.3f}")


def coauthors(folder):
    for name in ("dblp1", "dblp2", "dblp3", "dblp4"):
        adjacency = sp.csr_array(sp.load_npz(folder / "coauthorship" / f"{name}_adjacency.npz"))
        truth = read_npz(folder / "coauthorship" / f"{name}_theta.npz")["theta"]
        print_row(f"SRC {name}", measure(adjacency.astype(np.float64), truth, averaged_spearman))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--quick", action="store_true", help="one small graph of each kind")
    parser.add_argument("--million", action="store_true", help="only a graph of a million nodes")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--no-number", action="store_true", help="communities are not counted")
    arguments = parser.parse_args()
    if arguments.million:
        million_nodes()
        return
    print("mean L1 of memberships, seconds")
    print(f"{'':17}" + "".join(f"{name:>15}" for name in METHODS))
    sizes = (500,) if arguments.quick else (500, 2000, LARGE, 100_000)
    model_graphs(sizes, 1 if arguments.quick else 3, arguments.first_seed, arguments.kinds)
    if not arguments.no_number:
        print("\nnumber of communities (n_communities=None)")
        case = ((1000,), (3,), 1) if arguments.quick else ((1000, 2000), range(2, 7), 4)
        count_communities(*case, arguments.first_seed)
    if arguments.data is not None:
        coauthors(arguments.data)


if __name__ == "__main__":
    main()
