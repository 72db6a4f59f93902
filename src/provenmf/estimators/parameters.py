"""The one place that touches scikit-learn's private parameter validation.

Its descriptions of legal values give the same messages as scikit-learn's own estimators; should
a release move them, only this file changes.
"""

from sklearn.utils._param_validation import Interval, StrOptions

__all__ = ["Interval", "StrOptions"]
