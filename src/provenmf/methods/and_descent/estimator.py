"""AND as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Real
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.data import Blocks
from provenmf.errors import InvalidInput
from provenmf.methods.alternating.starts import Init, start_components
from provenmf.methods.and_descent import guarantee
from provenmf.methods.and_descent.kernels import DEPENDENT, decoder_of
from provenmf.methods.and_descent.solver import Schedule, StageRule, and_descent
from provenmf.methods.base import Factorizer, check_n_components
from provenmf.methods.traits import Count, Interval, NotNegative, Positive, Seed, Traits
from provenmf.results import Certificate, Solution


@dataclass(eq=False, repr=False, kw_only=True)
class AND(Factorizer):
    """Alternating nonnegative gradient descent (Li & Liang 2017).

    Model: each row is a nonnegative combination of the components, whose own entries may have any
    sign; the weights of a row are sparse or at least uneven, and may be strongly correlated.
    Started near the true components, AND converges to them, up to order and scale.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of components; None lets init="spa" or "cones" find the number.
    init : str or array (k, d), default="spa"
        Initialization: "spa", rows found by successive projection; "cones", cone NMF;
        "random-rows", as in the paper's runs on real data; any other start of `HALS`; or given
        components of any sign, which the adaptive schedule first projects onto the leading right
        singular vectors of the data.
    schedule : {"adaptive", "paper", "theorem-4"}, default="adaptive"
        How the threshold falls. "paper": alpha/decay^j in stage j = 1, 2, …. "adaptive": as fast as
        the decoded weights allow, never below the noise; dead components are restarted; where it
        comes to rest early, as on dense weights, "paper" runs too and the better result is taken.
        "theorem-4": alpha first, then the threshold of Theorem 4 with q = 1.
    alpha : float, default=0.1
        First threshold of schedule="paper".
    decay : float, default=1.1
        Factor by which the threshold falls in each stage of schedule="paper".
    n_steps : int or None, default=None
        T of the paper: gradient steps in a stage, taken in closed form; the paper takes 50. None
        goes to their limit.
    step_size : float or None, default=None
        η of the paper, on sums over the rows; not used with n_steps=None. None is 0.5/k as in the
        authors' code, or 1/‖ZᵀZ‖₂ in a stage where 0.5/k would diverge.
    scale_rows : bool, default=True
        Divide each row, and each component during the iterations, by the sum of its absolute
        entries; at the end, components are scaled to the median of the rows' sums. Thresholds are
        then meaningful for data of any scale, and nonnegative rows are mixtures whose weights sum
        to one. False uses data and start unchanged, as the paper does.
    max_iter : int, default=300
        Maximum number of stages; each is one pass over the data. The paper has 200.
    tol : float, default=1e-10
        Stop when no component moves by more than this share of its length in a stage.
    random_state, certify, verbose, callback, on_interrupt
        As in every estimator.

    Attributes
    ----------
    components_, n_components_, n_iter_, reconstruction_err_, trace_, certificate_, factorization_
        As in every estimator. `trace_` has per stage: alpha, support, movement, error, watched,
        restarts, seconds.

    See Also
    --------
    Purification : alternating updates for independent weights and adversarial noise.
    HALS : least squares without a model.

    References
    ----------
    Li, Y. and Liang, Y., "Provable alternating gradient descent for non-negative matrix
    factorization with strong correlations", ICML 2017.

    Examples
    --------
    Documents that mix three topics, none of them pure.

    >>> from provenmf import AND
    >>> from provenmf.datasets.and_descent import sample_dirichlet, topic_components
    >>> topics = topic_components(n_components=3, n_columns=12, random_state=0)
    >>> sample = sample_dirichlet(200, topics, random_state=1)
    >>> model = AND(n_components=3).fit(sample.data)
    >>> bool(model.reconstruction_err_ < 1e-8)
    True
    """

    _method = "and_descent"
    traits = Traits(
        negative_data=True,
        advised=3,
        # Li17, B.3: from random rows, rows as they are. The default, made for data of its model,
        # chases the noise of real documents and images (benchmarks/EXPERIMENTS.md).
        on_real_data={
            "init": "random-rows",
            "schedule": "paper",
            "n_steps": 50,
            "scale_rows": False,
            "max_iter": 200,
        },
    )

    init: Init = "spa"
    schedule: Schedule = "adaptive"
    alpha: Positive = 0.1
    decay: Annotated[float, Interval(Real, 1, None, closed="left")] = 1.1
    n_steps: Count | None = None
    step_size: Positive | None = None
    scale_rows: bool = True
    max_iter: Count = 300
    tol: NotNegative = 1e-10
    random_state: Seed = None

    def _start(self, blocks: Blocks, rng: np.random.Generator) -> NDArray[np.floating]:
        """Return the components to start from, at most as many as rows or columns."""
        wanted = self._number_wanted(min(blocks.shape), "rows or columns of X")
        start = start_components(blocks, wanted, self.init, rng)
        if not isinstance(self.init, str):
            check_n_components(len(start), min(blocks.shape), "rows or columns of X")
            require_independent(start, "init")
        return start

    def _solve(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        names = [field.name for field in fields(StageRule) if hasattr(self, field.name)]
        given = {name: getattr(self, name) for name in names}
        rule = StageRule(**given, project_start=not isinstance(self.init, str))
        return self._call(and_descent, blocks, self._start(blocks, rng), rule=rule)

    def _certify(self, fit: Fit) -> Certificate:
        return guarantee.certify(fit)


def require_independent(rows: NDArray[np.floating], name: str) -> None:
    """Refuse rows that are zero or linearly dependent; `name` is the argument they came in."""
    lengths = np.linalg.norm(np.asarray(rows, dtype=np.float64), axis=1)
    zero = np.flatnonzero(lengths == 0)
    if zero.size:
        raise InvalidInput(f"{name} has a zero row ({zero[0]}): every component needs a direction")
    _, independence = decoder_of(rows / lengths[:, None])
    if independence < DEPENDENT:
        raise InvalidInput(
            f"{name} has linearly dependent rows (smallest over largest singular value of the unit "
            f"rows: {independence:.1e}): pass independent components"
        )
