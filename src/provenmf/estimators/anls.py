"""Alternating nonnegative least squares as a scikit-learn estimator."""

from provenmf.estimators.alternating import AlternatingFactorizer
from provenmf.solvers.anls import anls


class ANLS(AlternatingFactorizer):
    """Alternating nonnegative least squares, block principal pivoting (Kim & Park 2011).

    Solves for either factor exactly in turn, with extrapolation (Ang & Gillis 2019). There is no
    bound on the error; `certificate_` says how nearly the result is stationary.
    Parameters and attributes are those of `AlternatingFactorizer`.
    """

    _method = "anls"
    _solver = staticmethod(anls)
