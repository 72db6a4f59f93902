"""Labels of networks: find_communities against Leiden, NMF and PoissonNMF of the adjacency.

    python -m benchmarks.recovery.labelled_networks [--data DIR] [--first-seed 0] [--seeds 2]

Normalized mutual information (NMI) of the largest memberships with the labels, at the true number
of communities. Leiden (if `leidenalg` is installed) chooses its own number by modularity; for
"Leiden, K" its resolution is that whose number of communities is nearest to the true one. Drawn
networks are degree-corrected blocks with communities of unequal size, Pareto degrees and hubs;
small communities of even size; and the LFR graphs of networkx. Real ones are the karate club and,
with --data, the circles of DIR/facebook_ego: circles of five nodes or more, and the nodes that are
in one of them only. The last columns are the number of communities found without the true one, and
linked nodes that are not reached.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import networkx as nx
import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import NMF
from sklearn.metrics import normalized_mutual_info_score

from provenmf import PoissonNMF
from provenmf.applications import find_communities

# Nodes, communities, mean degree, share of links inside beyond chance, Pareto tail of the degrees.
KINDS = {
    "books": (105, 3, 8.4, 0.70, 3.0),
    "football": (115, 12, 10.7, 0.65, 30.0),
    "e-mail": (986, 35, 33.0, 0.35, 2.5),
    "blogs": (1222, 2, 27.0, 0.75, 2.0),
    "hubs": (200, 5, 12.0, 0.60, 1.8),
    "sparse": (450, 4, 5.0, 0.75, 3.0),
}


def drawn(n, k, degree, inside, tail, rng):
    """Return an adjacency and labels of degree-corrected blocks."""
    labels = rng.choice(k, n, p=rng.dirichlet(np.full(k, 5.0)))
    factors = 1.0 + rng.pareto(tail, n)
    volumes = np.bincount(labels, factors, minlength=k)
    chance = np.outer(factors, factors) / factors.sum()
    same = labels[:, None] == labels
    rates = (1 - inside) * chance + inside * same * np.outer(factors, factors) / volumes[labels]
    links = np.triu(rng.poisson(rates * degree * n / rates.sum()) > 0, 1)
    return sp.csr_array((links | links.T).astype(float)), labels


# Nodes, communities, links of a node inside and outside.
SMALL = {"small": (115, 12, 6.0, 4.5), "smaller": (60, 6, 5.5, 3.0), "many": (300, 20, 8.0, 6.0)}


def drawn_small(n, k, inside, outside, rng):
    """Return an adjacency and labels: communities of even size, every pair linked by chance."""
    labels = np.arange(n) % k
    same = labels[:, None] == labels
    chances = np.where(same, inside / (n / k - 1), outside / (n - n / k))
    links = np.triu(rng.random((n, n)) < chances, 1)
    return sp.csr_array((links | links.T).astype(float)), labels


def lfr(seed):
    graph = nx.LFR_benchmark_graph(
        400, 3, 1.5, 0.35, average_degree=12, max_degree=50, min_community=20, seed=seed
    )
    graph.remove_edges_from(nx.selfloop_edges(graph))
    sets = {frozenset(graph.nodes[node]["community"]) for node in graph}
    labels = np.empty(len(graph), dtype=int)
    for number, members in enumerate(sets):
        labels[list(members)] = number
    return sp.csr_array(nx.to_scipy_sparse_array(graph, dtype=float)), labels


def karate():
    graph = nx.karate_club_graph()
    labels = np.array([graph.nodes[node]["club"] == "Officer" for node in graph])
    return sp.csr_array(nx.to_scipy_sparse_array(graph, weight=None, dtype=float)), labels


def ego(data, name):
    """Return the network, and −1 for nodes in no circle or in several."""
    edges, circles = data[f"edges_{name}"], data[f"circles_{name}"]
    n = len(circles)
    links = sp.coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), (n, n))
    circles = circles[:, circles.sum(axis=0) >= 5]
    labels = np.where(circles.sum(axis=1) == 1, circles.argmax(axis=1), -1)
    return sp.csr_array(links + links.T), labels


def leiden(adjacency, resolution=1.0):
    import igraph
    import leidenalg

    upper = sp.coo_array(sp.triu(adjacency, 1))
    graph = igraph.Graph(adjacency.shape[0], list(zip(upper.row.tolist(), upper.col.tolist())))
    kind = leidenalg.RBConfigurationVertexPartition
    found = leidenalg.find_partition(graph, kind, resolution_parameter=resolution, seed=0)
    return np.array(found.membership)


def leiden_of(adjacency, k):
    """Leiden's labels whose number is nearest to k, by bisection of the resolution."""
    low, high, tried = 1e-3, 30.0, []
    for _ in range(20):
        tried.append(leiden(adjacency, (low * high) ** 0.5))
        low, high = (
            (low, (low * high) ** 0.5) if tried[-1].max() >= k else ((low * high) ** 0.5, high)
        )
    return min(tried, key=lambda labels: abs(int(labels.max()) + 1 - k))


def rivals():
    methods = {
        "provenmf": lambda a, k: find_communities(a, k, certify=False, evidence=False),
        "NMF": lambda a, k: NMF(k, random_state=0, max_iter=500).fit_transform(a).argmax(axis=1),
        "Poisson": lambda a, k: (
            PoissonNMF(k, random_state=0, certify=False).fit_transform(a).argmax(axis=1)
        ),
    }
    try:
        import leidenalg  # noqa: F401
    except ImportError:
        return methods
    return {**methods, "Leiden": lambda a, k: leiden(a), "Leiden, K": leiden_of}


def row(name, networks):
    """Print the means over networks, then numbers found and nodes not reached."""
    methods, table, counted, missed, seconds = rivals(), [], [], 0, 0.0
    for adjacency, labels in networks:
        known = labels >= 0
        k = len(np.unique(labels[known]))
        scores = []
        for method, run in methods.items():
            start = time.process_time()
            found = run(adjacency, k)
            if method == "provenmf":
                seconds += time.process_time() - start
                linked = adjacency.sum(axis=1) > 0
                missed += int(np.count_nonzero(found.undetermined & linked))
                found = found.memberships.argmax(axis=1)
            scores.append(normalized_mutual_info_score(labels[known], found[known]))
        table.append(scores)
        answer = find_communities(adjacency, certify=False, evidence=False)
        counted.append(f"{answer.n_components}/{k}")
    cells = "".join(f"{score:9.3f}" for score in np.mean(table, axis=0))
    print(f"{name:10}{cells}{seconds:8.1f} s  {' '.join(counted)}  {missed}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--egos", nargs="*", default=["348", "414", "686", "698", "3980"])
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    print(f"{'':10}" + "".join(f"{name:>9}" for name in rivals()))
    for name, kind in KINDS.items():
        row(name, [drawn(*kind, np.random.default_rng(seed)) for seed in seeds])
    for name, kind in SMALL.items():
        row(name, [drawn_small(*kind, np.random.default_rng(seed)) for seed in seeds])
    row("LFR", [lfr(seed) for seed in seeds])
    row("karate", [karate()])
    if arguments.data is not None:
        with np.load(arguments.data / "facebook_ego" / "facebook_ego.npz") as data:
            for name in arguments.egos:
                row(name, [ego(data, name)])


if __name__ == "__main__":
    main()
