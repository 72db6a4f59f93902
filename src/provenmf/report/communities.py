"""Communities: who belongs where, and how much; a map of memberships with the edges drawn in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.records import Factorization
from provenmf.report import figures
from provenmf.report.elements import Bar, Card, Cards, Chart, Element, Paragraph
from provenmf.report.naming import component_names, names_of, scores
from provenmf.report.topics import shares

NODES_DRAWN = 400
EDGES_DRAWN = 2500
MEMBERS = 10


def found(result: Factorization) -> list[Element]:
    """The elements of the first tab."""
    memberships = rows_to_shares(result.weights)
    nodes = names_of(result, "node_names", len(memberships), "node")
    names = component_names(result, "Community")
    mixed = float(np.mean(memberships.max(axis=1) < 0.9)) if len(memberships) else 0.0
    summary = (
        f"{result.n_components} communities among {len(memberships):,} nodes"
        + (f" and {len(result.extras['edges']):,} edges" if "edges" in result.extras else "")
        + f". {mixed:.0%} of the nodes belong to more than one (no community has 90 % of them)."
    )
    return [
        Paragraph(summary),
        Cards(
            "Communities",
            [_card(result, c, memberships, nodes, names) for c in range(result.n_components)],
            "The members with the largest shares; among equals those with most edges come first. "
            "A star marks the pure node that represents the community.",
        ),
        *_map(result, memberships, nodes, names),
        _heat_map(memberships, nodes, names),
        *scores(result),
    ]


def rows_to_shares(weights: NDArray[Any]) -> NDArray[np.float64]:
    """Rows scaled to sum 1; a zero row stays zero."""
    weights = np.maximum(np.asarray(weights, dtype=np.float64), 0)
    total = weights.sum(axis=1, keepdims=True)
    return weights / np.where(total > 0, total, 1.0)


def degrees(result: Factorization) -> NDArray[np.int64]:
    """Edges at each node, zero where the record holds no edges."""
    edges = result.extras.get("edges")
    if edges is None or not len(edges):
        return np.zeros(len(result.weights), dtype=np.int64)
    return np.bincount(np.ravel(edges), minlength=len(result.weights))


def _card(
    result: Factorization,
    community: int,
    memberships: NDArray[np.float64],
    nodes: list[str],
    names: list[str],
) -> Card:
    member = memberships[:, community]
    order = np.lexsort((-degrees(result), -member.round(3)))[:MEMBERS]
    anchor = None
    if result.anchors is not None and len(result.anchors) == result.n_components:
        anchor = int(result.anchors[community])
        if anchor not in order and anchor < len(nodes):
            order = np.append(order, anchor)
    bars = [Bar(nodes[i], f"{member[i]:.2f}", float(member[i]), marked=i == anchor) for i in order]
    share = shares(memberships)[community]
    main = int(np.sum(memberships.argmax(axis=1) == community))
    return Card(names[community], f"{share:.1%} of all memberships, main one of {main:,}", bars)


def circle(n: int) -> NDArray[np.float64]:
    """n corners of a regular polygon, the first on top."""
    angle = np.pi / 2 - 2 * np.pi * np.arange(n) / max(n, 1)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _map(
    result: Factorization,
    memberships: NDArray[np.float64],
    nodes: list[str],
    names: list[str],
) -> list[Element]:
    """Each node between the corners of its communities, as near to each as it belongs to it."""
    if result.n_components < 2:
        return []
    degree = degrees(result)
    drawn = np.sort(np.argsort(-degree, kind="stable")[:NODES_DRAWN])
    corners = circle(result.n_components)
    rng = np.random.default_rng(0)  # only to keep equal nodes from hiding each other
    positions = memberships[drawn] @ corners + rng.normal(scale=0.035, size=(len(drawn), 2))
    place = np.full(len(nodes), -1)
    place[drawn] = np.arange(len(drawn))
    edges = place[np.asarray(result.extras.get("edges", np.empty((0, 2), dtype=int)))]
    edges = edges[(edges >= 0).all(axis=1)]
    if len(edges) > EDGES_DRAWN:
        edges = edges[np.linspace(0, len(edges) - 1, EDGES_DRAWN).astype(int)]
    hover = [figures.plain(nodes[i]) + "<br>" + _mixture(memberships[i], names) for i in drawn]
    caption = (
        "A node stands between the corners of its communities, nearer to those it belongs to "
        "more; its colour is its main community."
    )
    if len(drawn) < len(nodes):
        caption += f" Drawn: the {len(drawn)} nodes with most edges."
    figure = figures.network(
        positions, edges, hover, memberships[drawn].argmax(axis=1), corners, names
    )
    return [Chart("Map of memberships", figure, caption, height=600, narrow=True)]


def _mixture(row: NDArray[np.float64], names: list[str]) -> str:
    largest = [c for c in np.argsort(-row, kind="stable")[:4] if row[c] > 0.005]
    return "<br>".join(f"{figures.plain(names[c])} {row[c]:.0%}" for c in largest) or "none"


def _heat_map(memberships: NDArray[np.float64], nodes: list[str], names: list[str]) -> Chart:
    """Nodes sorted by main community, then by how pure they are; a sample if there are many."""
    order = np.lexsort((-memberships.max(axis=1), memberships.argmax(axis=1)))
    caption = "Each row is a node, each column a community; rows are sorted by main community."
    if len(order) > NODES_DRAWN:
        order = order[np.linspace(0, len(order) - 1, NODES_DRAWN).astype(int)]
        caption += f" Shown: every {len(memberships) // NODES_DRAWN}th node of this order."
    figure = figures.heat_map(
        memberships[order],
        [nodes[i] for i in order],
        names,
        value_label="membership",
        largest=1.0,
        show_rows=len(order) <= 30,
    )
    return Chart("Memberships", figure, caption, height=520)
