"""What is said about every factorization, whatever method found it."""

from __future__ import annotations

from provenmf.certificate import optimality, stability, uniqueness
from provenmf.certificate.measurement import Fit
from provenmf.results import Certificate


def certify(fit: Fit, *, thorough: bool = False) -> Certificate:
    """How near the error is to the best possible, whether parts are unique and weights stable.

    `thorough` looks for other parts of many components too, which takes seconds.
    """
    unique = uniqueness.certify(fit, thorough=thorough)
    return optimality.certify(fit).join(unique).join(stability.certify(fit))
