"""The answer of `find_communities`: memberships, pure nodes, and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.communities.embedding import embed, node_plane, node_points
from provenmf.errors import InvalidInput, MissingExtra
from provenmf.io.graphs import as_graph, read_graph
from provenmf.metrics.matching import averaged_spearman
from provenmf.results.answers import Answer, ReadOptions, Words, shares
from provenmf.results.states import Shape

if TYPE_CHECKING:
    import pandas

FAINT = 0.05  # a smaller share makes no member


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
    scaled : bool
        Whether degrees were divided out before pure nodes were sought.
    edges : ndarray of shape (edges, 2) or None
        Each edge once, low node first; only for graphs of up to 500 nodes.
    rank_correlation : float or None
        With known memberships, see `compared_with`.
    memberships_from : str
        "eigenvectors"; "shares" of a node's links; or "labels": half of a membership is the node's
        likeliest community, the other half the share of its links there.

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
    scaled: bool = True
    edges: Annotated[NDArray[np.intp], Shape("edges", 2, below="nodes")] | None = None
    rank_correlation: float | None = None
    n_averaged: Annotated[NDArray[np.intp], Shape("k")] | None = None
    memberships_from: str = "eigenvectors"

    @property
    def found_by(self) -> str:
        """Source of the memberships: the likelihood of the links, or the method."""
        spectral = self.memberships_from == "eigenvectors"
        return self.factorization.method if spectral else "likelihood of the links"

    @property
    def weights(self) -> NDArray[np.float64]:
        """The same as `memberships`."""
        return self.memberships

    def tables(self) -> dict[str, pandas.DataFrame]:
        """Return an overview and the memberships as tables."""
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
        """Share of each community in all memberships; sums to 1."""
        return shares(self.memberships)

    def anchor_name(self, component: int) -> str:
        """Return the pure node of a community."""
        return self.row_names[int(self.pure_nodes[self._place(component)])]

    def largest(self, n: int = 10) -> list[list[str]]:
        """Return members with the largest shares; see `largest_members`."""
        return [[self.row_names[i] for i in members] for members in self.largest_members(n)]

    def largest_members(self, n: int = 10) -> list[NDArray[np.intp]]:
        """Return at most n nodes of each community, those with the largest shares first.

        Of shares within 1 %, that of the node with most links comes first. Nodes that hardly
        belong to the community are left out.
        """
        shares = self.memberships.round(2)
        edges = np.empty(0, np.intp) if self.edges is None else self.edges.ravel()
        degrees = np.bincount(edges, minlength=len(shares))
        ranked = [np.lexsort((-degrees, -column))[:n] for column in shares.T]
        return [nodes[own[nodes] >= min(FAINT, own.max())] for nodes, own in zip(ranked, shares.T)]

    def scores(self) -> dict[str, float]:
        """Return the agreement with known memberships, where there are any."""
        if self.rank_correlation is None or np.isnan(self.rank_correlation):
            return {}
        meaning = "rank correlation with the known memberships (1 is best)"
        return {meaning: self.rank_correlation}

    def compared_with(self, memberships: Any) -> Communities:
        """Return the answer with its rank correlation with known memberships (nodes, k)."""
        if np.shape(memberships) != self.memberships.shape:
            raise InvalidInput(
                f"the known memberships have shape {np.shape(memberships)}, the found ones "
                f"{self.memberships.shape}: they must agree"
            )
        score = averaged_spearman(self.memberships, np.asarray(memberships))
        return replace(self, rank_correlation=float(score))

    def to_cdlib(self, graph: Any) -> Any:
        """Return the memberships as a `cdlib.FuzzyNodeClustering` of the graph; needs cdlib.

        Parameters
        ----------
        graph : networkx.Graph
            The graph that the communities were found in.
        """
        try:
            from cdlib import FuzzyNodeClustering
        except ImportError as error:
            raise MissingExtra("to_cdlib needs cdlib: pip install cdlib") from error
        nodes = list(graph)
        if [str(node) for node in nodes] != self.row_names:
            raise InvalidInput("the graph has other nodes: give the one of find_communities")
        main = self.memberships.argmax(axis=1)
        members = [
            [nodes[i] for i in np.flatnonzero(main == number)]
            for number in range(self.n_components)
        ]
        allocation = {
            node: {number: float(share) for number, share in enumerate(row) if share > 0}
            for node, row in zip(nodes, self.memberships)
        }
        return FuzzyNodeClustering(members, allocation, graph, "provenmf", overlap=True)

    def factorized(self) -> str:
        """Describe the factorized matrix: nodes as points."""
        rows, columns = len(self.factorization.weights), self.factorization.components.shape[1]
        return f"{rows:,} nodes as points in the coordinates of {columns} leading eigenvectors"

    def matrix_of(self, data: object) -> NDArray[np.float64]:
        """Return nodes as points, from the graph."""
        embedding = embed(as_graph(data).adjacency, len(self.eigenvalues) - 1)
        return node_points(embedding, *node_plane(embedding, scale=self.scaled))

    def read(self, path: Path, options: ReadOptions) -> Any:
        """Read a graph."""
        return read_graph(path, key=options.key)

    def transform(self, data: object) -> NDArray[np.float64]:
        """Raise an error: a new node changes the eigenvectors behind all memberships."""
        raise InvalidInput(
            "Communities has no transform: memberships rest on the eigenvectors of the whole "
            "graph; run find_communities on the graph with the new nodes"
        )
