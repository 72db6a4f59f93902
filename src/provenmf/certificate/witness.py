"""Exhibit other fits of the same data: how well they fit, and how different their parts are.

That parts cannot move without changing the product says nothing of other products. Another fit of
the same rank with nearly the same error and with other parts shows, without any assumption, how
little the data tell the parts apart. Where it comes from does not matter: it is measured here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from provenmf.certificate.measurement import Fit
from provenmf.linalg.scaling import unit_rows
from provenmf.results import Certificate, Check, Measure, in_digits
from provenmf.results.certificate import rounded_down, rounded_up

NAME, THEOREM = "other fits have these parts", "exhibition"
NOTICEABLE = 5.0  # degrees of a part from all parts of another fit
CLOSE = 0.01  # share by which the error of another fit may be larger and still count as close


def certify(fit: Fit, others: Sequence[Fit]) -> Certificate:
    """Compare the parts of a fit with those of others whose error is at most 1 % larger.

    Parameters
    ----------
    fit : Fit
        The fit that is certified.
    others : sequence of Fit
        Other fits of the same data, of any method, with as many components.
    """
    seen = [(excess(fit, other), turned(fit, other)) for other in others]
    near = [(more, degrees) for more, degrees in seen if more <= CLOSE]
    if not near or fit.norm == 0:
        note = "none of the other fits has an error that is at most 1 % larger"
        return Certificate(fit.method, (Check(NAME, THEOREM, "unknown", note=note),))
    more, degrees = max(near, key=lambda one: float(one[1].max()))
    largest, part = float(degrees.max()), int(degrees.argmax()) + 1
    measures: dict[str, Measure] = {
        "other_fit_excess": more,
        "other_fit_turn_degrees": tuple(degrees.tolist()),
    }
    if largest < NOTICEABLE:
        words = (
            f"Each part is within {rounded_up(largest)} degrees of a part of every other fit that "
            f"was compared ({len(near)})."
        )
        check = Check(NAME, THEOREM, "holds", largest, NOTICEABLE, in_words=words)
        return Certificate(fit.method, (check,), measures=measures)
    error = f"{rounded_up(100 * more)} % larger" if more > 0 else "no larger"
    words = (
        f"Another fit has an error that is {error}, and none of its parts is within "
        f"{rounded_down(largest, 2)} degrees of part {part}: the data alone do not fix it."
    )
    note = f"angle of a part to the nearest one of another fit; {in_digits(more)} more error"
    check = Check(NAME, THEOREM, "fails", largest, NOTICEABLE, note, in_words=words)
    return Certificate(fit.method, (check,), measures=measures)


def excess(fit: Fit, other: Fit) -> float:
    """Return by which share the error of another fit is larger at most, with rounding."""
    most = other.relative_error + other.error_rounding
    least = max(fit.relative_error - fit.error_rounding, np.finfo(np.float64).tiny)
    return float(most / least - 1)


def turned(fit: Fit, other: Fit) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the angle of each part to the nearest part of another fit, in degrees.

    By half the chord, which is accurate for small angles too.
    """
    own, theirs = unit_rows(fit.given_components), unit_rows(other.given_components)
    chords = np.linalg.norm(own[:, None] - theirs[None], axis=2).min(axis=1)
    return np.asarray(np.degrees(2 * np.arcsin(np.minimum(chords / 2, 1.0))))
