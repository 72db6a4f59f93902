"""Communities: who belongs where, and how much; a map of memberships with the edges drawn in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.communities import Communities
from provenmf.report import figures, matrix
from provenmf.report.elements import Bar, Card, Cards, Chart, Element, Paragraph
from provenmf.report.matrix import evenly

NODES_DRAWN = 500
EDGES_DRAWN = 4000
NAMED_NODES = 40
MEMBERS = 10


def found(answer: Communities) -> list[Element]:
    """Return the elements of the first tab."""
    memberships = answer.memberships
    mixed = f"{float(np.mean(memberships.max(axis=1) < 0.9)):.0%}"
    summary = f"{answer.n_components} communities among {len(memberships):,} nodes. "
    if answer.memberships_from == "labels":  # half of the share is the label
        summary += (
            f"Each node has one main community; {mixed} of the nodes have more than a fifth of "
            "their links elsewhere."
        )
    else:
        summary += (
            f"{mixed} of the nodes belong to several communities: their largest share is below 90%."
        )
    names = list(answer.component_names)
    corners, everyone = circle(len(names)), np.arange(len(memberships))
    between = matrix.map_between(
        answer,
        "Map of memberships",
        corners,
        names,
        everyone,
        most=NODES_DRAWN,
        height=540,
    )
    return [
        Paragraph(summary),
        Cards(
            "Communities",
            [_card(answer, community) for community in matrix.by_size(answer)],
            "The largest community first, with the members that have the largest shares. "
            f"A star marks {_star(answer)}.",
        ),
        *_network(answer),
        *([between] if len(names) > 1 else []),
    ]


def _card(answer: Communities, community: int) -> Card:
    member = answer.memberships[:, community]
    order = answer.largest_members(MEMBERS)[community]
    anchor = int(answer.pure_nodes[community])
    if anchor not in order:
        order = np.append(order, anchor)
    bars = [
        Bar(answer.node_names[i], f"{member[i]:.2f}", float(member[i]), marked=i == anchor)
        for i in order
    ]
    main = int(np.sum(answer.memberships.argmax(axis=1) == community))
    text = f"{answer.share[community]:.1%} of all memberships, main community of {main:,} nodes"
    return Card(answer.component_names[community], text, bars, component=community + 1)


def _star(answer: Communities) -> str:
    if answer.memberships_from != "eigenvectors":
        return "the node with the largest share, of several the one with most links"
    if answer.n_averaged is None:
        return "the node that represents the community: in the model it belongs to no other"
    return "the node from which the search for the community started"


def _network(answer: Communities) -> list[Element]:
    """Draw the graph where it is small enough, without nodes that have no edge."""
    edges = np.empty((0, 2), dtype=np.intp) if answer.edges is None else answer.edges
    linked, places = np.unique(edges, return_inverse=True)
    edges = places.reshape(-1, 2)
    edges = edges[edges[:, 0] != edges[:, 1]]
    if not len(edges) or len(linked) > NODES_DRAWN:
        return []
    rng = np.random.default_rng(0)  # only to part equal nodes
    members = answer.memberships[linked]
    start = members @ circle(answer.n_components) / 2
    positions = spring_positions(start + rng.normal(scale=0.05, size=start.shape), edges)
    few = len(linked) <= NAMED_NODES
    figure = figures.Network(
        positions,
        edges[evenly(len(edges), EDGES_DRAWN)],  # more cannot be told apart
        [matrix.hover(answer, int(i), answer.component_names) for i in linked],
        members.argmax(axis=1),
        list(answer.component_names),
        labels=[str(answer.node_names[i]) for i in linked] if few else (),
    )
    caption = (
        "Nodes with many links in common are near each other. The colour of a node is its main "
        "community."
    )
    return [Chart("The network", figure, caption, height=620)]


def circle(n: int) -> NDArray[np.float64]:
    """Return n corners of a regular polygon, the first on top."""
    angle = np.pi / 2 - 2 * np.pi * np.arange(n) / n
    return np.column_stack([np.cos(angle), np.sin(angle)])


def spring_positions(
    start: NDArray[np.float64], edges: NDArray[np.integer], *, steps: int = 120
) -> NDArray[np.float64]:
    """Place nodes so that edges pull them together and nodes push each other apart.

    Forces of Fruchterman & Reingold (1991). An edge pulls less where its ends have many, or
    hubs would draw everything into one spot; a weak pull to the middle keeps parts without a
    connection on the page. Movements shrink to zero; no chance is involved.
    """
    n = len(start)
    places = np.array(start, dtype=np.float64)
    spacing = 1.0 / np.sqrt(max(n, 1))
    first, second = np.asarray(edges).reshape(-1, 2).T
    degree = np.bincount(np.concatenate([first, second]), minlength=n)
    strength = 3.0 / np.sqrt(degree[first] * degree[second])
    for step in range(steps):
        apart = places[:, None] - places[None, :]
        squares = np.maximum((apart**2).sum(axis=2), 1e-6)
        force = (apart * (spacing**2 / squares)[:, :, None]).sum(axis=1)
        along = places[first] - places[second]
        pull = along * (strength * np.linalg.norm(along, axis=1) / spacing)[:, None]
        np.add.at(force, first, -pull)
        np.add.at(force, second, pull)
        force -= places
        size = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-12)
        places += force / size * np.minimum(size, 0.1 * (1 - step / steps))
    return places
