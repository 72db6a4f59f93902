"""Endmembers exchanged for rows that explain the pixels better.

Divided by its sum, a dark spectrum is as long as any other: what is hardly there at all, such as a
shore in the shade, may have a more extreme shape than a material that covers half the scene. The
search by shape names candidates, a few for each material. As in N-FINDR (Winter 1999) endmembers
are exchanged for candidates one by one, but what must fall is the squared error of the pixels, at
their own brightness, when abundances are nonnegative and sum to one; the volume of the simplex, for
which N-FINDR looks, grows with noise and odd pixels. An exchange must be worth a tenth of the
error: shape decides unless the pixels clearly contradict.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from provenmf.linalg.nnls import simplex_least_squares

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

CANDIDATES = 4  # rows to try for each material
WORTH = 0.1  # an exchange must lower the squared error by this share


def exchanged(rows: Floats, sizes: NDArray[np.intp], shapes: Floats, chosen: Rows) -> Rows:
    """The chosen rows, exchanged for candidates as long as that is worth it.

    Parameters
    ----------
    rows : (n, bands), each counted as often as sizes (n,) says.
    shapes : (n, bands), the rows divided by their sums.
    chosen : (k,) of the rows.
    """
    # Elimination with pivots takes the row farthest from the span of the earlier ones, as SPA does.
    candidates = qr(shapes.T, mode="r", pivoting=True)[1][: CANDIDATES * len(chosen)]
    pool = np.concatenate([chosen, np.setdiff1d(candidates, chosen)])
    gram, products = rows[pool] @ rows[pool].T, rows @ rows[pool].T
    total = float(sizes @ np.einsum("ij,ij->i", rows, rows))

    def error(places: Rows) -> float:
        inner, beside = gram[np.ix_(places, places)], products[:, places]
        weights = simplex_least_squares(inner, beside)
        gained = np.einsum("ij,ij->i", weights, 2 * beside - weights @ inner)
        return total - float(sizes @ gained)

    places = np.arange(len(chosen))
    least = error(places)
    place = 0
    tried = 0  # how many places were tried since the last exchange
    while tried < len(places):
        trials = [
            np.where(np.arange(len(places)) == place, new, places)
            for new in np.setdiff1d(np.arange(len(pool)), places)
        ]
        errors = [error(trial) for trial in trials]
        tried += 1
        if errors and min(errors) < (1 - WORTH) * least:
            least, places = min(errors), trials[int(np.argmin(errors))]
            tried = 0
        place = (place + 1) % len(places)
    return pool[places]
