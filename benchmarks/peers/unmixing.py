"""VCA and N-FINDR as their papers have them: pixels (n, bands), k and rng in, spectra out."""

from __future__ import annotations

import numpy as np


def leading(pixels, dimensions, *, centred):
    """Pixels in their leading singular directions, and the way back to the bands."""
    mean = pixels.mean(axis=0) if centred else np.zeros(pixels.shape[1])
    directions = np.linalg.eigh((pixels - mean).T @ (pixels - mean))[1][:, ::-1][:, :dimensions]
    return (pixels - mean) @ directions, lambda points: points @ directions.T + mean


def vca(pixels, k, rng):
    """Vertex component analysis, Nascimento & Bioucas-Dias 2005, at high signal to noise ratio.

    The projective branch of their Algorithm 1: rows divided by their product with the mean row;
    then k times the most extreme row along a random direction orthogonal to those chosen.
    """
    rows, back = leading(pixels, k, centred=False)
    along = rows @ rows.mean(axis=0)
    points = rows / np.where(along > 0, along, np.inf)[:, None]
    chosen = np.zeros((k, k))
    chosen[0, -1] = 1.0
    found = []
    for i in range(k):
        direction = rng.standard_normal(k)
        direction -= np.linalg.pinv(chosen) @ (chosen @ direction)
        found.append(int(np.abs(points @ direction).argmax()))
        chosen[i] = points[found[-1]]
    return back(rows[found])


def n_findr(pixels, k, rng, *, restarts=3):
    """N-FINDR, Winter 1999: exchange vertices for pixels as long as the simplex grows.

    Differs: the spectra are the pixels' projections, as in VCA, which are closer to the truth.
    """
    projected, back = leading(pixels, k - 1, centred=True)
    rows = np.column_stack([np.ones(len(projected)), projected])
    best = (0.0, None)
    for _ in range(restarts):
        chosen = rng.choice(len(rows), size=k, replace=False)
        volume = abs(np.linalg.det(rows[chosen]))
        grows = True
        while grows:
            grows = False
            for i in range(k):
                # The determinant is linear in row i: its gradient is the row of cofactors.
                others = np.delete(rows[chosen], i, axis=0)
                normal = np.linalg.svd(others)[2][-1]
                size = np.sqrt(abs(np.linalg.det(others @ others.T)))
                volumes = np.abs(rows @ normal) * size
                if volumes.max() > volume * (1 + 1e-9):
                    chosen[i], volume, grows = int(volumes.argmax()), volumes.max(), True
        if volume > best[0]:
            best = (volume, chosen.copy())
    return back(projected[best[1]])
