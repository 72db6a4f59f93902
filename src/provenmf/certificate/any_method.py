"""Certify what holds for every factorization, whatever method found it."""

from __future__ import annotations

from provenmf.certificate import optimality, stability, uniqueness
from provenmf.certificate.measurement import Fit
from provenmf.results import Certificate


def certify(fit: Fit) -> Certificate:
    """Certify how near the error is to the best, whether parts are unique and weights stable."""
    return optimality.certify(fit).join(uniqueness.certify(fit)).join(stability.certify(fit))
