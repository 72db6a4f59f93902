"""Hierarchical alternating least squares as a scikit-learn estimator."""

from provenmf.estimators.alternating import AlternatingFactorizer
from provenmf.solvers.alternating.hals import hals


class HALS(AlternatingFactorizer):
    """Accelerated hierarchical alternating least squares (Gillis & Glineur 2012).

    Sweeps over the columns of each factor in turn, with extrapolation (Ang & Gillis 2019). There is
    no bound on the error; `certificate_` says how close the result is to a stationary point.

    See Also
    --------
    ANLS : solves for each factor exactly.
    PoissonNMF : for counts.
    sklearn.decomposition.NMF : the same objective by coordinate descent.

    References
    ----------
    Gillis, N. and Glineur, F., "Accelerated multiplicative updates and hierarchical ALS algorithms
    for nonnegative matrix factorization", Neural Computation, 2012.

    Ang, A. M. S. and Gillis, N., "Accelerating nonnegative matrix factorization algorithms using
    extrapolation", Neural Computation, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import HALS
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((60, 3)) @ rng.random((3, 20))
    >>> model = HALS(n_components=3, random_state=0).fit(X)
    >>> bool(model.certificate_.measures["relative_error"] < 0.05)
    True
    """

    _method = "hals"
    _solver = staticmethod(hals)
