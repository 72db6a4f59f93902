"""Where parts are not unique: another factorization of the same product, drawn beside the found."""

from __future__ import annotations

import numpy as np

from provenmf.certificate.ambiguity import other_factors
from provenmf.report import figures
from provenmf.report.elements import Chart, Element
from provenmf.report.matrix import evenly
from provenmf.results import Factorization

TURNS = "component_turn_degrees"
POINTS = 500  # of a component; more cannot be told apart on a screen


def other_parts(fit: Factorization) -> list[Element]:
    """The component that turned farthest, as found and in the other factorization.

    It is computed here from the factors themselves; nothing is drawn where none is found.
    """
    if fit.certificate is None or TURNS not in fit.certificate.measures:
        return []
    if (fit.weights < 0).any() or (fit.components < 0).any():
        return []
    others = other_factors(fit.weights, fit.components)
    if others is None:
        return []
    found, moved = (
        rows / np.linalg.norm(rows, axis=1, keepdims=True)
        for rows in (np.asarray(fit.components, dtype=np.float64), others[1])
    )
    turned = int(np.argmin((found * moved).sum(axis=1)))
    places = evenly(found.shape[1], POINTS)
    series = [
        (f"component {turned + 1} as found", places + 1, found[turned, places]),
        ("in another factorization", places + 1, moved[turned, places]),
    ]
    figure = figures.Lines(series, "column", "entry, at unit length", dotted=[series[1][0]])
    caption = (
        "Both curves belong to nonnegative factors with the same product, so the data cannot "
        "distinguish them. The chart shows the component that could be turned farthest."
    )
    return [Chart("Other parts with the same product", figure, caption)]
