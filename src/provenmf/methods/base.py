"""The estimator that all methods share: validate, solve, encode, certify, remember."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields, replace
from inspect import signature
from numbers import Integral, Real
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from provenmf.arguments import is_number
from provenmf.budget import announce_gathering, blas_threads_for, check_budget
from provenmf.certificate import optimality, uniqueness
from provenmf.certificate.measurement import Fit
from provenmf.data import Block, Blocks, Rows, as_blocks, at_safe_scale, is_outside_memory
from provenmf.data.door import Labeled, check_unchanged, examine_entries, labeled
from provenmf.errors import InvalidInput, NotNumbers, as_written, warn_user
from provenmf.linalg.nnls import Constraint, encoder
from provenmf.linalg.storage import numbers, own_rows, plain
from provenmf.methods.checkpoint import Checkpoint, Keeper, keeper_of
from provenmf.methods.run import Callback, present_keeper
from provenmf.methods.traits import (
    InvalidParameter,
    InvalidParameterError,
    Number,
    Thoroughness,
    Traits,
    completed,
    constraints_of,
    validate_parameter_constraints,
)
from provenmf.results import Certificate, Factorization, Solution, StopReason
from provenmf.results.factorization import plain_parameters, versions
from provenmf.signals import OnInterrupt, interruption, optional, undisturbed

WITHOUT_NEGATIVE = (
    "set them to zero (HALS and ANLS do with {:clip_negative=True}), or use a method that allows "
    "them, such as SPA, MERIT or AND ({:method='spa'})"
)


MOST_COMPONENTS = 100  # that are tried where their number is not given
# Vectors with a number for each row that a fit and its certificate hold at the same time.
VECTORS = 8


@dataclass(eq=False, repr=False)
class Factorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all estimators: data (n, d) ≈ weights (n, k) @ components (k, d).

    A subclass names its method and gives `_solve`; `_certify` adds the statements of its paper to
    those that need no assumption. Parameters are fields, of which dataclasses make the constructor
    that scikit-learn reads; their annotations say which values are legal (`traits.legal_values`).
    A parameter `constraint` says what the weights must satisfy.

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of components; None and "auto" let the method choose it, if it can.
    certify, verbose, callback, on_interrupt
        As in every estimator.

    Attributes
    ----------
    components_, n_components_, n_iter_, reconstruction_err_, trace_, certificate_, factorization_
        As in every estimator.
    anchors_ : array (k,)
        Row numbers of the components, where the method chooses rows.
    labels_ : array (n,)
        Cluster of each row, where the method finds clusters.
    """

    n_components: Number | None = None
    _: KW_ONLY
    certify: Thoroughness = True
    verbose: Annotated[int, "verbose"] = 0
    callback: Callback | None = None
    on_interrupt: OnInterrupt = "raise"

    _method: ClassVar[str]
    traits: ClassVar[Traits]
    n_features_in_: ClassVar[int]

    def __init_subclass__(cls) -> None:
        """Insert the shared parameters into the docstring of every estimator."""
        super().__init_subclass__()
        cls.__doc__ = completed(cls.__doc__ or "")

    def _blocks(self, X: Any, *, reset: bool) -> Blocks:
        """Validate X and return it as blocks of rows."""
        if isinstance(X, Blocks):
            given, blocks = Labeled(X), X
        else:
            given = labeled(X)
            outside = is_outside_memory(given.matrix)
            blocks = as_blocks(given.matrix if outside else self._in_memory(given.matrix))
        self._check_columns(X, given, blocks, reset=reset)
        return self._usable(blocks)

    def _in_memory(self, X: Any) -> Any:
        """Return a matrix in memory as scikit-learn wants it; entries may be NaN or infinite."""
        matrix = plain(X)
        try:
            return check_array(
                own_rows(matrix) if sp.issparse(matrix) else matrix,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                order="C",
                ensure_all_finite=False,
                estimator=self,
                input_name="X",
            )
        except InvalidInput:
            raise
        except TypeError as error:  # scikit-learn's checks expect a TypeError
            raise NotNumbers(str(error)) from error
        except (ValueError, OverflowError) as error:  # scikit-learn's message for unusable data
            raise InvalidInput(str(error)) from error

    def _check_columns(self, X: Any, given: Labeled, blocks: Blocks, *, reset: bool) -> None:
        """Store the number and the names of the columns, or compare them with those of the fit."""
        if reset:
            self._row_names: Any = given.row_names
        if given.column_names is not None:
            import pandas

            names = [str(name) for name in given.column_names]
            X = pandas.DataFrame(columns=pandas.Index(names, dtype=object))
        elif blocks is X or is_outside_memory(given.matrix):
            X = np.empty((1, blocks.n_columns))
        try:
            validate_data(self, X, reset=reset, skip_check_array=True)
        except ValueError as error:
            raise InvalidInput(str(error)) from error

    def _usable(self, blocks: Blocks) -> Blocks:
        """Return blocks whose entries the method can use, at a safe scale."""
        name, found = type(self).__name__, examine_entries(blocks)
        if found.invalid > found.missing:
            infinite = found.invalid - found.missing
            raise InvalidInput(
                f"X contains infinity in {infinite} entries{found.where}: remove or replace them"
            )
        if found.missing and not self.traits.missing_values:
            raise InvalidInput(
                f"X contains NaN in {found.missing} entries{found.where}, and {name} needs all "
                "entries: fill them, or use HALS or ANLS, which leave missing entries out"
            )
        if found.negative and not self.traits.negative_data:  # scikit-learn's checks expect this
            raise InvalidInput(
                f"Negative values in data passed to {name} ({found.negative} entries)",
                argument="method",
                remedy=WITHOUT_NEGATIVE,
            )
        if found.missing:
            return self._without_missing(blocks)
        return at_safe_scale(blocks, found.largest)

    def _without_missing(self, blocks: Blocks) -> Blocks:
        """Return the observed entries of blocks with NaN, for methods that leave these out."""
        raise NotImplementedError

    @property
    def _constraint(self) -> Constraint:
        """Return the constraint on the weights."""
        return getattr(self, "constraint", "nonnegative")

    @property
    def _weights_are_least_squares(self) -> bool:
        """Return whether `transform` minimizes the error of each row under the constraint."""
        return True

    def _number_wanted(self, available: int, what: str = "rows") -> int | None:
        """Return `n_components`, None where the method finds it; refuse too many."""
        if self.n_components is None or isinstance(self.n_components, str):
            return None
        return check_n_components(int(self.n_components), available, what)

    def _solve(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        """Find the components."""
        raise NotImplementedError  # every method has its own

    def _call(self, solver: Callable[..., Solution], *data: Any, **given: Any) -> Solution:
        """Call a solver with all parameters that its signature names, besides what is given."""
        named = signature(solver).parameters.keys() - {"n_components", *given}
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name in named}
        return solver(*data, **own, **given)

    def _encoder(self, blocks: Blocks, components: NDArray[Any]) -> Callable[[Block], NDArray[Any]]:
        """Return the function that finds the weights of a block for given components."""
        return encoder(components, blocks.dtype, self._constraint)

    def _encode(self, blocks: Blocks, components: NDArray[Any]) -> NDArray[Any]:
        """Find the weights of given components, as `transform` does."""
        return blocks.map_rows(self._encoder(blocks, components))

    def _final_weights(self, blocks: Blocks, solution: Solution) -> Rows:
        """Find the weights at the end of a fit, stored beside the rows."""
        return blocks.keep(self._encoder(blocks, solution.components))

    def _certify(self, fit: Fit) -> Certificate:
        """Return the statements of the method's theory about this result."""
        return Certificate(self._method)

    @undisturbed
    def fit(
        self, X: Any, y: Any = None, *, checkpoint: str | Path | Checkpoint | None = None
    ) -> Factorizer:
        """Factorize X.

        Parameters
        ----------
        X : array, sparse matrix, frame, or a matrix on disk, of shape (n_rows, n_columns)
            Rows are data points. Frames of pandas or polars, AnnData objects and arrays of xarray
            give their names to the result. On disk: the path of an `.npy` file, a memory map, an
            HDF5, zarr or Dask array.
        y : None
            Ignored.
        checkpoint : str, Path, Checkpoint or None, default=None
            Folder in which the state of the iterations is saved every 30 seconds, or a
            `Checkpoint` with another interval. If the fit is killed, call it again with the same
            folder, data and parameters: it resumes and returns the same result as without the
            interruption. You may ask for more iterations (`max_iter`). Other data or parameters
            are refused.

        Returns
        -------
        self
        """
        self._validate_params()
        self._factorized(self._blocks(X, reset=True), checkpoint)
        return self

    def fit_transform(
        self, X: Any, y: Any = None, *, checkpoint: str | Path | Checkpoint | None = None
    ) -> NDArray[Any]:
        """Factorize X and return the weights.

        Parameters
        ----------
        X, y, checkpoint
            As for `fit`.

        Returns
        -------
        array (n_rows, n_components)
        """
        self.fit(X, checkpoint=checkpoint)
        return self.factorization_.weights

    def _factorized(self, blocks: Blocks, checkpoint: str | Path | Checkpoint | None) -> None:
        """Fit validated data."""
        self._check_memory(blocks)
        keeper = None
        if checkpoint is not None:
            keeper = keeper_of(self, blocks, checkpoint)
            present_keeper.set(keeper)  # in this fit's own context
        with blas_threads_for(blocks.stored_entries), interruption(self.on_interrupt):
            rng = self._generator(keeper)
            self._remember(blocks, self._solve(blocks, rng))
            first = blocks.first_seen if keeper is None else keeper.identity["data"]
            if first is not None:
                check_unchanged(first, self.factorization_.fingerprint)
        self._warn_if_cut_short()

    def _gathered_bytes(self, blocks: Blocks) -> float:
        """Return the bytes of the data, and of arrays as large, that are held at once."""
        return 0.0

    def _check_memory(self, blocks: Blocks) -> None:
        """Refuse a fit that exceeds the memory budget, or that gathers too much, before it starts.

        A certificate takes another array (n_rows, k), though not where rows are on workers.
        """
        name, wanted = type(self).__name__, self.n_components
        k = min(MOST_COMPONENTS, *blocks.shape)
        if isinstance(wanted, Integral):
            k = min(int(wanted), blocks.n_rows)  # more are refused
        gathered = self._gathered_bytes(blocks)
        certify = bool(self.certify) and not blocks.on_workers
        by_row = blocks.n_rows * (k * (blocks.dtype.itemsize + 8 * (1 + certify)) + 8 * VECTORS)
        row_bytes = blocks.n_columns * blocks.dtype.itemsize
        what = f", {gathered / 1e9:.2g} GB of it for the data at once" if gathered else ""
        check_budget(
            f"{name} needs for {blocks.n_rows} rows and {k} components{what}",
            by_row + gathered,
            16.0 * blocks.block_rows * row_bytes,
            16.0 * blocks.n_rows * row_bytes,
            "raise it"
            + (", use a method that reads block by block, such as SPA or HALS" if gathered else "")
            + (", or do without the certificate ({:certify=False})" if certify else ""),
        )
        if not blocks.in_memory:
            announce_gathering(name, blocks.shape, gathered)

    @undisturbed
    def transform(self, X: Any) -> NDArray[Any]:
        """Find the weights of rows for the components found by `fit`.

        Parameters
        ----------
        X : array, sparse matrix, frame, or a matrix on disk, of shape (n_rows, n_columns)
            As many columns as the data of `fit`.

        Returns
        -------
        array (n_rows, n_components)
        """
        check_is_fitted(self)
        blocks = self._blocks(X, reset=False)
        with blas_threads_for(blocks.stored_entries):
            return self._encode(blocks, self.components_)

    @undisturbed
    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the mean squared residual of an entry; higher is better.

        -||X - transform(X) @ components_||_F^2 / (n_rows n_columns), at most 0; higher is better,
        so model selection in scikit-learn works. The weights are fitted to the rows that are
        scored, so the score hardly ever falls with more components. To choose their number, use
        `provenmf.choose_rank`.

        Parameters
        ----------
        X : array, sparse matrix, frame, or a matrix on disk, of shape (n_rows, n_columns)
            As many columns as the data of `fit`.
        y : None
            Ignored.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        blocks = self._blocks(X, reset=False)
        with blas_threads_for(blocks.stored_entries):
            weights = self._encode(blocks, self.components_)
        found = Factorization(self._method, weights, self.components_)
        fit = self._measured(blocks, found, products=False, hashed=False)
        return -((fit.error * fit.unit) ** 2) / fit.entries

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Make data rows from weights: weights @ components.

        Parameters
        ----------
        X : array or sparse matrix (n_rows, n_components)
            Weights, as from `transform`.

        Returns
        -------
        array (n_rows, n_columns)
        """
        check_is_fitted(self)
        weights = numbers(X, "X")
        if weights.ndim != 2 or weights.shape[1] != self.n_components_:
            raise InvalidInput(
                f"X has shape {weights.shape}: give weights of shape (n, {self.n_components_})"
            )
        return np.asarray(weights @ self.components_)

    def _remember(self, blocks: Blocks, solution: Solution) -> None:
        """Set the fitted attributes: weights, certificate, record."""
        for name in ("certificate_", "anchors_", "labels_"):  # that the next fit may not set
            self.__dict__.pop(name, None)
        rows = self._final_weights(blocks, solution)
        factorization = Factorization(
            method=self._method,
            weights=rows.array(),
            components=solution.components,
            anchors=solution.anchors,
            labels=solution.labels,
            trace=solution.trace,
            stop_reason=solution.stop_reason,
            parameters=plain_parameters(self.get_params(deep=False)),
            versions=versions(),
            state=solution.state,
            row_names=_as_text(self.__dict__.pop("_row_names", None)),
            column_names=_as_text(getattr(self, "feature_names_in_", None)),
            notes=(*self._number_note(len(solution.components)), *solution.notes),
        )
        options = {"products": bool(self.certify), "full": self.certify == "full"}
        # Without a certificate only data that may have changed are recognized again.
        hashed = bool(self.certify or blocks.first_seen or present_keeper.get())
        fit = self._measured(blocks, factorization, rows, hashed=hashed, **options)
        known: dict[str, Any] = {"fingerprint": fit.fingerprint}
        if self.certify:
            known["certificate"] = optional(lambda: self._statements(fit))
        self.factorization_ = factorization = replace(factorization, **known)
        self.components_ = factorization.components
        self.n_components_ = factorization.n_components
        if factorization.certificate is not None:
            self.certificate_ = factorization.certificate
        self.trace_ = factorization.trace
        self.n_iter_ = max(1, len(factorization.trace))
        self.reconstruction_err_ = fit.error * fit.unit
        if factorization.anchors is not None:
            self.anchors_ = factorization.anchors
        if factorization.labels is not None:
            self.labels_ = factorization.labels

    def _number_note(self, found: int) -> tuple[str, ...]:
        """Return a note if the number of components was not given."""
        if self.n_components is not None and not isinstance(self.n_components, str):
            return ()
        return (
            f"Number of components not given: {type(self).__name__} took {found}; `provenmf rank` "
            "(choose_rank in Python) shows the evidence for each number",
        )

    def _measured(
        self,
        blocks: Blocks,
        factorization: Factorization,
        rows: Rows | None = None,
        **options: Any,
    ) -> Fit:
        """Return the fit as certificates take it; `rows` are its weights beside the data.

        The options `products`, `full` and `hashed` are those of `Fit`.
        """
        least_squares = self._weights_are_least_squares
        return Fit(
            blocks,
            factorization,
            self._constraint,
            rows=rows,
            least_squares=least_squares,
            **options,
        )

    def _statements(self, fit: Fit) -> Certificate:
        """Certify what the method's theory says, and what needs none."""
        own = self._certify(fit).join(optimality.certify(fit))
        return own.join(uniqueness.certify(fit)).join(optimality.certify_weights(fit))

    def _warn_if_cut_short(self) -> None:
        """Warn, as scikit-learn does, if convergence was asked for and not reached."""
        reason = self.factorization_.stop_reason
        if reason is StopReason.MAX_ITER and getattr(self, "tol", 0.0) > 0:
            most = getattr(self, "max_iter", None) or len(self.trace_)
            warn_user(
                ConvergenceWarning(
                    f"{type(self).__name__} stopped at max_iter={most}, before it converged: raise "
                    "max_iter or tol"
                )
            )

    def _validate_params(self) -> None:
        """Refuse the first parameter that is not among its legal values."""
        name = type(self).__name__
        for parameter, legal in constraints_of(type(self)).items():  # type: ignore[arg-type]
            value = getattr(self, parameter)
            try:
                if isinstance(value, Real) and not (isinstance(value, bool) or is_number(value)):
                    raise InvalidParameterError(
                        f"The {parameter!r} parameter of {name} must be a number in double "
                        f"precision. Got {as_written(value)} instead."
                    )
                validate_parameter_constraints({parameter: legal}, {parameter: value}, name)
            except InvalidParameterError as error:
                raise InvalidParameter(str(error), parameter, value) from None

    def _generator(self, keeper: Keeper | None = None) -> np.random.Generator:
        """Return a numpy Generator from scikit-learn's `random_state`, if the method has one.

        A fit that goes on from a checkpoint keeps the seed with which it began.
        """
        if not hasattr(self, "random_state"):
            return np.random.default_rng(0)  # never drawn from
        state = check_random_state(self.random_state)
        seed = int(state.randint(np.iinfo(np.int32).max))
        return np.random.default_rng(seed if keeper is None else keeper.seed(seed))

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.traits.missing_values
        tags.input_tags.positive_only = not self.traits.negative_data
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _as_text(names: Any) -> NDArray[np.str_] | None:
    return None if names is None else np.array([str(name) for name in names], dtype=np.str_)


def check_n_components(n_components: int, available: int, what: str) -> int:
    """Refuse more components than there are rows (or whatever `what` counts)."""
    if n_components > available:
        raise InvalidInput(
            f"exceeds {available}, the number of {what}",
            argument="n_components",
            value=n_components,
            remedy=f"choose {{argument}} <= {available}",
        )
    return n_components
