"""What parameters may be, and the one place that touches scikit-learn's private validation.

Its descriptions of legal values give the same messages as scikit-learn's own estimators; should
a release move them, only this file changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    StrOptions,
    validate_parameter_constraints,
)

from provenmf.errors import InvalidInput, Naming, as_in_python

__all__ = ["AT_LEAST_ONE", "CONSTRAINT", "NOT_NEGATIVE", "POSITIVE", "Interval", "StrOptions"]

AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
CONSTRAINT = StrOptions({"nonnegative", "simplex"})


class InvalidParameter(InvalidInput, InvalidParameterError):
    """A parameter of an estimator cannot be used; in Python it reads as scikit-learn puts it."""

    def __init__(self, text: str, argument: str | None = None, value: object = None) -> None:
        self._text = text
        legal = text.split(" must be ")[-1].rsplit(". Got ", 1)[0]
        super().__init__(f"must be {legal}", argument=argument, value=value)

    def sentence(self, naming: Naming = as_in_python) -> str:
        """scikit-learn's sentence, or one with the name that the reader knows."""
        return self._text if naming is as_in_python else super().sentence(naming)


def validate_parameters(estimator: BaseEstimator, constraints: Mapping[str, object]) -> None:
    """Refuse the first parameter that is not among its legal values."""
    for name, value in estimator.get_params(deep=False).items():
        try:
            validate_parameter_constraints(constraints, {name: value}, type(estimator).__name__)
        except InvalidParameterError as error:
            raise InvalidParameter(str(error), name, value) from None
