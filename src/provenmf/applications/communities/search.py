"""Communities of a graph: how much each node belongs to each of them.

Nguyen22, Section V-C; data points are nodes. V (n, k): eigenvectors of the adjacency with largest
|eigenvalue|. Under the mixed-membership model V = memberships @ V[pure nodes], so pure nodes are
anchors of the rows of V. They are sought among the nodes that hold 99 % of the squared length;
memberships of *all* nodes follow from V[anchors].

Nodes of real networks differ in degree, which multiplies their rows: the rows then fill a cone, and
a node of low degree lies inside although it is pure. With scaling, the pure nodes that SPA finds
give a plane p·v = 1 through the corners of the cone, and each row is divided by its p·v; rows with
less than 2 % are too uncertain to be pure nodes. Where the eigenvectors describe most of the nodes,
each corner is then the mean of all nodes that lie at it within their noise (`corners.py`);
where they describe a few dense regions only, the pure nodes themselves are the corners. Links that
were held out judge between these memberships and those of largest likelihood (`likelihood.py`).

The Factorization is that of the solver on the kept rows of V, scaled or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.communities.answer import Communities
from provenmf.applications.communities.corners import averaged_corners, memberships_in_plane
from provenmf.applications.communities.embedding import Embedding, embed, node_plane, node_points
from provenmf.applications.communities.likelihood import (
    SETTINGS,
    as_shares,
    judge,
    likelihood_memberships,
    links_among,
    mean_weight_one,
    number_of_communities,
    wants_more,
)
from provenmf.applications.confirm import confirm
from provenmf.applications.fitting import (
    at_hand,
    fit_matrix,
    found_fewer,
    reordered,
    simplex_weights,
)
from provenmf.arguments import checked
from provenmf.errors import InvalidInput
from provenmf.io.graphs import as_graph
from provenmf.linalg.norms import rows_to_sum_one
from provenmf.methods import methods, options_of_method
from provenmf.metrics.matching import best_assignment
from provenmf.results import Factorization

# Rows of an embedding may be negative, and pure nodes are rows.
METHODS = methods(anchors=True, negative_data=True)
DRAWN_NODES = 500
ROUNDING = 1e-12
# Averaging assumes that the eigenvectors describe the graph, not a few dense corners of it.
LEAST_SHARE = 0.5


@checked(options_of=options_of_method)
def find_communities(
    graph: object,
    n_communities: int | None = None,
    *,
    method: str = "spa",
    scale: bool = True,
    refine: bool | Literal["auto"] = "auto",
    evidence: bool = True,
    random_state: int | np.random.RandomState | None = None,
    **options: Any,
) -> Communities:
    """Find communities and the memberships of every node.

    Parameters
    ----------
    graph : from `read_graph`, an adjacency matrix, or a networkx graph.
    n_communities : number of communities; None takes the number that describes the links most
        briefly, at most 50.
    method : "spa", "merit", "fast_anchor" or "fast_gradient".
    scale : whether to divide out the degrees before looking for pure nodes. Corners are then means
        of all nodes that lie at them within their noise, unless the eigenvectors describe only a
        few dense regions: less than half of the nodes hold 99 % of the squared lengths.
    refine : whether memberships are those of largest likelihood of the links, with degrees divided
        out. "auto" hides some of the links and takes the memberships that predict them better: the
        spectral ones, shares of links, or labels; if equal memberships predict as well, it moves
        memberships towards these. It keeps the spectral ones where the eigenvectors describe less
        than half of the nodes, and with `scale=False`.
    evidence : whether to find the communities again in two halves of the nodes and judge each by
        the edges of the other half (see `provenmf.confirm`).
    random_state, options : passed to the method's estimator.

    Returns
    -------
    Communities

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf.applications import find_communities
    >>> two = np.kron(np.eye(2), np.ones((4, 4)))  # two groups of four that know each other
    >>> find_communities(two, 2).memberships.argmax(axis=1).tolist() in (
    ...     [0, 0, 0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0, 0]
    ... )
    True
    """
    graph = as_graph(at_hand(graph, "find_communities"))
    if method not in METHODS:
        raise InvalidInput(
            "does not find pure nodes",
            argument="method",
            value=method,
            remedy=f"choose one of {', '.join(METHODS)}",
        )
    notes = list(graph.notes)
    adjacency, links = graph.adjacency, mean_weight_one(graph.adjacency)
    if n_communities is None:
        n_communities, note = number_of_communities(links)
        notes.append(note)
    given = {**simplex_weights(method), "random_state": random_state, **options}
    search = _Search(n_communities, method, scale, given)
    found = search.run(adjacency)
    notes += found.notes
    members, pure = found.members, found.pure
    # Where eigenvectors describe a few dense regions of a graph with many more communities, links
    # favor another division than the one that was asked for (known memberships of co-authors).
    described = found.embedding.share >= LEAST_SHARE
    if n_communities > 1 and (
        refine is True or (refine and scale and (described or not wants_more(links, n_communities)))
    ):
        members, pure, reasons = _by_links(links, search, found, refine)
        notes += reasons
    if members is found.members and scale and not described:
        notes.append(
            f"the leading eigenvectors describe {found.embedding.share:.0%} of the nodes: each "
            "community rests on its pure node alone"
        )
    order = np.argsort(-members.memberships.sum(axis=0), kind="stable")
    members, pure = members.ordered(order), pure[order]
    factorization = reordered(found.factorization, order)
    if members.undetermined.any():
        notes.append(
            f"{np.count_nonzero(members.undetermined)} nodes are not reached by the links of any "
            "community; they get the mean memberships"
        )
    answer = Communities(
        factorization=factorization,
        notes=tuple(notes),
        pure_nodes=pure,
        node_names=graph.names,
        kept_nodes=found.nodes,
        eigenvalues=found.embedding.eigenvalues,
        scaled=scale,
        edges=_edges(adjacency) if len(graph.names) <= DRAWN_NODES else None,
        memberships=members.memberships,
        undetermined=members.undetermined,
        n_averaged=members.n_averaged,
        memberships_from=members.source,
    )
    return confirm(graph, answer) if evidence else answer


@dataclass(frozen=True, eq=False)
class Members:
    """Memberships of all nodes, which are undetermined, nodes averaged, and source."""

    memberships: NDArray[np.float64]
    undetermined: NDArray[np.bool_]
    n_averaged: NDArray[np.intp] | None = None
    source: str = "eigenvectors"

    def ordered(self, order: NDArray[np.intp]) -> Members:
        """Return the communities in another order."""
        averaged = None if self.n_averaged is None else self.n_averaged[order]
        memberships = self.memberships[:, order]
        return replace(self, memberships=memberships, n_averaged=averaged)


@dataclass(frozen=True, eq=False)
class _Spectral:
    """Everything that the spectral search finds."""

    embedding: Embedding
    nodes: NDArray[np.intp]
    factorization: Factorization
    pure: NDArray[np.intp]
    members: Members
    notes: list[str]


@dataclass(frozen=True)
class _Search:
    """Options of the search among the eigenvectors; see `find_communities`."""

    n_communities: int
    method: str
    scale: bool
    options: Mapping[str, Any]

    def run(self, adjacency: sp.csr_array) -> _Spectral:
        """Find pure nodes and memberships."""
        k = self.n_communities
        embedding = embed(adjacency, k)
        notes = list(embedding.notes)
        plane, nodes = node_plane(embedding, scale=self.scale)
        points = node_points(embedding, plane, nodes)
        factorization = fit_matrix(points, k, self.method, self.options, argument="n_communities")
        anchors = factorization.anchors
        assert anchors is not None  # every method here chooses rows
        notes += found_fewer(factorization, k, "communities")
        if self.scale and embedding.share >= LEAST_SHARE and len(anchors) == k:
            corners = averaged_corners(adjacency, embedding, plane, nodes, anchors)
            shares, unknown = memberships_in_plane(embedding, plane, corners.points)
            found = Members(shares, unknown, corners.n_members)
        else:
            found = Members(*memberships_of(embedding.vectors, nodes[anchors]))
        found = from_neighbors(adjacency, found)
        return _Spectral(embedding, nodes, factorization, nodes[anchors], found, notes)

    def quiet(self, seen: sp.csr_array) -> NDArray[np.float64]:
        """Find memberships in a part of the links, without certificate and messages."""
        options = {**self.options, "certify": False, "callback": None}
        return replace(self, options=options).run(seen).members.memberships


def from_neighbors(adjacency: sp.csr_array, members: Members) -> Members:
    """Give nodes of unknown memberships the mean of their neighbors, as far as links reach."""
    found, unknown = members.memberships.copy(), members.undetermined.copy()
    while True:
        near = np.asarray(adjacency @ (~unknown).astype(np.float64))
        reached = unknown & (near > 0)
        if not reached.any():
            return replace(members, memberships=found, undetermined=unknown)
        sums = adjacency[reached] @ np.where(unknown[:, None], 0.0, found)
        found[reached] = sums / near[reached, None]
        unknown &= ~reached


def memberships_of(
    vectors: NDArray[np.float64], pure: NDArray[np.intp]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return memberships (n, k) that solve V = M V[pure], and the nodes V does not reach."""
    found = np.linalg.lstsq(vectors[pure].T, vectors.T, rcond=None)[0].T
    found[found < ROUNDING] = 0.0
    unknown = found.sum(axis=1) == 0
    found = rows_to_sum_one(found)
    if unknown.any() and not unknown.all():
        found[unknown] = found[~unknown].mean(axis=0)
    return found, np.asarray(unknown)


def _by_links(
    adjacency: sp.csr_array,
    search: _Search,
    found: _Spectral,
    refine: bool | Literal["auto"],
) -> tuple[Members, NDArray[np.intp], list[str]]:
    """Return the memberships that predict held-out links best, pure nodes, and notes."""
    k, spectral = search.n_communities, found.members
    unchanged: tuple[Members, NDArray[np.intp], list[str]] = spectral, found.pure, []
    if spectral.memberships.shape[1] != k:  # fewer communities were found
        return unchanged
    if adjacency.nnz * k > SETTINGS.most_work and refine == "auto":
        note = "the graph is large: memberships were not compared by held-out links"
        return spectral, found.pure, [note]
    try:
        judged = judge(adjacency, k, search.quiet)
    except InvalidInput:  # the links that are left do not support as many communities
        judged = None
    chosen = "spectral" if judged is None else judged.chosen
    if refine is True and chosen == "spectral":
        chosen, judged = "labels", None
    told = refine is True or judged is None or judged.beyond_chance > 0
    if not told:
        chosen = "shares"  # where links tell next to nothing, farther from the truth by less
    if chosen == "spectral":
        return unchanged
    rows = _likely(adjacency, spectral.memberships, chosen)
    if modularity(adjacency, rows) <= ROUNDING:  # the two sides of a bipartite graph
        return unchanged
    pure = _representatives(adjacency, rows)
    if not told:
        reliable = _reliable_share(adjacency, k, rows)
        rows = 1 / k + reliable * (rows - 1 / k)
        note = (
            "no memberships that were tried predict held-out links better than equal ones do: "
            f"{reliable:.0%} of each node's difference from equal memberships was kept, what two "
            "halves of the links agree on; do not rely on memberships or communities here"
        )
    else:
        note = "memberships by the likelihood of the links, not by eigenvectors: "
        if chosen == "labels":
            note += "each node is mainly in the community where its links are likeliest"
        else:
            note += "memberships are the shares of a node's links"
        if judged is not None:
            note += (
                f"; held-out links are likelier by a factor of {np.exp(judged.gain):.3g} "
                f"(log {judged.gain:.2g} +/- {judged.error:.1g})"
            )
    alone = np.asarray(adjacency.sum(axis=1)).ravel() == 0
    rows[alone] = rows[~alone].mean(axis=0)
    order = best_assignment(spectral.memberships.T @ rows)[1]  # keep the order of the others
    return Members(rows[:, order], alone, source=chosen), pure[order], [note]


def _reliable_share(adjacency: sp.csr_array, k: int, rows: NDArray[np.float64]) -> float:
    """Return the share of the differences from equal memberships that halves of the links share.

    Memberships are found in each half. The share of one half's differences that is nearest to those
    of the other is kept, as if all links were twice as reliable (Spearman and Brown's formula).
    """
    upper = sp.coo_array(sp.triu(adjacency, 1))
    first = np.random.default_rng(0).random(upper.nnz) < 0.5
    halves = []
    for these in (first, ~first):
        try:
            half = memberships_again(links_among(upper, these), k, "shares") - 1 / k
        except InvalidInput:  # half of the links do not support as many communities
            return 0.0
        if half.shape != rows.shape:
            return 0.0
        halves.append(half[:, best_assignment((rows - 1 / k).T @ half)[1]])
    one, other = halves
    kept = np.linspace(0.0, 1.0, 21)
    errors = [np.abs(other - s * one).sum() + np.abs(one - s * other).sum() for s in kept]
    share = float(kept[int(np.argmin(errors))])
    return 2.0 * share / (1.0 + share)


def _likely(
    adjacency: sp.csr_array, spectral: NDArray[np.float64], chosen: str
) -> NDArray[np.float64]:
    """Return memberships by the likelihood of the links, "labels" or "shares"."""
    found = likelihood_memberships(adjacency, spectral.shape[1], spectral)[chosen]
    # Even where nodes have one community, the shares of their links tell how clearly.
    return (found + as_shares(adjacency @ found)) / 2 if chosen == "labels" else found


def modularity(adjacency: sp.csr_array, memberships: NDArray[np.float64]) -> float:
    """Return the share of the links inside communities beyond that of chance."""
    volumes = adjacency.sum(axis=1) @ memberships
    total = volumes.sum()
    inside = float(np.sum(memberships * (adjacency @ memberships)))
    return float(inside / total - (volumes / total) @ (volumes / total))


def memberships_again(adjacency: sp.csr_array, k: int, source: str) -> NDArray[np.float64]:
    """Find memberships in part of a graph from the source chosen for the whole graph."""
    adjacency = mean_weight_one(adjacency)
    spectral = _Search(k, "spa", True, simplex_weights("spa")).quiet(adjacency)
    return spectral if source == "eigenvectors" else _likely(adjacency, spectral, source)


def _representatives(adjacency: sp.csr_array, memberships: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the node with the largest share in each community; ties by degree."""
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    order = np.lexsort((degrees[:, None] + 0 * memberships, memberships.round(2)), axis=0)
    return np.asarray(order[-1], dtype=np.intp)


def _edges(adjacency: sp.csr_array) -> NDArray[np.int64]:
    upper = sp.coo_array(sp.triu(adjacency, k=1))
    return np.column_stack([upper.row, upper.col]).astype(np.int64)
