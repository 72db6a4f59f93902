"""Alternating nonnegative least squares as a scikit-learn estimator."""

from provenmf.estimators.alternating import AlternatingFactorizer
from provenmf.solvers.alternating.anls import anls


class ANLS(AlternatingFactorizer):
    """Alternating nonnegative least squares, block principal pivoting (Kim & Park 2011).

    Solves for each factor exactly in turn, with extrapolation (Ang & Gillis 2019). There is no
    bound on the error; `certificate_` says how close the result is to a stationary point.

    See Also
    --------
    HALS : cheaper iterations.

    References
    ----------
    Kim, J. and Park, H., "Fast nonnegative matrix factorization: an active-set-like method and
    comparisons", SIAM Journal on Scientific Computing, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import ANLS
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((60, 3)) @ rng.random((3, 20))
    >>> model = ANLS(n_components=3, random_state=0).fit(X)
    >>> bool(model.certificate_.measures["relative_error"] < 0.05)
    True
    """

    _method = "anls"
    _solver = staticmethod(anls)
