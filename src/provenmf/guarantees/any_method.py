"""What is said about every factorization, whatever method found it."""

from __future__ import annotations

from provenmf.guarantees import optimality, uniqueness
from provenmf.guarantees.fit import Fit
from provenmf.records import Certificate


def certify(fit: Fit) -> Certificate:
    """How near the error is to the best possible, and whether the parts are unique."""
    return optimality.certify(fit).join(uniqueness.certify(fit))
