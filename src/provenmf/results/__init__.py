"""The records that flow out of a fit: Factorization, Answer, Trace, Certificate, Check.

All of them are frozen. A solver returns a `Solution`; the estimator adds weights and a
certificate and makes it a `Factorization`, which saves to one file and loads back equal.
An application wraps it in a subclass of `Answer`.
"""

from provenmf.results.answers import Answer, as_answer
from provenmf.results.certificate import (
    Certificate,
    Check,
    Direction,
    Measure,
    Status,
    in_digits,
)
from provenmf.results.estimates import ErrorBars
from provenmf.results.factorization import Factorization, Solution, StopReason, Trace
from provenmf.results.states import MethodState

__all__ = [
    "Answer",
    "Certificate",
    "Check",
    "Direction",
    "ErrorBars",
    "Factorization",
    "Measure",
    "MethodState",
    "Solution",
    "Status",
    "StopReason",
    "Trace",
    "as_answer",
    "in_digits",
]
