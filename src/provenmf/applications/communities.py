"""Communities of a graph: how much each node belongs to each of them.

Nguyen22, Section V-C; data points are nodes. V (n, k): eigenvectors of the adjacency with largest
|eigenvalue|. Under the mixed-membership model V = memberships @ V[pure nodes], so pure nodes are
anchors of the rows of V. They are sought among the nodes that hold 99 % of the squared length;
memberships of *all* nodes follow from V[anchors].

Nodes of real networks differ in degree, which multiplies their rows: the rows then fill a cone, and
a node of low degree lies inside although it is pure. With scaling, the pure nodes that SPA finds
give a plane p·v = 1 through the corners of the cone, and each row is divided by its p·v; rows with
less than 2 % are too uncertain to be pure nodes. Where the eigenvectors describe most of the nodes,
each corner is then the mean of all nodes that lie at it within their noise (`node_vertices.py`);
where they describe a few dense regions only, the pure nodes themselves are the corners.

Two methods for networks stand beside the general ones. "spoc" (Panov, Slavnov & Ushakov 2017) is
SPA on all rows of V, memberships raised to at least the machine epsilon before they are scaled.
"geo_nmf" (Mao, Sarkar & Chakrabarti 2017) seeks pure nodes among rows scaled by their degrees.

The Factorization is that of the solver on the kept rows of V, scaled or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.embedding import Embedding, embed
from provenmf.applications.fitting import at_hand, fit_matrix, found_fewer, simplex_weights
from provenmf.applications.node_errors import NodeModel, membership_error_bars
from provenmf.applications.node_vertices import (
    LEAST_SHARE,
    averaged_corners,
    memberships_in_plane,
    number_of_communities,
)
from provenmf.blocks import as_blocks
from provenmf.errors import InvalidInput
from provenmf.estimators import methods
from provenmf.estimators.provenance import versions
from provenmf.io.graphs import as_graph, read_graph
from provenmf.linalg.nnls import simplex_least_squares
from provenmf.metrics.communities import averaged_spearman
from provenmf.records import Factorization
from provenmf.records.answers import Answer, ReadOptions, Words, names_of_largest, shares
from provenmf.records.error_bars import ErrorBars
from provenmf.records.factorization import with_estimates
from provenmf.records.shapes import Shape
from provenmf.solvers.separable.geo_nmf import geo_nmf
from provenmf.solvers.separable.spa import spa
from provenmf.solvers.weights import encode

if TYPE_CHECKING:
    import pandas

HowMemberships = Literal["scaled", "simplex", "floored"]
# Rows of an embedding may be negative, and pure nodes are rows.
METHODS = (*methods(anchors=True, negative_data=True), "geo_nmf", "spoc")
LEAST_WEIGHT = 0.02
DRAWN_NODES = 500
ROUNDING = 1e-12


@dataclass(frozen=True)
class CommunitySettings:
    """What is needed, besides the graph, to build the factorized matrix again."""

    n_communities: int
    energy: float
    scale: bool


@dataclass(frozen=True, eq=False, repr=False)
class Communities(Answer):
    """Memberships of all nodes, and the node that stands for each community.

    Parameters
    ----------
    factorization, notes, component_names
        As in every `Answer`.
    memberships : ndarray of shape (nodes, k)
        How much each node belongs to each community; rows sum to one.
    pure_nodes : ndarray of shape (k,)
        The node chosen for each community.
    n_averaged : ndarray of shape (k,) or None
        How many nodes each corner is the mean of; None if the pure nodes are the corners.
    node_names : ndarray of shape (nodes,)
        Names of the nodes.
    undetermined : ndarray of shape (nodes,), bool
        Nodes about which the eigenvectors say nothing; their row is the mean one.
    kept_nodes : ndarray of shape (rows,)
        The nodes behind the rows of the factorization.
    eigenvalues : ndarray of shape (k + 1,)
        By size; the last one is the first left out, NaN if there is none.
    settings : CommunitySettings
        How the matrix was made.
    edges : ndarray of shape (edges, 2) or None
        Each edge once, low node first; only for graphs of up to 500 nodes.
    rank_correlation : float or None
        With known memberships, see `compared_with`.

    See Also
    --------
    find_communities : Makes one from a graph.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf.applications import find_communities
    >>> find_communities(np.kron(np.eye(2), np.ones((4, 4))), 2)
    Communities(2 communities of 8 nodes, method='spa')
    """

    kind: ClassVar[str] = "communities"
    words: ClassVar[Words] = Words(
        "Communities", "community", "node", "coordinate", "members with the largest shares"
    )

    memberships: Annotated[NDArray[np.float64], Shape("nodes", "k")]
    pure_nodes: Annotated[NDArray[np.intp], Shape("k", below="nodes")]
    node_names: Annotated[NDArray[np.str_], Shape("nodes")]
    undetermined: Annotated[NDArray[np.bool_], Shape("nodes")]
    kept_nodes: Annotated[NDArray[np.intp], Shape("rows", below="nodes")]
    eigenvalues: Annotated[NDArray[np.float64], Shape("eigenvalues")]
    settings: CommunitySettings
    edges: Annotated[NDArray[np.intp], Shape("edges", 2, below="nodes")] | None = None
    rank_correlation: float | None = None
    n_averaged: Annotated[NDArray[np.intp], Shape("k")] | None = None

    @property
    def weights(self) -> NDArray[np.float64]:
        """The same as `memberships`."""
        return self.memberships

    def tables(self) -> dict[str, pandas.DataFrame]:
        """An overview and the memberships; the coordinates of the communities mean nothing."""
        tables = super().tables()
        tables["memberships"] = tables.pop("node_weights")
        del tables["communities"]
        return tables

    @property
    def row_names(self) -> Sequence[str]:
        """Names of the nodes."""
        return [str(name) for name in self.node_names]

    @property
    def share(self) -> NDArray[np.float64]:
        """How much of all memberships each community has; sums to 1."""
        return shares(self.memberships)

    def anchor_name(self, component: int) -> str:
        """The pure node of a community."""
        return self.row_names[int(self.pure_nodes[component])]

    def largest(self, n: int = 10) -> list[list[str]]:
        """Members with the largest shares."""
        return names_of_largest(self.memberships.T, self.row_names, n)

    def scores(self) -> dict[str, float]:
        """Agreement with known memberships, where there are any."""
        if self.rank_correlation is None or np.isnan(self.rank_correlation):
            return {}
        meaning = "rank correlation with the known memberships (1 is best)"
        return {meaning: self.rank_correlation}

    def compared_with(self, memberships: Any) -> Communities:
        """The answer with its rank correlation with known memberships (nodes, k)."""
        if np.shape(memberships) != self.memberships.shape:
            raise InvalidInput(
                f"the known memberships have shape {np.shape(memberships)}, the found ones "
                f"{self.memberships.shape}: they must agree"
            )
        score = averaged_spearman(self.memberships, np.asarray(memberships))
        return replace(self, rank_correlation=float(score))

    def factorized(self) -> str:
        """Nodes as points."""
        rows, columns = len(self.factorization.weights), self.factorization.components.shape[1]
        return f"{rows:,} nodes as points in the coordinates of {columns} leading eigenvectors"

    def matrix_of(self, data: object) -> NDArray[np.float64]:
        """Nodes as points, from the graph."""
        settings = self.settings
        embedding = embed(as_graph(data).adjacency, settings.n_communities, energy=settings.energy)
        return node_points(embedding, *node_plane(embedding, scale=settings.scale))

    def read(self, path: Path, options: ReadOptions) -> Any:
        """A graph."""
        return read_graph(path, key=options.key)

    def transform(self, data: object) -> NDArray[np.float64]:
        """There is none: a new node changes the eigenvectors that all memberships rest on."""
        raise InvalidInput(
            "Communities has no transform: memberships rest on the eigenvectors of the whole "
            "graph; run find_communities on the graph with the new nodes"
        )


def find_communities(
    graph: object,
    n_communities: int | None = None,
    *,
    method: str = "spa",
    energy: float = 0.99,
    scale: bool = True,
    vertices: bool | Literal["auto"] = "auto",
    memberships: HowMemberships = "scaled",
    random_state: int | np.random.RandomState | None = None,
    **options: Any,
) -> Communities:
    """Find communities and the memberships of every node.

    Parameters
    ----------
    graph : from `read_graph`, an adjacency matrix, or a networkx graph.
    n_communities : how many; None counts those that the links show beyond chance.
    method : "spa", "merit", "fast_anchor", "fast_gradient", "geo_nmf" or "spoc".
    energy : pure nodes are sought among the nodes with this share of the squared row norms.
    scale : whether to divide out the degrees before pure nodes are sought.
    vertices : whether corners are means over all nodes that lie at them within their noise, which
        is closer to the truth than one pure node each; memberships are then the nearest mixtures
        of the corners. "auto" does so unless the nodes with the share `energy` are less than half
        of all: the eigenvectors then describe a few dense regions. Needs `scale`.
    memberships : without vertices, "scaled" solves V = M V[pure], sets negative entries to zero
        and scales rows to sum one; "floored" raises them to the machine epsilon instead of zero;
        "simplex" takes the nearest point of the simplex spanned by V[pure].
    random_state, options : passed to the method's estimator. "geo_nmf" is deterministic and has the
        option `spread`: pure nodes are at least 1 − spread as long as the longest.

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
            f"communities counted by the links beyond chance (Bethe Hessian): {n_communities}; "
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
            f"{np.count_nonzero(found.undetermined)} nodes are not reached by the leading "
            "eigenvectors; they get the mean memberships"
        )
    return Communities(
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


@dataclass(frozen=True, eq=False)
class Members:
    """Memberships (n, k), nodes that nothing is known of, and what averaging adds to them."""

    memberships: NDArray[np.float64]
    undetermined: NDArray[np.bool_]
    n_averaged: NDArray[np.intp] | None = None
    error_bars: ErrorBars | None = None


def worth_averaging(embedding: Embedding) -> tuple[bool, list[str]]:
    """Whether the eigenvectors describe enough nodes to average over, and a note if not."""
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
    """Memberships on corners averaged over the nodes at them, with their error bars."""
    parts = adjacency, embedding.vectors, embedding.eigenvalues[:-1]
    corners, n_averaged, covariances = averaged_corners(*parts, nodes, anchors, plane)
    found, undetermined = memberships_in_plane(*parts[1:], corners, plane)
    model = NodeModel(*parts, plane, corners, covariances)
    bars = membership_error_bars(model, found, undetermined)
    return Members(found, undetermined, n_averaged, bars)


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


def node_plane(
    embedding: Embedding, *, scale: bool
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The plane p·v = 1 that divides rows, zero if none does, and the nodes to search."""
    rows = embedding.vectors[embedding.kept]
    if not scale:
        return np.zeros(rows.shape[1]), embedding.kept
    anchors = spa(as_blocks(rows), rows.shape[1]).anchors
    assert anchors is not None  # SPA always chooses rows
    plane = np.linalg.lstsq(rows[anchors], np.ones(len(anchors)), rcond=None)[0]
    certain = embedding.kept[rows @ plane >= LEAST_WEIGHT]
    return plane.astype(np.float64), certain


def node_points(
    embedding: Embedding, plane: NDArray[np.float64], nodes: NDArray[np.intp]
) -> NDArray[np.float64]:
    """The matrix in which pure nodes are sought, a row for each of the nodes."""
    rows = embedding.vectors[nodes]
    return rows / (rows @ plane)[:, None] if plane.any() else rows


def _geo_nmf(adjacency: sp.csr_array, embedding: Embedding, spread: float) -> Factorization:
    """Pure nodes by GeoNMF; the factorization is that of the degree-scaled rows."""
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


def memberships_of(
    vectors: NDArray[np.float64], pure: NDArray[np.intp], how: HowMemberships = "scaled"
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Memberships (n, k) of all nodes, and which nodes the eigenvectors say nothing about."""
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
        sums = found.sum(axis=1, keepdims=True)
        unknown = sums[:, 0] == 0
        found = np.divide(found, sums, out=np.zeros_like(found), where=sums > 0)
    if unknown.any() and not unknown.all():
        found[unknown] = found[~unknown].mean(axis=0)
    return found, np.asarray(unknown)


def _edges(adjacency: sp.csr_array) -> NDArray[np.int64]:
    upper = sp.coo_array(sp.triu(adjacency, k=1))
    return np.column_stack([upper.row, upper.col]).astype(np.int64)
