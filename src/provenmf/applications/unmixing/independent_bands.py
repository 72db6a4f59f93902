"""Bands of a cube of which none follows from the others.

A band may be stored twice, or be the sum or the mean of others, exactly or rounded. Exact ones show
in elimination. Where a band follows but for rounding, its noise is nearly that of other bands: the
correlation of the two, given all other bands, is near one. Several bands in a row that were
interpolated and rounded leave others whose noise is only alike; these are not told apart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

Floats = NDArray[np.float64]

ROUNDING = 1e-12  # of the largest step of elimination, and of cosines
# Correlation of two bands' noise beyond which they are one band, rounded. Cubes of the model have
# up to .97 (12 bands, 4 materials); rounding by a seventh of the noise gives .99.
SAME = 0.99


def number_of_copies(alike: Floats) -> int:
    """Bands that are multiples of an earlier one; alike : the bands' cosines."""
    return int(np.count_nonzero(np.tril(alike > 1.0 - ROUNDING, -1).any(axis=1)))


def independent_bands(alike: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Bands of which none follows from the others, and all bands as combinations (kept, bands).

    alike : the bands' cosines. Elimination takes the band that the earlier ones explain least,
    until they explain all but rounding.
    """
    _, upper, order = qr(alike, mode="economic", pivoting=True)
    steps = np.abs(np.diag(upper))
    rank = int(np.count_nonzero(steps > ROUNDING * steps[0]))
    kept = without_copies(alike, np.sort(order[:rank]))
    if len(kept) == len(alike):
        return kept, np.eye(len(alike))
    return kept, np.asarray(np.linalg.solve(alike[np.ix_(kept, kept)], alike[kept]), np.float64)


def without_copies(alike: Floats, bands: NDArray[np.intp]) -> NDArray[np.intp]:
    """The bands without those that follow from others but for rounding.

    Of the bands whose noise is another's, the one goes without which the others are least alike.
    """
    precision: Floats = np.asarray(np.linalg.inv(alike[np.ix_(bands, bands)]), np.float64)
    while len(bands) > 2:
        same = correlations(precision) > SAME
        involved = np.flatnonzero(same.any(axis=1))
        if not len(involved):
            break
        left = [without(precision, band) for band in involved.tolist()]
        best = int(np.argmin([np.sum(correlations(rest) ** 2) for rest in left]))
        precision, bands = left[best], np.delete(bands, involved[best])
    return bands


def without(precision: Floats, band: int) -> Floats:
    """The inverse of the moments when a band is left out: a Schur complement."""
    rest = np.delete(np.arange(len(precision)), band)
    beside = precision[rest, band]
    kept = precision[np.ix_(rest, rest)]
    return np.asarray(kept - np.multiply.outer(beside, beside) / precision[band, band])


def correlations(precision: Floats) -> Floats:
    """Of each two bands given all others, without their signs; zero on the diagonal."""
    roots = np.sqrt(np.abs(np.diag(precision)))  # below zero by rounding alone
    found = np.abs(precision) / np.multiply.outer(roots, roots)
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)
