"""The answer of `find_signatures`: signatures, exposures, and matches with known signatures."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from provenmf.applications.signatures.catalogue import CATALOGUE, Match, compare, labelled
from provenmf.applications.signatures.model import Extracted, Tumors, exposures_of
from provenmf.arguments import Within
from provenmf.errors import InvalidInput, optional
from provenmf.results.answers import Answer, ReadOptions, Words, names_of_largest, shares
from provenmf.results.states import Shape

if TYPE_CHECKING:
    import pandas

Floats = NDArray[np.float64]
KNOWN_NAME = re.compile(r" \(.* [01]\.\d\d\)$")  # behind the name of a signature


@dataclass(frozen=True, eq=False, repr=False)
class Signatures(Answer):
    """Signatures of mutations, and how many mutations of each tumor are due to each of them.

    Parameters
    ----------
    factorization, notes, component_names
        As in every `Answer`; weights are the exposures, and its names those of tumors and
        mutation types.
    unselected : ndarray of shape (tumors, k)
        Estimates of the exposures without selection of signatures; may be negative.
    exposure_errors : ndarray of shape (tumors, k)
        Standard errors of these estimates, the signatures being fixed.
    overdispersion : float
        a, where the variance of a count with mean μ is μ + a μ²; 0 for Poisson counts.
    mutations : ndarray of shape (tumors,)
        Number of mutations in each tumor.
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

    unselected: Annotated[NDArray[np.float64], Shape("tumors", "k")]
    exposure_errors: Annotated[NDArray[np.float64], Shape("tumors", "k")]
    overdispersion: float
    mutations: Annotated[NDArray[np.float64], Shape("tumors")]
    reconstruction: Annotated[NDArray[np.float64], Shape("tumors")]
    matches: tuple[Match, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.unselected.shape != self.weights.shape:
            raise InvalidInput(f"unselected has shape {self.unselected.shape}, unlike the weights")
        if len(self.matches) not in (0, self.n_components):
            raise InvalidInput(f"{len(self.matches)} matches for {self.n_components} signatures")

    @property
    def signatures(self) -> Floats:
        """Signatures (k, channels); each sums to one."""
        return np.asarray(self.components)

    @property
    def exposures(self) -> Floats:
        """Number of mutations (tumors, k) due to each signature."""
        return np.asarray(self.weights)

    @property
    def channels(self) -> NDArray[np.str_]:
        """Names of the mutation types."""
        return np.array(self.column_names, dtype=np.str_)

    @property
    def tumors(self) -> NDArray[np.str_]:
        """Names of the tumors."""
        return np.array(self.row_names, dtype=np.str_)

    @property
    def found_by(self) -> str:
        """Source of the signatures."""
        return "penalized likelihood"

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
        """Return the answer with the nearest signatures of a catalogue, and names that tell them.

        Parameters
        ----------
        reference : path, frame or array
            Known signatures by channel, such as a file of COSMIC.
        """
        known = labelled(reference, "signature")
        matches = compare(self.signatures, tuple(self.column_names), known)
        names = (
            f"{KNOWN_NAME.sub('', name)} ({match.name} {match.cosine:.2f})"
            for name, match in zip(self.component_names, matches)
        )
        notes = self.notes
        if not known.named:
            notes += (f"{CATALOGUE} does not name its channels: taken in the order of the counts",)
        return replace(self, matches=matches, component_names=tuple(names), notes=notes)

    def match_table(self) -> pandas.DataFrame:
        """Return for each signature the nearest known one, its cosine and a decomposition."""
        pandas = optional("pandas", "a table", "files")
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
            index=pandas.Index(self.component_names, name="signature"),
        )

    def row_facts(self) -> dict[str, NDArray[np.float64]]:
        """Return each tumor's number of mutations and the cosine of its reconstruction."""
        return {"mutations": self.mutations, "cosine of fit": self.reconstruction}

    def tables(self) -> dict[str, pandas.DataFrame]:
        """Return the tables of every answer, tumors, and intervals and matches of signatures."""
        tables = super().tables()
        exposures = tables["tumor_exposures"] = tables.pop("tumor_weights")
        for name, ends in zip(("exposures_lower", "exposures_upper"), self.exposure_intervals()):
            tables[name] = exposures * 0 + ends
        tables["tumors"] = exposures.iloc[:, :0].assign(**self.row_facts())
        if self.matches:
            tables["overview"] = tables["overview"].join(self.match_table())
        return tables

    def scores(self) -> dict[str, float]:
        """Return how well the signatures reconstruct the tumors."""
        return {
            "median cosine of a tumor and its reconstruction": float(np.median(self.reconstruction))
        }

    def matrix_of(self, data: object) -> Floats:
        """Return counts (tumors, channels) in the order of the answer's channels."""
        table = labelled(data, "Tumor").checked("counts")
        ordered = table.ordered(tuple(self.column_names), "counts")
        if len(table.channels) > len(self.channels):
            raise InvalidInput(
                f"counts has {len(table.channels)} channels; the signatures have "
                f"{len(self.channels)}: leave out the others"
            )
        return ordered.values

    def read(self, path: Path, options: ReadOptions) -> Any:
        """Read a table of counts."""
        return path

    def transform(self, data: object) -> Floats:
        """Return exposures of new tumors to these signatures."""
        counts = self.matrix_of(data)
        prevalence = Extracted(self.signatures, self.exposures).prevalence
        tumors = Tumors(counts, self.overdispersion)
        return exposures_of(tumors, self.signatures, prevalence)
