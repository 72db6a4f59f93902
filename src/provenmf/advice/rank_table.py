"""The evidence for each number of components, side by side."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from provenmf.advice.held_out import held_out_errors
from provenmf.advice.spectrum import NoiseSpectrum, against_noise
from provenmf.advice.stability import matched, resampled, silhouette
from provenmf.data import as_blocks
from provenmf.methods.alternating.estimator import HALS
from provenmf.metrics.topics import npmi_coherence

Floats = NDArray[np.float64]

# Fits that only compare numbers need not be better than this.
FIT: dict[str, Any] = {"tol": 1e-3, "max_iter": 200}
TOP_WORDS = 10


@dataclass(frozen=True, eq=False)
class RankTable:
    """For each number of `ranks`: errors, how well components come back, coherence.

    error, floor : relative error of the fit, and what no factorization of this rank is below (None
        where entries are missing).
    held_out : (repeats, ranks), relative errors at entries that the fit has not seen.
    agreement, least_agreement : mean and smallest median cosine of components over resamples;
        silhouette : of the groups.
    coherence : mean NPMI of the top words; None where the data are no counts.
    spectrum : singular values beside their noise; None where entries are missing.
    """

    ranks: tuple[int, ...]
    error: Floats
    floor: Floats | None
    held_out: Floats
    agreement: Floats
    least_agreement: Floats
    silhouette: Floats
    coherence: Floats | None
    spectrum: NoiseSpectrum | None


def rank_table(
    matrix: Floats,
    ranks: Sequence[int],
    *,
    n_resamples: int,
    repeats: int,
    held_out: float,
    counts: bool,
    rng: np.random.Generator,
    progress: Callable[[int, int], object] | None = None,
) -> RankTable:
    """All evidence on a dense matrix; NaN is a missing entry."""
    total, finished = len(ranks) * (1 + n_resamples + repeats), [0]

    def done(*_: object) -> None:
        finished[0] += 1
        if progress is not None:
            progress(finished[0], total)

    values = np.nan_to_num(matrix)
    complete = not np.isnan(matrix).any()
    blocks = as_blocks(matrix)
    error, agreement, coherence = [], [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for k in ranks:
            model = HALS(k, random_state=0, certify=False, **FIT)
            model.fit(matrix)
            size = np.linalg.norm(values)
            error.append(model.reconstruction_err_ / size if size > 0 else 0.0)
            done()
            seeds = np.random.default_rng(int(rng.integers(2**31)))
            found = resampled(model, blocks, n_resamples, share=0.8, rng=seeds, progress=done)
            cosines, counterparts = matched(model.components_.astype(np.float64), found)
            medians = np.median(cosines, axis=0)
            grouped = silhouette(counterparts)
            agreement.append(
                (medians.mean(), medians.min(), np.nan if grouped is None else grouped)
            )
            if counts:
                coherence.append(_coherence(model.components_, values))
    hidden = held_out_errors(
        matrix, ranks, share=held_out, repeats=repeats, rng=rng, done=done, **FIT
    )
    spectrum = against_noise(matrix, max(ranks) + 1, rng) if complete else None
    mean, least, grouped_all = np.array(agreement).T
    return RankTable(
        ranks=tuple(ranks),
        error=np.array(error),
        floor=_floors(spectrum, ranks) if spectrum is not None else None,
        held_out=hidden,
        agreement=mean,
        least_agreement=least,
        silhouette=grouped_all,
        coherence=np.array(coherence) if counts else None,
        spectrum=spectrum,
    )


def _floors(spectrum: NoiseSpectrum, ranks: Sequence[int]) -> Floats:
    """Least relative error of any product of each rank (Eckart & Young 1936)."""
    squares = spectrum.values**2
    total = squares.sum()
    return np.array([np.sqrt(squares[k:].sum() / total) if total > 0 else 0.0 for k in ranks])


def _coherence(components: NDArray[np.floating], counts: Floats) -> float:
    used = np.flatnonzero(counts.any(axis=0))
    order = np.argsort(-components[:, used], axis=1, kind="stable")[:, :TOP_WORDS]
    return float(npmi_coherence(used[order], counts).mean())
