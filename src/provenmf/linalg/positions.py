"""Places on a plane: points by their distances, nodes of a graph by their edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def flat_positions(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points on a plane (n, 2) whose distances are near the given ones (n, n).

    Classical scaling (Torgerson 1952): leading eigenvectors of the doubly centred squares.
    """
    n = len(distances)
    centring = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    lengths = np.sqrt(np.maximum(values[::-1][:2], 0.0))
    positions = np.zeros((n, 2))
    leading = vectors[:, ::-1][:, :2]
    signs = np.sign(leading[np.abs(leading).argmax(axis=0), np.arange(leading.shape[1])])
    positions[:, : leading.shape[1]] = leading * (lengths * signs)[: leading.shape[1]]
    return positions


def spring_positions(
    start: NDArray[np.float64], edges: NDArray[np.integer], *, steps: int = 120
) -> NDArray[np.float64]:
    """Nodes drawn together by edges and pushed apart by each other, from a start (n, 2).

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
