"""Judge components by other rows: do resamples find them again, and do they explain new rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import silhouette_score
from sklearn.model_selection import train_test_split

from provenmf.advice.text_table import table_lines
from provenmf.arguments import Within, checked
from provenmf.budget import for_row_slices, generator
from provenmf.certificate.measurement import Fit
from provenmf.data import Blocks, as_blocks
from provenmf.errors import InvalidInput
from provenmf.linalg.scaling import unit_rows
from provenmf.methods.base import Factorizer
from provenmf.metrics.matching import match_components
from provenmf.results import Certificate, Estimate, Factorization

Floats = NDArray[np.float64]
Done = Callable[[int, int], object]

# Cosine from which a component counts as the same one.
SAME = 0.9
EXCHANGEABLE = "new rows come from where these came from, in any order (exchangeable)"
LIKE_THESE = "the next resample is drawn like these: a random part of these rows, and another seed"


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """How well components agree over resamples; made by `stability`.

    Attributes
    ----------
    factorization : Factorization
        The fit to all rows, whose components are judged. Its certificate has the estimate
        `agreement_of_components_over_resamples`, and keeps it when it is saved.
    agreement : array (k,)
        Median cosine between a component and its counterpart in a resample; 1 is the same.
    lowest : array (k,)
        The smallest of these cosines.
    consensus : array (k, d)
        Median of all counterparts of a component, each of unit length, at the scale of the
        component.
    silhouette : float or None
        Mean silhouette of all components of all resamples in their groups, as in cNMF (Kotliar et
        al. 2019); None for one component.
    n_resamples : int
        Number of resamples.
    share : float
        Share of the rows in each resample.

    See Also
    --------
    stability : makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import SPA, stability
    >>> X = np.vstack([np.eye(3)] * 10)
    >>> stability(SPA(3), X, n_resamples=3).agreement.round(6).tolist()
    [1.0, 1.0, 1.0]
    """

    factorization: Factorization
    agreement: Floats
    lowest: Floats
    consensus: Floats
    silhouette: float | None
    n_resamples: int
    share: float

    @property
    def is_stable(self) -> NDArray[np.bool_]:
        """Tell which components come back with a median cosine of at least 0.9."""
        return self.agreement >= SAME

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "agreement": self.agreement.tolist(),
            "lowest": self.lowest.tolist(),
            "silhouette": self.silhouette,
            "n_resamples": self.n_resamples,
            "share": self.share,
        }

    def __repr__(self) -> str:
        found = int(self.is_stable.sum())
        return (
            f"{found} of {len(self.agreement)} components are stable: {self.n_resamples} resamples "
            f"of {self.share:.0%} of the rows find them again (median cosine {SAME} or more)."
        )

    def __str__(self) -> str:
        rows = [
            (f"Component {i}", f"{median:.3f}", f"{least:.3f}")
            for i, (median, least) in enumerate(zip(self.agreement, self.lowest), 1)
        ]
        return "\n".join([repr(self), "", *table_lines(("", "agreement", "lowest"), rows)])

    def _repr_html_(self) -> str:
        """Return the verdict and the table, for notebooks."""
        return f"<pre>{escape(str(self))}</pre>"


@checked()
def stability(
    estimator: Factorizer,
    X: object,
    *,
    n_resamples: Annotated[int, Within(1, 100_000)] = 20,
    share: Annotated[float, Within(0, 1)] = 0.8,
    random_state: int | None = 0,
    progress: Done | None = None,
) -> Stability:
    """Fit other samples of the rows with other seeds, and see which components come back.

    The components of every resample are matched one to one with those of the fit to all rows, by
    the largest sum of cosines.

    Parameters
    ----------
    estimator : Factorizer
        Any estimator of this package; it is cloned, not changed.
    X : array, sparse matrix, frame, or a matrix on disk, of shape (n_rows, n_columns)
        Rows are data points; for HALS and ANLS entries may be NaN.
    n_resamples : int, default=20
        Number of fits besides the one to all rows; they run in parallel.
    share : float, default=0.8
        Share of the rows in a resample, drawn without replacement.
    random_state : int or None, default=0
        Random seed of the samples and of the fits.
    progress : callable or None, default=None
        Called as progress(fits done, all fits).

    Returns
    -------
    Stability
        Prints as a table.

    References
    ----------
    Kotliar, D. et al., "Identifying gene expression programs of cell-type identity and cellular
    activity with single-cell RNA-Seq", eLife, 2019 (consensus NMF).

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import HALS, stability
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(9 * rng.gamma(0.3, size=(80, 3)) @ rng.gamma(0.3, size=(3, 20)))
    >>> found = stability(HALS(3, tol=1e-3), X, n_resamples=5)
    >>> found.is_stable.tolist()
    [True, True, True]
    """
    if share <= 0:
        raise InvalidInput("must be above 0", argument="share", value=share)
    rng = generator(random_state)
    blocks = as_blocks(X)
    fitted = _seeded(estimator, rng, certify=True).fit(X)
    found = resampled(estimator, blocks, n_resamples, share=share, rng=rng, progress=progress)
    components = fitted.components_.astype(np.float64)
    cosines, counterparts = matched(components, found)
    lowest = cosines.min(axis=0)
    flat = unit_rows(counterparts.reshape(-1, components.shape[1]))
    consensus = np.median(flat.reshape(counterparts.shape), axis=0)
    scale = np.linalg.norm(components, axis=1, keepdims=True)
    estimate = Estimate(float(lowest.min()), n_resamples / (n_resamples + 1), LIKE_THESE)
    _state(fitted, "agreement_of_components_over_resamples", estimate)
    return Stability(
        factorization=fitted.factorization_,
        agreement=np.median(cosines, axis=0),
        lowest=lowest,
        consensus=unit_rows(consensus) * scale,
        silhouette=silhouette(counterparts),
        n_resamples=n_resamples,
        share=share,
    )


def resampled(
    estimator: Factorizer,
    blocks: Blocks,
    n_resamples: int,
    *,
    share: float,
    rng: np.random.Generator,
    progress: Done | None = None,
) -> list[Floats]:
    """Return the components (k, d) of fits to random parts of the rows, with different seeds."""
    size = max(1, round(share * blocks.n_rows))
    jobs = [
        (
            np.sort(rng.choice(blocks.n_rows, size, replace=False)),
            _seeded(estimator, rng, certify=False),
        )
        for _ in range(n_resamples)
    ]
    found: dict[int, Floats] = {}

    def fit(which: slice) -> None:
        rows, job = jobs[which.start]
        found[which.start] = job.fit(blocks.take(rows)).components_.astype(np.float64)
        if progress is not None:
            progress(len(found), n_resamples)

    for_row_slices(fit, n_resamples, slice_rows=1)
    return [found[number] for number in range(n_resamples)]


def matched(components: Floats, found: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return cosines (m, k) of components with their counterparts in m fits, and these (m, k, d).

    A component without a counterpart, where a fit has fewer, has cosine and counterpart zero.
    """
    cosines = np.zeros((len(found), len(components)))
    counterparts = np.zeros((len(found), *components.shape))
    for number, others in enumerate(found):
        matching = match_components(others, components)
        cosines[number, matching.true_rows] = matching.cosines
        counterparts[number, matching.true_rows] = others[matching.found_rows]
    return cosines, counterparts


def silhouette(counterparts: Floats) -> float | None:
    """Return the mean silhouette of unit vectors in the groups of their components."""
    m, k, d = counterparts.shape
    points = unit_rows(counterparts.reshape(-1, d))
    groups = np.tile(np.arange(k), m)
    kept = points.any(axis=1)
    if k < 2 or m < 2 or len(np.unique(groups[kept])) < 2:
        return None
    return float(silhouette_score(points[kept], groups[kept]))


def _seeded(estimator: Factorizer, rng: np.random.Generator, *, certify: bool) -> Factorizer:
    fresh: Factorizer = clone(estimator)
    options: dict[str, Any] = {"certify": certify}
    if "random_state" in fresh.get_params(deep=False):
        options["random_state"] = int(rng.integers(np.iinfo(np.int32).max))
    fresh.set_params(**options)
    return fresh


def _state(fitted: Factorizer, name: str, estimate: Estimate) -> None:
    """Add an estimate to the certificate of an estimator and to that of its record."""
    said = Certificate(fitted._method, estimates={name: estimate})
    known = getattr(fitted, "certificate_", None)
    fitted.certificate_ = said if known is None else known.join(said)
    fitted.factorization_ = replace(fitted.factorization_, certificate=fitted.certificate_)


class ConformalResidual(NamedTuple):
    """An estimator fitted on a part of the rows, and what the others say about new rows."""

    estimator: Factorizer
    estimate: Estimate


def conformal_residual(
    estimator: Factorizer,
    X: object,
    *,
    confidence: float = 0.9,
    held_out: float = 0.25,
    relative: bool = False,
    random_state: int | np.random.RandomState | None = None,
) -> ConformalResidual:
    """Fit on a part of the rows and bound the residual of a new row by the others.

    The residual of a row x is ‖x − w @ components‖ with w from `transform`. The bound is an
    estimate: it holds with the given confidence over the draw of all rows, those kept aside and
    the new one, if they are exchangeable. It is about the components fitted here, which have not
    seen the rows kept aside; no such bound follows for components fitted on all rows.

    Parameters
    ----------
    estimator : Factorizer
        Any estimator of this package; it is cloned, not changed.
    X : array, sparse matrix or frame of shape (n_rows, n_columns)
        Rows are data points.
    confidence : float, default=0.9
        Probability with which a new row is within the bound.
    held_out : float, default=0.25
        Share of the rows to keep aside.
    relative : bool, default=False
        Divide each residual by the length of its row.
    random_state : int, RandomState or None, default=None
        Which rows are kept aside.

    Returns
    -------
    ConformalResidual
        `estimator`, the fitted clone, whose certificate contains the estimate; and `estimate`.

    Raises
    ------
    InvalidInput
        Too few rows would be kept aside for this confidence, or rows have missing entries.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import HALS, conformal_residual
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 3)) @ rng.random((3, 20)) + 0.01 * rng.random((200, 20))
    >>> fitted, estimate = conformal_residual(HALS(3, random_state=0), X, random_state=0)
    >>> estimate.confidence, estimate.value < 0.02
    (0.9, True)
    """
    for name, value in (("confidence", confidence), ("held_out", held_out)):
        if not 0 < value < 1:
            raise InvalidInput("must lie between 0 and 1", argument=name, value=value)
    rest, aside = _split(X, held_out, confidence, random_state)
    fitted = clone(estimator).fit(rest)
    fit = Fit(
        as_blocks(aside),
        Factorization(fitted._method, fitted.transform(aside), fitted.components_),
        products=False,
    )
    residuals = fit.residuals * fit.unit
    if np.isnan(residuals).any():
        raise InvalidInput(
            "has rows with missing entries, whose residual is not known",
            argument="X",
            remedy="leave these rows out",
        )
    if relative:
        lengths = fit.lengths * fit.unit
        residuals = np.divide(residuals, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    estimate = Estimate(residual_bound(residuals, confidence), confidence, EXCHANGEABLE)
    name = "relative_residual_of_a_new_row" if relative else "residual_of_a_new_row"
    _state(fitted, name, estimate)
    return ConformalResidual(fitted, estimate)


def _split(
    X: Any, held_out: float, confidence: float, random_state: int | np.random.RandomState | None
) -> tuple[Any, Any]:
    """Return rows to fit and rows to keep aside, of which there must be enough."""
    n_rows = np.shape(X)[0]
    found, needed = math.ceil(held_out * n_rows), rows_needed(confidence)
    if found < needed or found >= n_rows:
        raise InvalidInput(
            f"needs {needed} rows kept aside and others to fit, and held_out={held_out} gives "
            f"{found} of {n_rows}",
            argument="confidence",
            value=confidence,
            remedy="raise held_out or lower {argument}",
        )
    rest, aside = train_test_split(X, test_size=held_out, random_state=random_state)
    return rest, aside


def rows_needed(confidence: float) -> int:
    """Return the fewest rows kept aside for which there is a bound: ⌈(m + 1) c⌉ ≤ m."""
    return math.ceil(confidence / (1 - confidence) - 1e-9)


def residual_bound(residuals: Floats, confidence: float) -> float:
    """Return the ⌈(m + 1) c⌉-th smallest of m residuals (split conformal prediction).

    The components know nothing of the m rows kept aside. If those and a new row are exchangeable,
    the rank of its residual among all m + 1 is uniform, so that it is at most this one with
    probability c (Vovk, Gammerman & Shafer 2005; Lei et al. 2018, Theorem 2).
    """
    place = math.ceil((len(residuals) + 1) * confidence - 1e-9)
    return float(np.sort(residuals)[place - 1])
