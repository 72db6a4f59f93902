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
where they describe a few dense regions only, the pure nodes themselves are the corners.

Two methods for networks stand beside the general ones. "spoc" (Panov, Slavnov & Ushakov 2017) is
SPA on all rows of V, memberships raised to at least the machine epsilon before they are scaled.
"geo_nmf" (Mao, Sarkar & Chakrabarti 2017) seeks pure nodes among rows scaled by their degrees.

The Factorization is that of the solver on the kept rows of V, scaled or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.communities.answer import Communities, CommunitySettings
from provenmf.applications.communities.corners import (
    LEAST_SHARE,
    NodeModel,
    averaged_corners,
    membership_error_bars,
    memberships_in_plane,
    number_of_communities,
)
from provenmf.applications.communities.embedding import (
    Embedding,
    embed,
    geo_nmf,
    node_plane,
    node_points,
)
from provenmf.applications.confirm import confirm
from provenmf.applications.fitting import at_hand, fit_matrix, found_fewer, simplex_weights
from provenmf.data import as_blocks
from provenmf.errors import InvalidInput
from provenmf.io.graphs import as_graph
from provenmf.linalg.nnls import simplex_least_squares
from provenmf.linalg.scaling import rows_to_sum_one
from provenmf.methods import methods
from provenmf.methods.traits import versions
from provenmf.methods.weights import encode
from provenmf.results import Factorization
from provenmf.results.error_bars import ErrorBars
from provenmf.results.factorization import with_estimates

# Memberships of all nodes, from single pure nodes or from corners averaged over many.

HowMemberships = Literal["scaled", "simplex", "floored"]
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Members:
    """Memberships (n, k), nodes that nothing is known of, and what averaging adds to them."""

    memberships: NDArray[np.float64]
    undetermined: NDArray[np.bool_]
    n_averaged: NDArray[np.intp] | None = None
    error_bars: ErrorBars | None = None


def worth_averaging(embedding: Embedding) -> tuple[bool, list[str]]:
    """Tell whether the eigenvectors describe enough nodes to average over, and a note if not."""
    described = len(embedding.kept) / len(embedding.vectors)
    if described >= LEAST_SHARE:
        return True, []
    return False, [
        f"the leading eigenvectors describe {described:.0%} of the nodes: each community rests on "
        "its pure node alone"
    ]


def averaged_members(
    adjacency: sp.csr_array,
    embedding: Embedding,
    plane: NDArray[np.float64],
    nodes: NDArray[np.intp],
    anchors: NDArray[np.intp],
) -> Members:
    """Return memberships on corners averaged over the nodes at them, with their error bars."""
    parts = adjacency, embedding.vectors, embedding.eigenvalues[:-1]
    corners, n_averaged, covariances = averaged_corners(*parts, nodes, anchors, plane)
    found, undetermined = memberships_in_plane(*parts[1:], corners, plane)
    model = NodeModel(*parts, plane, corners, covariances)
    bars = membership_error_bars(model, found, undetermined)
    return Members(found, undetermined, n_averaged, bars)


def memberships_of(
    vectors: NDArray[np.float64], pure: NDArray[np.intp], how: HowMemberships = "scaled"
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return memberships (n, k) of all nodes, and which nodes the eigenvectors do not reach."""
    corners = vectors[pure]
    found: NDArray[Any]
    if how == "simplex":
        found = simplex_least_squares(corners @ corners.T, vectors @ corners.T)
        unknown = np.linalg.norm(vectors, axis=1) <= ROUNDING
    else:
        found = np.linalg.lstsq(corners.T, vectors.T, rcond=None)[0].T
        if how == "scaled":
            found[found < ROUNDING] = 0.0
        else:
            found = np.maximum(found, np.finfo(np.float64).eps)
        unknown = found.sum(axis=1) == 0
        found = rows_to_sum_one(found)
    if unknown.any() and not unknown.all():
        found[unknown] = found[~unknown].mean(axis=0)
    return found, np.asarray(unknown)


# Rows of an embedding may be negative, and pure nodes are rows.
METHODS = (*methods(anchors=True, negative_data=True), "geo_nmf", "spoc")
DRAWN_NODES = 500


def find_communities(
    graph: object,
    n_communities: int | None = None,
    *,
    method: str = "spa",
    energy: float = 0.99,
    scale: bool = True,
    vertices: bool | Literal["auto"] = "auto",
    memberships: HowMemberships = "scaled",
    evidence: bool = True,
    random_state: int | np.random.RandomState | None = None,
    **options: Any,
) -> Communities:
    """Find communities and the memberships of every node.

    Parameters
    ----------
    graph : from `read_graph`, an adjacency matrix, or a networkx graph.
    n_communities : number of communities; None counts them from the spectrum of the graph.
    method : "spa", "merit", "fast_anchor", "fast_gradient", "geo_nmf" or "spoc".
    energy : look for pure nodes among the nodes with this share of the squared row norms.
    scale : whether to divide out the degrees before looking for pure nodes.
    vertices : whether corners are means of all nodes that lie at them within their noise, which
        is closer to the truth than one pure node each; memberships are then the nearest mixtures
        of the corners. "auto" does this unless the nodes with the share `energy` are less than half
        of all: the eigenvectors then describe only a few dense regions. Needs `scale`.
    memberships : without vertices, "scaled" solves V = M V[pure], sets negative entries to zero
        and scales rows to a sum of one; "floored" sets them to the machine epsilon instead of zero;
        "simplex" takes the nearest point of the simplex spanned by V[pure].
    evidence : whether to find the communities again in two halves of the nodes and judge each by
        the edges of the other half (see `provenmf.confirm`).
    random_state, options : passed to the method's estimator. "geo_nmf" is deterministic and has the
        option `spread`: pure nodes are at least 1 − spread times as long as the longest.

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
    check_choices(method, options, vertices, scale, memberships)
    if method == "spoc":
        method, energy, scale, memberships = "spa", 1.0, False, "floored"
    scale = scale and method != "geo_nmf"
    notes = list(graph.notes)
    if n_communities is None:
        n_communities = number_of_communities(graph.adjacency)
        notes.append(
            f"number of communities chosen from the spectrum (Bethe Hessian): {n_communities}; "
            "give the number if you know it"
        )
    embedding = embed(graph.adjacency, n_communities, energy=energy)
    notes += embedding.notes
    plane, nodes = node_plane(embedding, scale=scale)
    if method == "geo_nmf":
        factorization = _geo_nmf(graph.adjacency, embedding, options.get("spread", 0.75))
    else:
        given = {**simplex_weights(method), "random_state": random_state, **options}
        points = node_points(embedding, plane, nodes)
        factorization = fit_matrix(points, n_communities, method, given, argument="n_communities")
    assert factorization.anchors is not None  # every method here chooses rows
    pure = nodes[factorization.anchors]
    notes += found_fewer(factorization, n_communities, "communities")
    if vertices == "auto" and scale:
        vertices, note = worth_averaging(embedding)
        notes += note
    if vertices is True and len(pure) == n_communities:
        found = averaged_members(graph.adjacency, embedding, plane, nodes, factorization.anchors)
    else:
        found = Members(*memberships_of(embedding.vectors, pure, memberships))
    if found.error_bars is not None:
        factorization = with_estimates(factorization, found.error_bars, found.memberships)
    if found.undetermined.any():
        notes.append(
            f"the leading eigenvectors do not reach {np.count_nonzero(found.undetermined)} nodes; "
            "they get the mean memberships"
        )
    answer = Communities(
        factorization=factorization,
        notes=tuple(notes),
        pure_nodes=pure,
        node_names=graph.names,
        kept_nodes=nodes,
        eigenvalues=embedding.eigenvalues,
        settings=CommunitySettings(n_communities, energy, scale),
        edges=_edges(graph.adjacency) if len(graph.names) <= DRAWN_NODES else None,
        memberships=found.memberships,
        undetermined=found.undetermined,
        n_averaged=found.n_averaged,
        error_bars=found.error_bars,
    )
    return confirm(graph, answer) if evidence else answer


def check_choices(
    method: str, options: Mapping[str, Any], vertices: object, scale: bool, memberships: str
) -> None:
    """Refuse what does not exist or does not go together."""
    if method not in METHODS:
        raise InvalidInput(
            "does not find pure nodes",
            argument="method",
            value=method,
            remedy=f"choose one of {', '.join(METHODS)}",
        )
    known = {"spread", "callback", "certify", "on_interrupt"}
    refused = options.keys() - known if method == "geo_nmf" else set()
    if refused:
        raise InvalidInput(
            "has only the option spread",
            argument="method",
            value=method,
            remedy=f"leave out {', '.join(sorted(refused))}",
        )
    if vertices not in (True, False, "auto"):
        raise InvalidInput(
            "is unknown",
            argument="vertices",
            value=vertices,
            remedy='choose True, False or "auto"',
        )
    if vertices is True and (not scale or method in ("geo_nmf", "spoc")):
        raise InvalidInput(
            "needs the degrees divided out",
            argument="vertices",
            value=vertices,
            remedy="leave out {:scale=False}, and the methods spoc and geo_nmf",
        )
    if memberships not in get_args(HowMemberships):
        raise InvalidInput(
            "is unknown",
            argument="memberships",
            value=memberships,
            remedy=f"choose one of {', '.join(get_args(HowMemberships))}",
        )


def _geo_nmf(adjacency: sp.csr_array, embedding: Embedding, spread: float) -> Factorization:
    """Find pure nodes by GeoNMF; the factorization is that of the degree-scaled rows."""
    degrees = np.asarray(adjacency.sum(axis=1))[embedding.kept]
    scaled = embedding.vectors[embedding.kept] * np.sqrt(np.abs(embedding.eigenvalues[:-1]))
    blocks = as_blocks(scaled / np.sqrt(degrees)[:, None])
    solution = geo_nmf(blocks, scaled.shape[1], spread=spread)
    return Factorization(
        method="geo_nmf",
        weights=encode(blocks, solution.components),
        components=solution.components,
        anchors=solution.anchors,
        stop_reason=solution.stop_reason,
        versions=versions(),
    )


def _edges(adjacency: sp.csr_array) -> NDArray[np.int64]:
    upper = sp.coo_array(sp.triu(adjacency, k=1))
    return np.column_stack([upper.row, upper.col]).astype(np.int64)
