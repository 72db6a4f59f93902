"""Find mutational signatures in counts of mutations: the public function and its answer."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from provenmf.applications.confirm import confirm
from provenmf.applications.fitting import check_number
from provenmf.applications.signatures.catalogue import Labelled, Match, compare, labelled
from provenmf.applications.signatures.extraction import Extracted, Tumors, exposures_of, extract
from provenmf.arguments import Within, checked
from provenmf.errors import InvalidInput, counted
from provenmf.methods.certify import certify
from provenmf.methods.run import Callback, OnInterrupt, Run, interruption
from provenmf.methods.traits import versions
from provenmf.results.answers import Answer, ReadOptions, Words, names_of_largest, shares
from provenmf.results.factorization import Factorization, StopReason
from provenmf.results.states import Shape

if TYPE_CHECKING:
    import pandas

Floats = NDArray[np.float64]
HYPERMUTATED = 20.0  # times the median number of mutations, from which a note says so


@dataclass(frozen=True, eq=False, repr=False)
class Signatures(Answer):
    """Signatures of mutations, and how many mutations of each tumor are due to each of them.

    Parameters
    ----------
    factorization, notes, component_names
        As in every `Answer`; weights are the exposures.
    channels : ndarray of shape (channels,)
        Names of the mutation types.
    tumors : ndarray of shape (tumors,)
        Names of the tumors.
    unselected : ndarray of shape (tumors, k)
        Estimates of the exposures without selection of signatures; may be negative.
    exposure_errors : ndarray of shape (tumors, k)
        Standard errors of these estimates, the signatures being fixed.
    overdispersion : float
        a, where the variance of a count with mean μ is μ + a μ²; 0 for Poisson counts.
    reconstruction : ndarray of shape (tumors,)
        Cosine between each tumor's counts and what the signatures make of it.
    matches : tuple of Match
        The known signature nearest to each, if a catalogue was given.

    See Also
    --------
    find_signatures : Makes one from counts.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import find_signatures
    >>> rng = np.random.default_rng(0)
    >>> exposures = 500 * rng.dirichlet([0.2] * 3, 120)
    >>> counts = rng.poisson(exposures @ rng.dirichlet([0.2] * 40, 3))
    >>> found = find_signatures(counts, 3, evidence=False)
    >>> found.exposures.shape, found.exposure_errors.shape
    ((120, 3), (120, 3))
    """

    kind: ClassVar[str] = "signatures"
    words: ClassVar[Words] = Words(
        "Signatures", "signature", "tumor", "channel", "largest channels"
    )

    channels: Annotated[NDArray[np.str_], Shape("channels")]
    tumors: Annotated[NDArray[np.str_], Shape("tumors")]
    unselected: Annotated[NDArray[np.float64], Shape("tumors", "k")]
    exposure_errors: Annotated[NDArray[np.float64], Shape("tumors", "k")]
    overdispersion: float
    reconstruction: Annotated[NDArray[np.float64], Shape("tumors")]
    matches: tuple[Match, ...] = ()

    @property
    def signatures(self) -> Floats:
        """Signatures (k, channels); each sums to one."""
        return np.asarray(self.components)

    @property
    def exposures(self) -> Floats:
        """Number of mutations (tumors, k) due to each signature."""
        return np.asarray(self.weights)

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the tumors."""
        return tuple(map(str, self.tumors))

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the channels."""
        return tuple(map(str, self.channels))

    @property
    def share(self) -> Floats:
        """Share of all mutations due to each signature."""
        return shares(self.exposures)

    def largest(self, n: int = 10) -> list[list[str]]:
        """Return the channels with the largest probabilities."""
        return names_of_largest(self.signatures, self.column_names, n)

    def exposure_intervals(
        self, level: Annotated[float, Within(0, 1)] = 0.95
    ) -> tuple[Floats, Floats]:
        """Return lower and upper ends of intervals for the exposures, given the signatures.

        The intervals are centered at estimates without selection, so that a signature which is
        not used in a tumor has one too. They contain the exposures.
        """
        reach = norm.ppf(0.5 + level / 2) * self.exposure_errors
        lower = np.clip(self.unselected - reach, 0.0, self.exposures)
        return lower, np.maximum(self.unselected + reach, self.exposures)

    def compared_with(self, reference: Any) -> Signatures:
        """Return the answer with the nearest signatures of a catalogue, and names after them.

        Parameters
        ----------
        reference : path, frame or array
            Known signatures by channel, such as a file of COSMIC.
        """
        matches = compare(self.signatures, self.column_names, reference)
        return replace(self, matches=matches)

    def match_table(self) -> pandas.DataFrame:
        """Return for each signature the nearest known one, its cosine and a decomposition."""
        import pandas

        if not self.matches:
            raise InvalidInput("there is no catalogue: call compared_with(reference) first")
        return pandas.DataFrame(
            {
                "nearest": [m.name for m in self.matches],
                "cosine": [m.cosine for m in self.matches],
                "decomposition": [
                    " + ".join(f"{share:.0%} {name}" for name, share in m.parts)
                    for m in self.matches
                ],
                "decomposition cosine": [m.parts_cosine for m in self.matches],
            },
            index=list(self.component_names),
        )

    def scores(self) -> dict[str, float]:
        """Return how well the signatures reconstruct the tumors."""
        return {
            "median cosine of a tumor and its reconstruction": float(np.median(self.reconstruction))
        }

    def matrix_of(self, data: object) -> Floats:
        """Return counts (tumors, channels) in the order of the answer's channels."""
        table = labelled(data, "Tumor")
        ordered = table.ordered(self.column_names, "counts")
        if len(table.channels) > len(self.channels):
            raise InvalidInput(
                f"counts has {len(table.channels)} channels; the signatures have "
                f"{len(self.channels)}: leave out the others"
            )
        return ordered.counts()

    def read(self, path: Path, options: ReadOptions) -> Any:
        """Read a table of counts."""
        return path

    def transform(self, data: object) -> Floats:
        """Return exposures of new tumors to these signatures."""
        counts = self.matrix_of(data)
        prevalence = Extracted(self.signatures, self.exposures).prevalence
        tumors = Tumors(counts, self.overdispersion)
        return exposures_of(tumors, self.signatures, prevalence)


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
    table = labelled(counts, "Tumor")
    values = table.counts()
    if reference is not None:  # an error now, not after the search
        reference = labelled(reference, "signature").ordered(table.channels, "the catalogue")
    check_number("n_signatures", n_signatures, min(values.shape), "tumors and channels")
    with interruption(on_interrupt) as pressed:
        run = Run(sys.maxsize, callback=callback, name="signatures", on_interrupt=on_interrupt)
        answer = _found(table, values, n_signatures, run)
        if reference is not None:
            answer = answer.compared_with(reference)
        if not evidence or run.stop_reason is not StopReason.CONVERGED:
            return answer
        with pressed.dispensable() if pressed else nullcontext():
            return confirm(values, answer, random_state=random_state)
        return replace(answer, notes=(*answer.notes, "interrupted: not judged by unseen tumors"))


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
    notes = _notes(values, table.channels, n_signatures, len(signatures), tumors.overdispersion)
    if run.stop_reason is not StopReason.CONVERGED:
        notes.append("the search was stopped early: signatures may be missing or superfluous")
    return Signatures(
        factorization=replace(plain, certificate=certify(values, plain)),
        notes=tuple(notes),
        channels=np.array(table.channels, dtype=np.str_),
        tumors=np.array(table.names, dtype=np.str_),
        unselected=unselected,
        exposure_errors=errors,
        overdispersion=tumors.overdispersion,
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


def _notes(
    counts: Floats, channels: tuple[str, ...], wanted: int | None, found: int, a: float
) -> list[str]:
    """Return notes on the choices made and on unusual counts."""
    notes = []
    if wanted is None:
        notes.append(f"number of signatures found from the data: {found}")
    elif found != wanted:
        notes.append(f"{found} signatures were found instead of {wanted}")
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
    if a > 0:
        notes.append(f"counts vary more than Poisson counts: variance μ + {a:.2g} μ²")
    return notes
