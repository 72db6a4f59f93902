"""Repairs of components that AND's update cannot or can hardly correct.

* `refit_facets`: a component that contains a little of another one;
* `restart`: a component that is dependent on the others, or that no row uses;
* `project_to_span`: a start with a part outside the span of the data.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Blocks
from provenmf.linalg.norms import first_largest, inverse_where_positive
from provenmf.methods.and_descent.kernels import (
    DEPENDENT,
    Array,
    StageSums,
    decoder_of,
    leading_span,
    squared_residuals,
)
from provenmf.methods.separable.anchors import dense_row

TIE = 1e-9  # scores that differ by less than this share of the largest are equal


def refit_facets(
    components: Array, decoder: Array, sums: StageSums, watched: NDArray[np.intp]
) -> Array:
    """Return the components after refitting the decoders of the watched ones.

    Where AND stalls, one component contains a little of another, a_j = a*_j + e a*_i, and few rows
    show it: only in them the decoded weight of i is negative (e > 0), or a spurious weight of i
    exceeds the threshold in all rows of j and so confirms itself (e < 0). The least-squares update
    corrects e by the share of such rows in a stage, however small.

    But all rows with weight zero for component i lie in a hyperplane whose normal is the decoder of
    i, and there are many of them. We take the rows whose decoded weight is below the threshold, fit
    r_i ≈ Σ_l e_l r_l to them, and subtract the fit. This needs only sums over rows, hence no extra
    pass. In the row space of the components the new decoder is pinv(components) @ exchange, so the
    new components are exchange⁻¹ @ components. `decoder` is the one the sums were taken with.
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
    if singular[-1] < 1e-6 * singular[0]:  # nearly singular: the refits contradict each other
        return components
    return np.linalg.solve(exchange, components).astype(np.float64, copy=False)


def refitted_decoder_column(
    component: int, facet_gram: Array, below: Array, squares: Array
) -> Array:
    """Return f such that Σ_l f_l r_l is the decoded weight of `component` after the refit.

    Minimises Σ (r_i − Σ_{l≠i} e_l r_l)² over the rows below the threshold; f = unit vector − e.
    `squares` are the sums of r_l² over all rows: what is left of them below the threshold may be
    rounding only, and scaling that to one would let rounding decide.
    """
    others = np.delete(np.arange(len(facet_gram)), component)
    gram, target = facet_gram[np.ix_(others, others)], below[others]
    present = np.where(np.diag(gram) > 1e-12 * squares[others], np.diag(gram), 0.0)
    inverse = inverse_where_positive(np.sqrt(present))
    scaled = gram * np.multiply.outer(inverse, inverse)
    fit = inverse * np.linalg.lstsq(scaled, inverse * target, rcond=1e-12)[0]
    column = np.zeros(len(facet_gram))
    column[component] = 1.0
    column[others] = -fit
    return column


def most_dependent(components: Array, decoder: Array) -> int:
    """Return the component that the others explain best.

    Its length times the length of its decoder is largest; of those that are equal but for
    rounding, as two that explain each other are, the first.
    """
    lengths = np.linalg.norm(components, axis=1)
    if not lengths.all():
        return int(np.argmin(lengths))
    products = lengths * np.linalg.norm(decoder, axis=0)
    return first_largest(products, TIE * float(products.max()))


def restart(blocks: Blocks, components: Array, row_scales: Array, component: int) -> Array:
    """Replace one component by the row that the others explain worst; one pass.

    The row's part outside the span of the others is what is missing; the row itself is used, as at
    the start.
    """
    others = np.delete(components, component, axis=0)
    squares = squared_residuals(blocks, others, row_scales)
    row = first_largest(squares, TIE * float(squares.max()))
    fresh = components.copy()
    candidate = dense_row(blocks, row) * row_scales[row]
    size = np.abs(candidate).sum()
    usual_size = np.abs(others).sum(axis=1).mean() if len(others) else 1.0
    if size > 0:
        fresh[component] = candidate * (usual_size / size)
    return fresh


def project_to_span(blocks: Blocks, start: Array, row_scales: Array) -> Array:
    """Project the start (k, d) onto the k leading right singular vectors of the scaled rows.

    Rows are mixtures of the k true components plus noise, so these vectors span nearly the same
    space. What a start has outside of it is error: Li17, Definition 2, calls it N and asks that it
    be small. If the projection makes the rows dependent, as on data of lower rank, the start is
    returned unchanged.
    """
    span = leading_span(blocks, len(start), row_scales)
    projected = start @ span.T @ span
    lengths = np.linalg.norm(projected, axis=1)
    if not lengths.all() or decoder_of(projected / lengths[:, None])[1] < DEPENDENT:
        return start
    return projected
