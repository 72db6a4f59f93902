"""Hierarchical alternating least squares as a scikit-learn estimator."""

from provenmf.estimators.alternating import AlternatingFactorizer
from provenmf.solvers.hals import hals


class HALS(AlternatingFactorizer):
    """Accelerated hierarchical alternating least squares (Gillis & Glineur 2012).

    Sweeps over the columns of either factor, with extrapolation (Ang & Gillis 2019). There is no
    bound on the error; `certificate_` says how nearly the result is stationary.
    Parameters and attributes are those of `AlternatingFactorizer`.
    """

    _method = "hals"
    _solver = staticmethod(hals)
