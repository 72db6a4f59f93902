"""What estimators share that choose rows as anchors and may average the rows around them."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from provenmf.certificate.measurement import Fit
from provenmf.data import Blocks, RowArray
from provenmf.data.parts import Parts
from provenmf.errors import InvalidInput
from provenmf.methods.base import Factorizer
from provenmf.methods.interruption import OnInterrupt
from provenmf.methods.parameters import (
    AT_LEAST_ONE,
    CONSTRAINT,
    NOT_NEGATIVE,
    POSITIVE,
    Interval,
    StrOptions,
)
from provenmf.methods.run import Callback
from provenmf.methods.separable import guarantee as separable
from provenmf.methods.separable.fast_anchor import fast_anchor
from provenmf.methods.separable.fast_gradient import fast_gradient
from provenmf.methods.separable.spa import spa
from provenmf.methods.separable.vertices import at_vertices
from provenmf.methods.separable.xray import Variant, xray
from provenmf.methods.traits import Traits
from provenmf.methods.weights import Constraint
from provenmf.results import Certificate, Solution


class AnchorFactorizer(Factorizer):
    """Base of methods whose components are anchors, or with `vertices` means of rows around them.

    A subclass gives `_anchors_of` in place of `_solve`, and says in which sense rows are mixtures.

    Parameters
    ----------
    vertices, row_errors
        As in every estimator.
    """

    _parameter_constraints: ClassVar[dict[str, object]] = {
        **Factorizer._parameter_constraints,
        "vertices": ["boolean"],
        "row_errors": ["array-like", None],
    }

    vertices: bool
    row_errors: ArrayLike | None

    @property
    def _looks_at_scaled_rows(self) -> bool:
        """Whether the anchors are sought among rows divided by their sums."""
        return bool(getattr(self, "scale_rows", False))

    @property
    def _sums_below_one(self) -> bool:
        """Whether the weights of a row may sum to less than one."""
        return False

    def _anchors_of(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        """Find the anchors."""
        raise NotImplementedError  # every method has its own

    def _solve(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        if self.row_errors is not None and not self.vertices:
            raise InvalidInput(
                "says how vertices are averaged, but no vertices are asked for",
                argument="row_errors",
                remedy="set vertices=True, or leave it out",
            )
        solution = self._anchors_of(blocks, rng)
        if not self.vertices:
            return solution
        averaged, n_members = at_vertices(
            blocks,
            solution,
            self.row_errors,
            scale_rows=self._looks_at_scaled_rows,
            with_origin=self._sums_below_one,
        )
        listed = ", ".join(str(max(1, number)) for number in n_members.tolist())
        note = f"The components are vertices: means of {listed} rows around the anchors"
        return replace(averaged, notes=(*solution.notes, note))


# Successive projection as a scikit-learn estimator.


class SPA(AnchorFactorizer):
    """Successive projection (Gillis & Vavasis 2014): take the longest row, project it out, repeat.

    Model: a few rows of the data are anchors, and every row is a mixture of them, with nonnegative
    weights that sum to at most one. Data may be negative; the anchors are then still found, and the
    factors are those of a simplex-structured factorization rather than of NMF.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of anchors; None stops at the largest drop of the residual (see the state's `drop`).
    scale_rows : bool, default=False
        Look for anchors among the rows scaled to a sum of one. For nonnegative data whose weights
        can be of any size, such as counts.
    constraint : {"nonnegative", "simplex"}, default="nonnegative"
        Constraint on the weights.
    vertices, row_errors, certify, verbose, callback, on_interrupt
        As in every estimator.

    Attributes
    ----------
    anchors_ : array (k,)
        Rows of the data that became the components or lie at them, in order of choice.
    components_, n_components_, n_iter_, reconstruction_err_, trace_, certificate_, factorization_
        As in every estimator.

    See Also
    --------
    XRAY : for weights of any size.
    FastAnchor : farthest from the affine span instead of the linear one.
    MERIT : all anchors at once, more robust against noise.

    References
    ----------
    Gillis, N. and Vavasis, S. A., "Fast and robust recursive algorithms for separable nonnegative
    matrix factorization", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2014.

    Examples
    --------
    The last two rows mix the first two.

    >>> import numpy as np
    >>> from provenmf import SPA
    >>> X = np.array([[4.0, 0.0], [0.0, 3.0], [2.0, 1.5], [1.0, 2.25]])
    >>> SPA(n_components=2).fit(X).anchors_.tolist()
    [0, 1]
    """

    _method = "spa"
    traits = Traits(negative_data=True, finds_number=True, anchors=True, random="never", advised=1)
    _parameter_constraints: ClassVar[dict[str, object]] = {
        **AnchorFactorizer._parameter_constraints,
        "scale_rows": ["boolean"],
        "constraint": [CONSTRAINT],
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        scale_rows: bool = False,
        constraint: Constraint = "nonnegative",
        vertices: bool = False,
        row_errors: ArrayLike | None = None,
        certify: bool = True,
        verbose: int = 0,
        callback: Callback | None = None,
        on_interrupt: OnInterrupt = "raise",
    ) -> None:
        self.n_components = n_components
        self.scale_rows = scale_rows
        self.constraint = constraint
        self.vertices = vertices
        self.row_errors = row_errors
        self.certify = certify
        self.verbose = verbose
        self.callback = callback
        self.on_interrupt = on_interrupt

    @property
    def _sums_below_one(self) -> bool:
        return self.constraint == "nonnegative" and not self.scale_rows

    def _anchors_of(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        return spa(
            blocks,
            self._number_wanted(blocks.n_rows),
            scale_rows=self.scale_rows,
            callback=self.callback,
            verbose=self.verbose,
        )

    def _certify(self, fit: Fit) -> Certificate:
        return separable.certify_spa(fit, scale_rows=self.scale_rows)


# FastAnchorWords as a scikit-learn estimator.


class FastAnchor(AnchorFactorizer):
    """FastAnchor (Arora et al. 2013): take the row farthest from the affine span of those chosen.

    Model: every row is a convex combination of a few rows of the data. Apart from the choice of
    the first anchor, the result does not change when all rows are shifted by the same vector. Data
    may be negative.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of anchors; None stops at the largest drop of the distance.
    refine : bool, default=True
        Do a second round that searches for each anchor again, given the others.
    scale_rows : bool, default=False
        Look for anchors among the rows scaled to a sum of one (for counts, such as co-occurrences).
    n_projections : int or None, default=None
        Look for anchors after projection onto this many random directions.
    constraint : {"simplex", "nonnegative"}, default="simplex"
        Constraint on the weights.
    random_state : int, RandomState instance or None, default=None
        For the random directions.
    vertices, row_errors, certify, verbose, callback, on_interrupt
        As in every estimator.

    Attributes
    ----------
    anchors_ : array (k,)
        Rows of the data that became the components or lie at them, in order of choice.
    components_, n_components_, n_iter_, reconstruction_err_, trace_, certificate_, factorization_
        As in every estimator.

    See Also
    --------
    SPA : the same with the linear span.
    MERIT : all anchors at once.

    References
    ----------
    Arora, S. et al., "A practical algorithm for topic modeling with provable guarantees", ICML
    2013.

    Examples
    --------
    Corners of a triangle and its middle; where the origin lies does not matter.

    >>> import numpy as np
    >>> from provenmf import FastAnchor
    >>> X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0], [4 / 3, 1.0]])
    >>> sorted(FastAnchor(n_components=3).fit(X - 1.0).anchors_.tolist())
    [0, 1, 2]
    """

    _method = "fast_anchor"
    traits = Traits(negative_data=True, finds_number=True, anchors=True)
    _parameter_constraints: ClassVar[dict[str, object]] = {
        **AnchorFactorizer._parameter_constraints,
        "refine": ["boolean"],
        "scale_rows": ["boolean"],
        "n_projections": [AT_LEAST_ONE, None],
        "constraint": [CONSTRAINT],
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        refine: bool = True,
        scale_rows: bool = False,
        n_projections: int | None = None,
        constraint: Constraint = "simplex",
        random_state: int | np.random.RandomState | None = None,
        vertices: bool = False,
        row_errors: ArrayLike | None = None,
        certify: bool = True,
        verbose: int = 0,
        callback: Callback | None = None,
        on_interrupt: OnInterrupt = "raise",
    ) -> None:
        self.n_components = n_components
        self.refine = refine
        self.scale_rows = scale_rows
        self.n_projections = n_projections
        self.constraint = constraint
        self.random_state = random_state
        self.vertices = vertices
        self.row_errors = row_errors
        self.certify = certify
        self.verbose = verbose
        self.callback = callback
        self.on_interrupt = on_interrupt

    def _anchors_of(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        return fast_anchor(
            blocks,
            self._number_wanted(blocks.n_rows),
            refine=self.refine,
            scale_rows=self.scale_rows,
            n_projections=self.n_projections,
            rng=rng,
            callback=self.callback,
            verbose=self.verbose,
        )

    def _certify(self, fit: Fit) -> Certificate:
        return separable.certify_fast_anchor(fit, scale_rows=self.scale_rows)


# XRAY as a scikit-learn estimator.


class XRAY(AnchorFactorizer):
    """Extreme rays of the cone of the data (Kumar, Sindhwani & Kambadur 2013).

    Model: every row is a nonnegative combination, of any size, of a few rows of the data.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of anchors; None stops at the largest drop of the residual.
    variant : {"max", "rand", "dist", "greedy"}, default="max"
        How the row that is explained next is chosen. "max" and "rand" are linear in the rows;
        "dist" and "greedy" compare all pairs of rows.
    random_state : int, RandomState instance or None, default=None
        For "rand".
    vertices, row_errors, certify, verbose, callback, on_interrupt
        As in every estimator.

    Attributes
    ----------
    anchors_ : array (k,)
        Rows of the data that became the components or lie at them, in order of choice.
    components_, n_components_, n_iter_, reconstruction_err_, trace_, certificate_, factorization_
        As in every estimator.

    See Also
    --------
    SPA : faster, for weights that sum to at most one.

    References
    ----------
    Kumar, A., Sindhwani, V. and Kambadur, P., "Fast conical hull algorithms for near-separable
    non-negative matrix factorization", ICML 2013.

    Examples
    --------
    Rows of any length that combine the first two.

    >>> import numpy as np
    >>> from provenmf import XRAY
    >>> X = np.array([[4.0, 0.0], [0.0, 3.0], [20.0, 15.0], [0.2, 0.1]])
    >>> sorted(XRAY(n_components=2).fit(X).anchors_.tolist())
    [0, 1]
    """

    _method = "xray"
    traits = Traits(finds_number=True, anchors=True)
    _parameter_constraints: ClassVar[dict[str, object]] = {
        **AnchorFactorizer._parameter_constraints,
        "variant": [StrOptions({"rand", "max", "dist", "greedy"})],
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        variant: Variant = "max",
        random_state: int | np.random.RandomState | None = None,
        vertices: bool = False,
        row_errors: ArrayLike | None = None,
        certify: bool = True,
        verbose: int = 0,
        callback: Callback | None = None,
        on_interrupt: OnInterrupt = "raise",
    ) -> None:
        self.n_components = n_components
        self.variant = variant
        self.random_state = random_state
        self.vertices = vertices
        self.row_errors = row_errors
        self.certify = certify
        self.verbose = verbose
        self.callback = callback
        self.on_interrupt = on_interrupt

    @property
    def _looks_at_scaled_rows(self) -> bool:
        return True

    def _anchors_of(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        return xray(
            blocks,
            self._number_wanted(blocks.n_rows),
            variant=self.variant,
            rng=rng,
            callback=self.callback,
            verbose=self.verbose,
        )

    def _final_weights(self, blocks: Blocks, solution: Solution) -> RowArray:
        known: RowArray | None = solution.weights
        if known is None:
            return super()._final_weights(blocks, solution)
        # The last projection solved the same problem.
        dtype = blocks.dtype
        if isinstance(known, Parts):
            return known.mapped(lambda weights: weights.astype(dtype, copy=False))
        return known.astype(dtype, copy=False)

    def _certify(self, fit: Fit) -> Certificate:
        return separable.certify_cone(fit)


class SignedXRAY(XRAY):
    """XRAY for rows whose entries may be negative but not their sums, by which it divides.

    Words after a projection and a turn of the axes are like that (`applications.topics`).
    """

    traits = replace(XRAY.traits, negative_data=True)


# FastGradient as a scikit-learn estimator.


class FastGradient(Factorizer):
    """Fast gradient method (Gillis & Luce 2018): one convex problem over n × n weights.

    Model: every row is a nonnegative combination of a few rows of the data; the problem selects
    these rows. Memory is quadratic in the number of rows: 32 n² bytes.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of anchors; None takes the largest gap in the sorted diagonal.
    mu : float or "auto", default="auto"
        Penalty for using a row at all; "auto" balances it with the error and then adapts it.
    price_spread : float, default=0.01
        The penalties of the rows are random between 1 ± price_spread / 2, which separates
        duplicates.
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-06
        Stop when the diagonal changes by less than this share of its sum.
    memory_limit : float, default=8000000000.0
        Bytes that the n × n matrices may take; larger problems are refused.
    random_state : int, RandomState instance or None, default=None
        For the prices.
    certify, verbose, callback, on_interrupt
        As in every estimator.

    Attributes
    ----------
    anchors_ : array (k,)
        Rows of the data that became the components, by decreasing diagonal entry.
    components_, n_components_, n_iter_, reconstruction_err_, trace_, certificate_, factorization_
        As in every estimator. The record's state holds the `diagonal` and the `gap`.

    See Also
    --------
    MERIT : the same idea in linear memory.

    References
    ----------
    Gillis, N. and Luce, R., "A fast gradient method for nonnegative sparse regression with
    self-dictionary", IEEE Transactions on Image Processing, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import FastGradient
    >>> X = np.array([[4.0, 0.0], [0.0, 3.0], [2.0, 1.5], [1.0, 2.25]])
    >>> sorted(FastGradient(n_components=2, random_state=0).fit(X).anchors_.tolist())
    [0, 1]
    """

    _method = "fast_gradient"
    traits = Traits(
        negative_data=True,
        finds_number=True,
        anchors=True,
        random="always",
        block_by_block=False,
        compares_rows=True,
    )
    _parameter_constraints: ClassVar[dict[str, object]] = {
        **Factorizer._parameter_constraints,
        "mu": [NOT_NEGATIVE, StrOptions({"auto"})],
        "price_spread": [Interval(Real, 0, 1, closed="both")],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NOT_NEGATIVE],
        "memory_limit": [POSITIVE],
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        mu: float | Literal["auto"] = "auto",
        price_spread: float = 0.01,
        max_iter: int = 500,
        tol: float = 1e-6,
        memory_limit: float = 8e9,
        random_state: int | np.random.RandomState | None = None,
        certify: bool = True,
        verbose: int = 0,
        callback: Callback | None = None,
        on_interrupt: OnInterrupt = "raise",
    ) -> None:
        self.n_components = n_components
        self.mu = mu
        self.price_spread = price_spread
        self.max_iter = max_iter
        self.tol = tol
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.certify = certify
        self.verbose = verbose
        self.callback = callback
        self.on_interrupt = on_interrupt

    def _gathered_bytes(self, blocks: Blocks) -> float:
        return 32.0 * blocks.n_rows**2  # four matrices of rows by rows; the data are no more

    def _solve(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        return fast_gradient(
            blocks,
            self._number_wanted(blocks.n_rows),
            mu=self.mu,
            price_spread=self.price_spread,
            max_iter=self.max_iter,
            tol=self.tol,
            memory_limit=self.memory_limit,
            rng=rng,
            callback=self.callback,
            verbose=self.verbose,
        )

    def _certify(self, fit: Fit) -> Certificate:
        return separable.certify_cone(fit)
