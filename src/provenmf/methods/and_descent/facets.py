"""Refit the decoder of a component that the feature update can hardly move.

Where AND stalls, one feature contains a little of another, a_j = a*_j + e a*_i, and the rows that
show it are few: only in them the decoded weight of i is negative (e > 0), or a spurious weight of
i exceeds the threshold in all rows of j and so confirms itself (e < 0). The least-squares update
corrects e by the share of such rows in a stage, however small that share is.

Seen from the other side the same rows are plenty. All rows with weight zero for component i lie in
a hyperplane, and the decoder of i is its normal. We take the rows whose decoded weight is below
the threshold and fit r_i ≈ Σ_l e_l r_l to them; subtracting the fit turns the normal into place.
Nothing but sums over rows is needed, so this costs no pass of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.linalg.scaling import inverse_where_positive
from provenmf.methods.and_descent.sums import StageSums

Array = NDArray[np.float64]

# The exchange of decoder columns is given up if it is this close to singular.
SINGULAR = 1e-6
# Sums of squares over some rows below this share of those over all rows are taken for rounding.
ABSENT = 1e-12


def refitted_decoder_column(
    component: int, facet_gram: Array, below: Array, squares: Array
) -> Array:
    """Coefficients f with Σ_l f_l r_l the decoded weight of `component` after the refit.

    Minimises Σ (r_i − Σ_{l≠i} e_l r_l)² over the rows below the threshold; f = unit vector − e.
    `squares` are the sums of r_l² over all rows: what is left of them below the threshold may be
    rounding only, and scaling that to one would let rounding decide.
    """
    others = np.delete(np.arange(len(facet_gram)), component)
    gram, target = facet_gram[np.ix_(others, others)], below[others]
    present = np.where(np.diag(gram) > ABSENT * squares[others], np.diag(gram), 0.0)
    inverse = inverse_where_positive(np.sqrt(present))
    scaled = gram * np.multiply.outer(inverse, inverse)
    fit = inverse * np.linalg.lstsq(scaled, inverse * target, rcond=1e-12)[0]
    column = np.zeros(len(facet_gram))
    column[component] = 1.0
    column[others] = -fit
    return column


def with_refitted_facets(
    components: Array, decoder: Array, sums: StageSums, watched: NDArray[np.intp]
) -> Array:
    """Components after the decoders of the watched ones are replaced by their refits.

    `decoder` (d, k) is the one the sums were taken with. In the row space of the components the
    new decoder is pinv(components) @ exchange, so the new components are exchange⁻¹ @ components.
    """
    exchange = np.eye(len(components))
    for position, component in enumerate(watched):
        column = refitted_decoder_column(
            component,
            sums.facet_grams[position],
            sums.below[:, component],
            np.diag(sums.raw_gram),
        )
        seen = components @ (decoder @ column)
        if seen[component] > 0:
            exchange[:, component] = seen / seen[component]
    singular = np.linalg.svd(exchange, compute_uv=False)
    if singular[-1] < SINGULAR * singular[0]:
        return components
    return np.linalg.solve(exchange, components).astype(np.float64, copy=False)
