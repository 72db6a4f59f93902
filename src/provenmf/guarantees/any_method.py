"""What is said about every factorization, whatever method found it."""

from __future__ import annotations

from provenmf.guarantees import optimality, stability, uniqueness
from provenmf.guarantees.fit import Fit
from provenmf.records import Certificate


def certify(fit: Fit) -> Certificate:
    """How near the error is to the best possible, whether parts are unique and weights stable."""
    unique = uniqueness.certify(fit)
    return optimality.certify(fit).join(unique).join(stability.certify(fit))
