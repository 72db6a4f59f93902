"""Records of a solver's result and of a fit."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.results.certificate import Certificate
from provenmf.results.display import Record
from provenmf.results.estimates import ErrorBars
from provenmf.results.states import MethodState, Shape, agree

if TYPE_CHECKING:
    import anndata
    import pandas

# Where a result comes from: file, command and time, for the top of its report.


@dataclass(frozen=True)
class Origin:
    """Where a result of the command line comes from: data file, command as typed, time of the end.

    >>> Origin("letters.csv", "provenmf topics letters.csv -k 10", "2026-05-17 14:05").file
    'letters.csv'
    """

    file: str = ""
    command: str = ""
    date: str = ""


# How a result was made: parameters and versions.

NOT_RECORDED = ("callback", "on_interrupt")


def plain_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that a record keeps, as JSON can hold them."""
    return {name: plain(value) for name, value in parameters.items() if name not in NOT_RECORDED}


def plain(value: object) -> Any:
    """Return a value as JSON can hold it; arrays by shape, type and a hash of their bytes."""
    if isinstance(value, np.ndarray):
        digest = blake2b(np.ascontiguousarray(value).tobytes(), digest_size=8).hexdigest()
        return f"array {value.shape} {value.dtype} {digest}"
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.random.RandomState):
        return "RandomState"  # its address says nothing
    if isinstance(value, np.generic):  # as a search over np.arange(2, 9) gives them
        value = value.item()
    try:
        return json.loads(json.dumps(value))
    except TypeError:
        return f"{type(value).__name__} {value}"


def versions() -> dict[str, str]:
    """Return the versions of everything whose release may change a result."""
    names = {"provenmf": "provenmf", "numpy": "numpy", "scipy": "scipy", "scikit-learn": "sklearn"}
    found = {name: str(import_module(module).__version__) for name, module in names.items()}
    return {"provenmf": found.pop("provenmf"), "python": platform.python_version(), **found}


# Why a method stopped.


class StopReason(StrEnum):
    """Why a method stopped; a text that files and JSON keep, with a sentence for readers.

    Examples
    --------
    >>> from provenmf.results import StopReason
    >>> StopReason("max_iter") is StopReason.MAX_ITER
    True
    >>> StopReason.CALLBACK.sentence
    'The callback stopped the fit.'
    """

    sentence: str

    def __new__(cls, value: str, sentence: str = "") -> StopReason:
        """Return the text of a reason, with its sentence for readers."""
        reason = str.__new__(cls, value)
        reason._value_, reason.sentence = value, sentence
        return reason

    UNKNOWN = ""
    CONVERGED = "converged", "The fit converged: the last iterations changed almost nothing."
    MAX_ITER = (
        "max_iter",
        "The fit stopped at the maximum number of iterations; more might change the result.",
    )
    INTERRUPTED = "interrupted", "The fit was interrupted; this is the best result so far."
    CALLBACK = "callback", "The callback stopped the fit."
    ALL_ANCHORS = "all anchors chosen", "The fit chose as many anchors as you asked for."
    ALL_CENTROIDS = "all centroids chosen", "The fit found as many components as you asked for."
    ALL_DIRECTIONS = (
        "all directions found",
        "The fit stopped because every direction of the data has a component.",
    )
    ALL_EXPLAINED = (
        "all rows explained",
        "The fit stopped because the anchors explain every row.",
    )
    NO_WEIGHTS = (
        "no row has a weight above the threshold",
        "The fit stopped because no row has a weight above the threshold.",
    )
    DEPENDENT = (
        "features_became_dependent",
        "The fit stopped because the features became linearly dependent; those of the iteration "
        "before are kept.",
    )
    STALLED = (
        "stalled",
        "The fit stalled: more iterations made the result worse; the best is kept.",
    )

    @classmethod
    def _missing_(cls, value: object) -> StopReason:
        """Return UNKNOWN for a reason that this version does not know."""
        return cls.UNKNOWN


# What happened in each iteration of a fit.


@dataclass(frozen=True, eq=False)
class Trace:
    """Record of each iteration: columns of equal length by name.

    Parameters
    ----------
    columns : mapping, default={}
        Arrays with one entry for each iteration.

    Examples
    --------
    >>> from provenmf.results import Trace
    >>> trace = Trace.from_rows([{"error": 0.5}, {"error": 0.25}])
    >>> len(trace), trace["error"].tolist()
    (2, [0.5, 0.25])
    """

    columns: Mapping[str, Annotated[NDArray[Any], Shape("iterations")]] = field(
        default_factory=dict
    )

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and agree(self.columns, other.columns)

    @classmethod
    def from_rows(cls, rows: list[dict[str, float]]) -> Trace:
        """Turn one dict per iteration into columns; a value missing in a row becomes NaN."""
        names = dict.fromkeys(name for row in rows for name in row)
        return cls({name: np.array([row.get(name, math.nan) for row in rows]) for name in names})


@dataclass(frozen=True, eq=False)
class Solution:
    """Result of a solver: components (k, d), trace and reason to stop.

    weights : (n, k), where the method has found some on its way, as `provenmf.data.Rows`.
    state : what the method keeps for itself, see `results.states`.
    notes : what else readers of the result should know.
    """

    components: NDArray[Any]
    weights: Any = None
    anchors: NDArray[np.intp] | None = None
    labels: NDArray[np.intp] | None = None
    trace: Trace = field(default_factory=Trace)
    stop_reason: StopReason = StopReason.UNKNOWN
    state: MethodState | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Factorization(Record):
    """A fit as a record: data (n, d) ≈ weights (n, k) @ components (k, d).

    Parameters
    ----------
    method : str
        The method's stem, such as "spa" or "and_descent".
    weights, components : ndarray of shape (n, k) and (k, d)
        The factors.
    anchors : ndarray of shape (k,) or None
        Rows of the data that became the components, for methods that choose rows.
    labels : ndarray of shape (n,) or None
        Cluster of each row, for methods that have clusters.
    trace : Trace
        What happened in each iteration.
    stop_reason : StopReason
        Why the method stopped.
    certificate : Certificate or None
        What can be believed about the result; None if none was asked for.
    parameters, versions : mapping
        How the result was made: parameters of the estimator, versions of what it runs on.
    state : MethodState or None
        What the method keeps for itself, see `provenmf.results.states`.
    row_names, column_names : ndarray of shape (n,) and (d,) or None
        Names of the rows and columns of the data, where these have names.
    fingerprint : str
        Shape, precision and a hash of the entries, by which `certify` recognizes the data; empty
        without a certificate.
    notes : tuple of str
        What was chosen automatically and why, one sentence each.
    component_names : ndarray of shape (k,) or None
        Names that a reader gave to the components, see `provenmf label`.
    origin : Origin or None
        File, command and time of a result of the command line; results are equal without it.
    error_bars : ErrorBars or None
        Standard errors of the components, see `provenmf.with_error_bars`; None if not asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf.results import Factorization
    >>> Factorization("spa", np.ones((5, 2)), np.ones((2, 3)))
    Factorization(2 components of 5 rows and 3 columns, method='spa')
    """

    kind: ClassVar[str] = "matrix"

    method: str
    weights: Annotated[NDArray[Any], Shape("n", "k")]
    components: Annotated[NDArray[Any], Shape("k", "d")]
    anchors: Annotated[NDArray[np.intp], Shape("k", below="n")] | None = None
    labels: Annotated[NDArray[np.intp], Shape("n")] | None = None
    trace: Trace = field(default_factory=Trace)
    stop_reason: StopReason = StopReason.UNKNOWN
    certificate: Certificate | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    state: MethodState | None = None
    row_names: Annotated[NDArray[np.str_], Shape("n")] | None = None
    column_names: Annotated[NDArray[np.str_], Shape("d")] | None = None
    fingerprint: str = ""
    notes: tuple[str, ...] = ()
    component_names: Annotated[NDArray[np.str_], Shape("k")] | None = None
    origin: Origin | None = field(default=None, compare=False)
    error_bars: ErrorBars | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "stop_reason", StopReason(self.stop_reason))

    @property
    def n_rows(self) -> int:
        """Number of rows of the data."""
        return len(self.weights)

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.components)

    def __repr__(self) -> str:
        return (
            f"Factorization({self.n_components} components of {self.n_rows:,} rows and "
            f"{self.components.shape[1]:,} columns, method={self.method!r})"
        )

    def table(self, of: Literal["weights", "components"] = "weights") -> pandas.DataFrame:
        """Return the weights or the components as a data frame with names; see `Answer.table`."""
        from provenmf.results.answers import as_answer

        return as_answer(self).table(of)

    def to_anndata(self, data: anndata.AnnData | None = None) -> anndata.AnnData:
        """Return weights in `obsm` and components in `varm`; see `Answer.to_anndata`."""
        from provenmf.results.answers import as_answer

        return as_answer(self).to_anndata(data)

    def transform(self, data: object) -> NDArray[Any]:
        """Return the weights (n, k) of new rows, found as those of this result were.

        Parameters
        ----------
        data : array, sparse matrix, data frame or AnnData
            Rows with the columns of the data that were factorized.
        """
        weights: NDArray[Any] = import_module("provenmf.methods.certify").weights_of(data, self)
        return weights
