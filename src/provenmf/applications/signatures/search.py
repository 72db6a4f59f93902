"""Find mutational signatures in counts of mutations: the public function."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.confirm import confirm
from provenmf.applications.fitting import check_number
from provenmf.applications.signatures.answer import Signatures
from provenmf.applications.signatures.catalogue import CATALOGUE, Labelled, labelled
from provenmf.applications.signatures.channels import cosmic_name, missing
from provenmf.applications.signatures.extraction import extract
from provenmf.applications.signatures.model import Tumors
from provenmf.arguments import checked
from provenmf.errors import counted
from provenmf.methods.certify import certify
from provenmf.methods.run import Callback, Run
from provenmf.results.factorization import Factorization, StopReason, versions
from provenmf.signals import OnInterrupt, interruption, optional

Floats = NDArray[np.float64]
HYPERMUTATED = 20.0  # times the median number of mutations, from which a note says so


@checked()
def find_signatures(
    counts: Any,
    n_signatures: int | None = None,
    *,
    reference: Any = None,
    evidence: bool = True,
    random_state: int = 0,
    callback: Callback | None = None,
    on_interrupt: OnInterrupt = "raise",
) -> Signatures:
    """Find mutational signatures, their number, and the exposures of every tumor.

    Parameters
    ----------
    counts : array (tumors, channels), frame, AnnData, or path of a csv or tsv file
        Numbers of mutations. Tables whose rows are named by mutation types (`A[C>A]A`), as
        SigProfiler writes them, are turned.
    n_signatures : int, optional
        Number of signatures; found from the data by default.
    reference : path, frame or array, optional
        Known signatures to compare with, such as a file of COSMIC.
    evidence : bool, default=True
        Whether to find the signatures again in two halves of the tumors and judge each by the other
        half (see `provenmf.confirm`); takes about as long as the answer itself.
    random_state : int, default=0
        Seed of the halves that judge the signatures, which do not depend on it themselves.
    callback : callable, optional
        Called with a dict after each step of the search, the number of `signatures` among it;
        returning True ends the search.
    on_interrupt : {"raise", "return"}, default="raise"
        Whether Ctrl-C raises KeyboardInterrupt, or the best signatures so far are returned; a note
        says so.

    Returns
    -------
    Signatures
        With `signatures` (k, channels), `exposures` (tumors, k) and `channels`.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import find_signatures
    >>> rng = np.random.default_rng(0)
    >>> exposures = 500 * rng.dirichlet([0.2] * 3, 120)
    >>> counts = rng.poisson(exposures @ rng.dirichlet([0.2] * 40, 3))
    >>> find_signatures(counts, evidence=False).signatures.shape
    (3, 40)
    """
    table = labelled(counts, "Tumor").checked("counts")
    values = table.values
    if reference is not None:  # an error now, not after the search
        reference = labelled(reference, "signature").checked(CATALOGUE)
        reference.ordered(table.channels, CATALOGUE)
    check_number("n_signatures", n_signatures, min(values.shape), "tumors and channels")
    with interruption(on_interrupt):
        run = Run(sys.maxsize, callback=callback, name="signatures")
        answer = _found(table, values, n_signatures, run)
        if reference is not None:
            answer = answer.compared_with(reference)
        if not evidence or run.stop_reason is not StopReason.CONVERGED:
            return answer
        confirmed = optional(lambda: confirm(values, answer, random_state=random_state))
        unfinished = (*answer.notes, "interrupted: not judged by unseen tumors")
        return confirmed or replace(answer, notes=unfinished)


def _found(table: Labelled, values: Floats, n_signatures: int | None, run: Run) -> Signatures:
    """Return the answer without evidence."""
    used = values.sum(axis=1) > 0
    tumors, found = extract(values[used], n_signatures, run)
    order = np.argsort(-found.exposures.sum(axis=0))
    signatures = found.signatures[order]
    exposures, unselected, errors = (np.zeros((len(values), len(order))) for _ in range(3))
    exposures[used] = found.exposures[:, order]
    unselected[used], errors[used] = one_step(tumors, exposures[used], signatures)
    plain = Factorization(
        method="poisson",
        weights=exposures,
        components=signatures,
        trace=run.trace,
        stop_reason=run.stop_reason,
        parameters={"overdispersion": tumors.overdispersion},
        versions=versions(),
        column_names=np.array(table.channels, dtype=np.str_),
        row_names=np.array(table.names, dtype=np.str_),
    )
    notes = [*_of_channels(table), *_notes(values, table.channels, n_signatures, len(signatures))]
    if tumors.overdispersion > 0:
        a = tumors.overdispersion
        notes.append(f"counts vary more than Poisson counts: variance μ + {a:.2g} μ²")
    if run.stop_reason is not StopReason.CONVERGED:
        notes.append("the search was stopped early: signatures may be missing or superfluous")
    return Signatures(
        factorization=replace(plain, certificate=certify(values, plain)),
        notes=tuple(notes),
        unselected=unselected,
        exposure_errors=errors,
        overdispersion=tumors.overdispersion,
        mutations=values.sum(axis=1),
        reconstruction=_cosines(values, exposures @ signatures),
    )


def one_step(tumors: Tumors, exposures: Floats, signatures: Floats) -> tuple[Floats, Floats]:
    """Return estimates of all exposures of each tumor, and their standard errors.

    One Fisher scoring step from the sparse exposures, with all signatures. It undoes the bias of
    the selection, as the step of van de Geer, Bühlmann, Ritov & Dezeure (2014) does for the lasso.
    """
    means = exposures @ signatures
    weights = tumors.weights(means)
    estimates, errors = np.empty_like(exposures), np.empty_like(exposures)
    for i, row in enumerate(exposures):
        information = (signatures * weights[i]) @ signatures.T
        inverse = np.linalg.pinv(information, hermitian=True)
        score = signatures @ (weights[i] * (tumors.counts[i] - means[i]))
        estimates[i] = row + inverse @ score
        errors[i] = np.sqrt(np.maximum(np.diag(inverse), 0.0))
    return estimates, errors


def _cosines(counts: Floats, means: Floats) -> Floats:
    lengths = np.linalg.norm(counts, axis=1) * np.linalg.norm(means, axis=1)
    products = np.einsum("ij,ij->i", counts, means)
    cosines: Floats = np.divide(products, lengths, out=np.zeros(len(counts)), where=lengths > 0)
    return cosines


def _of_channels(table: Labelled) -> list[str]:
    """Return notes on names that are not known and on channels that lack."""
    kind, absent = missing(table.channels)
    if absent:
        some = ", ".join(absent[:3])
        return [f"{counted(len(absent), 'channel')} of {kind} not in the table, such as {some}"]
    if table.named and cosmic_name(table.channels[0]) is None:
        name = table.channels[0]
        return [f"columns such as {name} are no known mutation types: rows were taken for tumors"]
    return []


def _notes(counts: Floats, channels: tuple[str, ...], wanted: int | None, found: int) -> list[str]:
    """Return notes on the choices made and on unusual counts."""
    notes = []
    if wanted is None:
        notes.append(f"number of signatures found from the data: {found}")
    elif found != wanted:
        notes.append(f"{counted(found, 'signature')} found instead of {wanted}")
    totals = counts.sum(axis=1)
    if empty := int((totals == 0).sum()):
        notes.append(f"without mutations, and so without exposures: {counted(empty, 'tumor')}")
    unseen = [name for name, total in zip(channels, counts.sum(axis=0)) if total == 0]
    if unseen:
        notes.append(f"never seen: {counted(len(unseen), 'channel')}, such as {unseen[0]}")
    if (counts != np.floor(counts)).any():
        notes.append("counts are not all whole numbers; they are taken as they are")
    many = totals > HYPERMUTATED * np.median(totals[totals > 0])
    if many.any():
        notes.append(
            f"with more than {HYPERMUTATED:g} times the median number of mutations: "
            f"{counted(int(many.sum()), 'tumor')}; large counts have less weight, so that these do "
            "not decide alone"
        )
    return notes
