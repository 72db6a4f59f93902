"""What parameters may be, and the one place that touches scikit-learn's private validation.

Its descriptions of legal values give the same messages as scikit-learn's own estimators; should
a release move them, only this file changes.
"""

from numbers import Integral, Real

from sklearn.utils._param_validation import Interval, StrOptions

__all__ = ["AT_LEAST_ONE", "NOT_NEGATIVE", "POSITIVE", "CONSTRAINT", "Interval", "StrOptions"]

AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
CONSTRAINT = StrOptions({"nonnegative", "simplex"})
