"""Factorize in one call; choose the rank and the method unless they are given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from provenmf.advice.diagnose import advised_methods, applies, relative_error
from provenmf.advice.number import settled_number
from provenmf.advice.peaks import peaks_note
from provenmf.arguments import checked
from provenmf.certificate import uniqueness
from provenmf.data import Blocks, as_blocks
from provenmf.data.door import are_counts
from provenmf.errors import InvalidInput
from provenmf.methods import CATALOGUE, estimator_class, make_estimator, options_of_method
from provenmf.methods.alternating.estimator import PENALTIES
from provenmf.methods.base import Factorizer
from provenmf.methods.checkpoint import Checkpoint, inside
from provenmf.results import Factorization, StopReason

if TYPE_CHECKING:
    from provenmf.methods import RandomState


AUTO = "auto"
# Every choice is measured against HALS: it fits any nonnegative matrix, with no condition.
POLISHED = "hals"
# Options that all methods have; the others belong to HALS.
SHARED = ("certify", "on_interrupt", "verbose")
# With these options another method would answer another question.
ONLY_POLISHED = frozenset(["known_components", "constraint", *PENALTIES])
COUNTS = "the entries are counts, whose likelihood it fits; method='hals' fits their squares"


@dataclass(frozen=True)
class Settings:
    """Thresholds of the choice."""

    # The relative error of another method may exceed that of HALS by this share and this much.
    allowance: float = 1e-3
    rounding: float = 1e-6
    count_starts: int = 4  # of PoissonNMF: the divergence has local minima
    # Where HALS starts besides its default start, and up to how many entries: each costs a fit.
    other_starts: tuple[str, ...] = ("nndsvda", "spa")
    most_entries: int = 10**7


SETTINGS = Settings()


@checked(options_of=options_of_method)
def factorize(
    X: object,
    n_components: int | str | None = None,
    *,
    method: str = AUTO,
    random_state: RandomState = None,
    checkpoint: str | Path | Checkpoint | None = None,
    **options: Any,
) -> Factorization:
    """Factorize a matrix in one call and return the `Factorization`.

    Parameters
    ----------
    X : array, sparse matrix, frame, blocks or path
        Rows are data points, in memory or on disk.
    n_components : int, "auto" or None, default=None
        Number of components. If omitted, it is chosen from the data. If the data are not clear
        about it, `InvalidInput` is raised and says what they suggest.
    method : str, default="auto"
        "auto" uses PoissonNMF for counts (whole numbers, some above one; the best of four starts),
        otherwise HALS (for up to 10 million entries, the best of three starts). It uses ConeNMF or
        SPA instead of HALS if all conditions of their theory hold on X and they fit as well. Or the
        name of a method: "merit", "spa", "cones", "and_descent", …
    random_state : int, RandomState or None, default=None
        Random seed. Methods that use no random numbers ignore it.
    checkpoint : str, Path, Checkpoint or None, default=None
        Folder from which an interrupted fit can resume; see `HALS.fit`. With "auto", each method
        has its own subfolder.
    **options
        Parameters of the method's estimator; with "auto", those of HALS, which is then used for
        counts too unless PoissonNMF has the same ones.

    Returns
    -------
    Factorization
        Weights, components and certificate. Its `notes` say what was chosen and why.

    Raises
    ------
    InvalidInput
        The data cannot be used, or they do not determine the number of components.

    See Also
    --------
    diagnose : which method's theory applies to a matrix.
    resources : limits memory and threads.
    find_topics, find_communities, unmix, find_parts : the same for texts, graphs, spectra, images.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import factorize
    >>> X = np.array([[4.0, 0.0], [0.0, 3.0], [2.0, 1.5], [1.0, 2.25]])
    >>> result = factorize(X, 2, method="spa")
    >>> (result.weights @ result.components).round(6).tolist() == X.tolist()
    True
    >>> rng = np.random.default_rng(0)
    >>> result = factorize(rng.random((30, 8)), 3, random_state=0)
    >>> result.method, result.notes[0][:27]
    ('hals', 'Method chosen automatically')
    """
    notes: tuple[str, ...] = ()
    if n_components is None or n_components == AUTO:
        n_components, note = settled_number(as_blocks(X))
        notes = (note,)
    if method.lower() == AUTO:
        found = _automatic(_Task(X, n_components, random_state, checkpoint), options)
    else:
        estimator = make_estimator(method, n_components, random_state=random_state, **options)
        found = estimator.fit(X, checkpoint=checkpoint).factorization_
    return replace(found, notes=(*notes, *found.notes))


@dataclass(frozen=True)
class _Task:
    """Data to factorize, and the options that every method receives."""

    X: object
    n_components: int | str
    random_state: RandomState
    checkpoint: str | Path | Checkpoint | None

    def fit(self, method: str, folder: str, options: dict[str, Any]) -> Factorizer:
        """Fit a method, with its checkpoint in this subfolder."""
        estimator = make_estimator(
            method, self.n_components, random_state=self.random_state, **options
        )
        return estimator.fit(self.X, checkpoint=inside(self.checkpoint, folder))


def _automatic(task: _Task, options: dict[str, Any]) -> Factorization:
    """Fit counts by likelihood, other data by HALS or a method whose theory holds."""
    ours = estimator_class("poisson")().get_params().keys() - {"init"}
    if options.keys() <= ours and are_counts(as_blocks(task.X)):
        several = {"n_init": SETTINGS.count_starts}
        return _because(task.fit("poisson", "poisson", several | options).factorization_, COUNTS)
    polished = _polished(task, options)
    if options.keys() <= {*SHARED, "clip_negative"}:
        polished = _with_peaks(polished, as_blocks(task.X))
    if options.keys() & ONLY_POLISHED:
        return _because(polished, "other methods have no fixed components and no penalties")
    if polished.certificate is None or polished.stop_reason is StopReason.INTERRUPTED:
        return _because(polished, "the conditions of other methods were not checked")
    tried = []
    highest = relative_error(polished.certificate) * (1 + SETTINGS.allowance) + SETTINGS.rounding
    for name in advised_methods(quick=True):
        shared = {option: options[option] for option in SHARED if option in options}
        try:
            found = task.fit(name, name, shared).factorization_
        except InvalidInput:
            continue
        if found.certificate is None or not applies(found.certificate):
            tried.append(f"not all conditions of {CATALOGUE[name]} are established")
        elif not relative_error(found.certificate) <= highest:
            tried.append(f"{CATALOGUE[name]}, whose theory holds, fits less well")
        else:
            return _because(found, "all conditions of its theory hold on these data")
    return _because(polished, "; ".join(tried) or "it has no conditions")


def _polished(task: _Task, options: dict[str, Any]) -> Factorization:
    """Fit HALS, and small data also from other starts; return the best fit.

    Only the best of these fits is certified. Its certificate says how far its parts are from those
    of the others, if these fit nearly as well.
    """
    one_start = "init" in options or np.prod(as_blocks(task.X).shape) > SETTINGS.most_entries
    if one_start:
        return task.fit(POLISHED, POLISHED, options).factorization_
    quiet = options | {"certify": False}
    fits = [task.fit(POLISHED, POLISHED, quiet)]
    best = fits[0]
    for init in SETTINGS.other_starts:
        if best.factorization_.stop_reason is StopReason.INTERRUPTED:
            break
        try:
            silent = quiet | {"init": init, "callback": None}
            other = task.fit(POLISHED, f"{POLISHED}-{init}", silent)
        except InvalidInput:  # missing entries have no singular vectors
            continue
        if other.factorization_.stop_reason is StopReason.INTERRUPTED:
            break
        fits.append(other)
        if other.reconstruction_err_ < best.reconstruction_err_ * (1 - SETTINGS.allowance / 10):
            best = other
    found = best.factorization_
    if not options.get("certify", True):
        return found
    blocks = best._blocks(task.X, reset=False)
    fit = best._measured(blocks, found)
    certificate = best._statements(fit)
    rest = [one.factorization_ for one in fits if one is not best]
    if rest:
        others = [best._measured(blocks, other, products=False) for other in rest]
        certificate = certificate.join(uniqueness.compare(fit, others))
    parameters = {**found.parameters, "certify": True}
    known = replace(found, fingerprint=fit.fingerprint, parameters=parameters)
    return replace(known, certificate=certificate)


def _with_peaks(found: Factorization, blocks: Blocks) -> Factorization:
    note = peaks_note(blocks, len(found.components))
    return replace(found, notes=(*found.notes, note)) if note else found


def _because(found: Factorization, reason: str) -> Factorization:
    note = f"Method chosen automatically: {CATALOGUE[found.method]} ({reason})"
    return replace(found, notes=(note, *found.notes))
