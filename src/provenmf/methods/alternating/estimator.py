"""HALS and ANLS as scikit-learn estimators."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.data import Block, Blocks, Rows
from provenmf.data.base import MappedBlocks
from provenmf.data.memory import ObservedBlocks, observed_entries
from provenmf.errors import DegenerateData, InvalidInput, warn_user
from provenmf.linalg.nnls import Constraint, Penalties, encoder
from provenmf.linalg.observed import weights_of_observed
from provenmf.linalg.storage import stored_values, without_negative
from provenmf.methods.alternating import guarantee
from provenmf.methods.alternating.guarantee import ObservedFit
from provenmf.methods.alternating.solver import anls, hals
from provenmf.methods.alternating.starts import Init, checked_known
from provenmf.methods.base import Factorizer
from provenmf.methods.traits import Count, NotNegative, Seed, Traits
from provenmf.results import Certificate, Factorization, Solution

PENALTIES = ("l1_weights", "l2_weights", "l1_components", "l2_components")


@dataclass(eq=False, repr=False, kw_only=True)
class AlternatingFactorizer(Factorizer):
    """Update weights and components in turn to minimize 1/2 ||X - weights @ components||_F^2.

    With penalties the objective is

        1/(2 n d) ||X - WC||_F^2 + 1/n (l1_weights ||W||_1 + 1/2 l2_weights ||W||_F^2)
                                 + 1/d (l1_components ||C||_1 + 1/2 l2_components ||C||_F^2).

    Entries that are NaN are missing; the sum of squares does not include them. `transform` solves
    each row on its observed entries, and a row that has none gets weights of zero. Data on disk
    with missing entries are read into memory.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of components; None takes what the start finds (init "cones" or "spa", or an array).
    init : str, array (k, d), pair of arrays (n, k), (k, d), or None, default=None
        Initialization: "cones", "spa", "merit", "random-rows", "random", "nndsvd",
        "nndsvda", given components, or given weights and components. None is "cones", or "spa" for
        unimodal components. With a name and large data, a sample of rows and columns is factorized
        first and its solution extended.
    known_components : array (m, d) or None, default=None
        Known components, at most `n_components`. They come first among the components and stay
        fixed (in the precision of the data); only the others are fitted.
    l1_weights, l2_weights, l1_components, l2_components : float, default=0.0
        Penalties in the objective above. Their effect does not depend on the number of rows:
        repeating all rows changes no component. Penalize both factors or none, since a penalty on
        one alone would only move scale to the other. With all components fixed, penalize the
        weights alone.
    constraint : {"nonnegative", "simplex"}, default="nonnegative"
        Constraint on the weights. "simplex" is closure: the weights of a row sum to one, as
        concentrations of a closed system do. It cannot be combined with missing entries.
    unimodal : bool, default=False
        Whether each component rises to one maximum and falls after it, as elution profiles do;
        columns are then times, and a named start is made among them instead of the rows. It cannot
        be combined with missing entries.
    unstored : {"zero", "missing"}, default="zero"
        What entries are that a sparse matrix does not store. "missing" suits ratings: the stored
        entries, zeros too, are the observed ones.
    clip_negative : bool, default=False
        Whether to set negative entries to zero, as in spectra below their baseline, and warn how
        much of the data they are; otherwise they are refused. The errors are those of the clipped
        data.
    max_iter : int, default=500
        Maximum number of iterations on the whole data; one updates weights and components.
    tol : float, default=0.0001
        Stop when ten iterations lower the relative error by less than this fraction of it.
    random_state, certify, verbose, callback, on_interrupt
        As in every estimator.

    Attributes
    ----------
    components_, n_components_, n_iter_, reconstruction_err_, trace_, certificate_, factorization_
        As in every estimator. The relative errors of `trace_` never increase.
    """

    def __init_subclass__(cls) -> None:
        """Insert the shared parameters into the docstrings of HALS and ANLS."""
        super().__init_subclass__()
        shared = inspect.cleandoc(AlternatingFactorizer.__doc__ or "")
        own, _, more = inspect.cleandoc(cls.__doc__ or "").partition("See Also\n")
        if "Parameters\n" in shared:  # python -OO drops docstrings
            parameters = shared[shared.index("Parameters\n") :]
            cls.__doc__ = f"{own}{parameters}\n\nSee Also\n{more}"

    traits = Traits(random="always", missing_values=True)
    _solver: ClassVar[Callable[..., Solution]]

    init: Init | None = None
    known_components: NDArray[np.floating] | None = None
    l1_weights: NotNegative = 0.0
    l2_weights: NotNegative = 0.0
    l1_components: NotNegative = 0.0
    l2_components: NotNegative = 0.0
    constraint: Constraint = "nonnegative"
    unimodal: bool = False
    unstored: Literal["zero", "missing"] = "zero"
    clip_negative: bool = False
    max_iter: Count = 500
    tol: NotNegative = 1e-4
    random_state: Seed = None

    def _usable(self, blocks: Blocks) -> Blocks:
        if self.clip_negative:
            blocks = _without_negative(blocks)
        missing = self.unstored == "missing" and not isinstance(blocks, ObservedBlocks)
        if blocks.is_sparse and missing:
            return self._without_missing(blocks)
        return super()._usable(blocks)

    def _without_missing(self, blocks: Blocks) -> Blocks:
        unstored = self.unstored == "missing"
        return super()._usable(ObservedBlocks(observed_entries(blocks.everything(), unstored)))

    @property
    def _penalties(self) -> Penalties:
        return Penalties(**{name: float(getattr(self, name)) for name in PENALTIES})

    @property
    def _weights_are_least_squares(self) -> bool:
        return not self._penalties.on_weights(1)

    def _gathered_bytes(self, blocks: Blocks) -> float:
        from_singular_vectors = isinstance(self.init, str) and self.init.startswith("nndsvd")
        gathered = from_singular_vectors or self.unimodal
        return 8.0 * blocks.stored_entries if gathered else 0.0

    def _solve(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        if isinstance(blocks, ObservedBlocks):
            for argument, no_constraint in (("constraint", "nonnegative"), ("unimodal", False)):
                if getattr(self, argument) != no_constraint:
                    raise InvalidInput(
                        "cannot be combined with missing entries",
                        argument=argument,
                        value=getattr(self, argument),
                        remedy="fill them, or leave {argument} out",
                    )
            _warn_of_empty_columns(blocks)
        wanted = self._number_wanted(blocks.n_rows)
        known = self.known_components
        if known is not None:
            known = checked_known(known, blocks.n_columns, wanted)
        all_known = known is not None and len(known) == wanted
        _check_both_penalised(self._penalties, all_known=all_known)
        init = ("spa" if self.unimodal else "cones") if self.init is None else self.init
        more = {"init": init, "penalties": self._penalties, "known": known, "rng": rng}
        return self._call(type(self)._solver, blocks, wanted, **more)

    def _encoder(self, blocks: Blocks, components: NDArray[Any]) -> Callable[[Block], NDArray[Any]]:
        penalty = self._penalties.on_weights(blocks.n_columns)
        return encoder(components, blocks.dtype, self.constraint, penalty)

    def _encode(self, blocks: Blocks, components: NDArray[Any]) -> NDArray[Any]:
        if isinstance(blocks, ObservedBlocks):
            penalty = self._penalties.on_weights(blocks.n_columns)
            return weights_of_observed(blocks.entries, components, penalty)
        return super()._encode(blocks, components)

    def _final_weights(self, blocks: Blocks, solution: Solution) -> Rows:
        if isinstance(blocks, ObservedBlocks):
            return blocks.place(self._encode(blocks, solution.components))
        return super()._final_weights(blocks, solution)

    def _measured(
        self,
        blocks: Blocks,
        factorization: Factorization,
        rows: Rows | None = None,
        **options: Any,
    ) -> Fit:
        if isinstance(blocks, ObservedBlocks):
            return ObservedFit(blocks, factorization, **options | {"products": False})
        return super()._measured(blocks, factorization, rows, **options)

    def _statements(self, fit: Fit) -> Certificate:
        if isinstance(fit, ObservedFit):
            return guarantee.certify_observed(fit, self._penalties)
        return super()._statements(fit)

    def _certify(self, fit: Fit) -> Certificate:
        return guarantee.certify(fit, self._penalties, unimodal=self.unimodal)


def _without_negative(blocks: Blocks) -> Blocks:
    """Return blocks with negative entries set to zero, and warn how much they were."""
    count, size, total = blocks.map_reduce(_negative_part)
    if not count or not np.isfinite(total):  # what is not finite is refused later
        return blocks
    share = count / (blocks.n_rows * blocks.n_columns)
    warn_user(
        DegenerateData(
            f"{int(count)} negative entries ({share:.2g} of all, with {size / total:.2g} of the "
            "absolute sum) were set to zero"
        )
    )
    return MappedBlocks(blocks, without_negative)


def _negative_part(block: Block) -> NDArray[np.float64]:
    """Return the number of negative entries, their absolute sum, and that of all entries."""
    values = stored_values(block).astype(np.float64)
    below = values[values < 0]
    return np.array([len(below), -below.sum(), np.nansum(np.abs(values))])


def _warn_of_empty_columns(blocks: ObservedBlocks) -> None:
    empty = int(np.count_nonzero(np.diff(blocks.by_column.indptr) == 0))
    if empty:
        columns = "1 column has" if empty == 1 else f"{empty} columns have"
        warn_user(
            DegenerateData(
                f"{columns} no observed entry: what the components have there says nothing; leave "
                "such columns out"
            )
        )


def _check_both_penalised(penalties: Penalties, *, all_known: bool) -> None:
    """Raise an error for a penalty on one factor alone, which rescaling would evade."""
    on_weights, on_components = bool(penalties.on_weights(1)), bool(penalties.on_components(1))
    if on_weights == on_components or (all_known and not on_components):
        return
    one, other = ("weights", "components") if on_weights else ("components", "weights")
    raise InvalidInput(
        f"only the {one} are penalised, so that they would shrink and the {other} grow for ever: "
        f"set l1_{other} or l2_{other} too"
    )


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
