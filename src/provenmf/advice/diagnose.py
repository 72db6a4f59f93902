"""Say which guarantee can apply to data: try the methods and compare their certificates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from provenmf.advice.number import Spectrum, spectrum_of
from provenmf.arguments import checked
from provenmf.certificate.uniqueness import ABOUT_PARTS
from provenmf.data import as_blocks
from provenmf.errors import InvalidInput, counted
from provenmf.methods import CATALOGUE, estimator_class, make_estimator
from provenmf.results import Certificate
from provenmf.results.certificate import finite_or_none
from provenmf.results.display import table_lines, wrapped


@dataclass(frozen=True)
class Settings:
    """Thresholds of the advice; `benchmarks/recovery/diagnose.py` shows how often it is right."""

    wide: int = 5  # times more columns than rows: the data may have to be transposed
    # A model explains data nearly as well as any product of its rank up to this factor, and this
    # error; with an error above the last number it explains too little to speak of one.
    nearly: float = 1.5
    exactly: float = 1e-3
    explained: float = 0.3


SETTINGS = Settings()

TABLE_HEADER = ("method", "holds", "fails", "unknown", "error", "floor", "bound")
TABLE_LEGEND = (
    "holds, fails, unknown: conditions of the method's theory; error: relative error; floor: least "
    "error that any factorization of this rank can have; bound: error that the method's theory "
    "proves on these data"
)
COMPARED = "hals"  # fits any nonnegative matrix: its theory says nothing about the data
WORSE_THAN_ZEROS = "fits worse than all zeros would (error above 1): do not use it here."


@dataclass(frozen=True)
class Diagnosis:
    """Evidence for the number of components, and a certificate of each method tried.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns of the data.
    spectrum : Spectrum
        Singular values over the noise, which suggest the number of components.
    n_components : int
        The number that the methods were tried with.
    agreed : bool
        Whether it is the number of singular values above the noise, and that number is clear.
    certificates : dict
        Certificate of each method tried, by its name. HALS has no conditions: compare its error.
    refusals : dict
        Methods that do not accept this data, with the reason.
    recommended : str or None
        A method with a proved bound or with all its conditions established, if any.
    given : bool
        Whether the number was given and not suggested by the data.

    See Also
    --------
    diagnose : makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import diagnose
    >>> diagnose(np.eye(6) + 0.1, 6, methods="spa").agreed
    False
    """

    shape: tuple[int, int]
    spectrum: Spectrum
    n_components: int
    agreed: bool
    certificates: dict[str, Certificate]
    refusals: dict[str, str]
    given: bool = False

    @property
    def recommended(self) -> str | None:
        """The first method whose theory holds here, or None; one component is not recommended."""
        if self.n_components == 1 and not self.agreed:
            return None
        ours = self.certificates.items()
        return next((m for m, c in ours if m != COMPARED and applies(c)), None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "shape": list(self.shape),
            "over_noise": [finite_or_none(float(ratio)) for ratio in self.spectrum.over_noise],
            "n_components": self.n_components,
            "agreed": self.agreed,
            "recommended": self.recommended,
            "certificates": {m: c.to_dict() for m, c in self.certificates.items()},
            "refusals": self.refusals,
        }

    def __str__(self) -> str:
        sure = "the data determine it"
        if not self.agreed:
            alone = "the data alone do not determine it"
            sure = "as given; the data alone do not confirm it" if self.given else alone
        rows = [_row(method, found) for method, found in self.certificates.items()]
        worse = [
            f"{estimator_class(method).__name__} {WORSE_THAN_ZEROS}"
            for method, certificate in self.certificates.items()
            if relative_error(certificate) > 1
        ]
        lines = [
            f"{self.shape[0]:,} rows (data points), {self.shape[1]:,} columns",
            *wrapped(turned_note(self.shape)),
            "",
            *wrapped(f"Number of components: {self.n_components} ({sure}); {self.spectrum}."),
            "",
            *table_lines(TABLE_HEADER, rows),
        ]
        lines += wrapped(*(f"{m:14}{reason}" for m, reason in self.refusals.items()), indent="  ")
        return "\n".join([*lines, "", *wrapped(TABLE_LEGEND, *worse), "", *wrapped(self._advice())])

    def _advice(self) -> str:
        if self.recommended is not None:
            name = estimator_class(self.recommended).__name__
            if self.agreed:
                return f"The theory of {name} applies to these data: use it."
            return (
                f"The theory of {name} applies to these data with "
                f"{counted(self.n_components, 'component')}, a number that the data do not "
                "determine."
            )
        unproved = "No method has all its conditions established on these data."
        near = next((m for m, c in self.certificates.items() if _near_the_floor(c)), None)
        if near is None or (self.n_components == 1 and not self.agreed):
            return (
                f"{unproved} The results may still be good: compare errors with the floor, and "
                "read the certificates."
            )
        return (
            f"{unproved} {estimator_class(near).__name__} fits the data by its error alone, which "
            f"is at most {SETTINGS.nearly:g} times the least error of any factorization of this "
            f"rank, plus {SETTINGS.exactly:g}."
        )


@checked()
def diagnose(
    X: object, n_components: int | None = None, *, methods: str | Sequence[str] | None = None
) -> Diagnosis:
    """Say how many components the data support and which method's theory applies.

    Parameters
    ----------
    X : array, sparse matrix, frame, or a matrix on disk, of shape (n_rows, n_columns)
        Rows are data points.
    n_components : int or None, default=None
        Number of components to try the methods with; None uses the number of singular values above
        the noise or, if that is not clear, the one with the largest fall after it.
    methods : str, sequence of str or None, default=None
        The methods to try, in order of preference; None tries those whose certificates can
        establish their conditions from the data alone, and HALS.

    Returns
    -------
    Diagnosis
        Prints as a table.

    See Also
    --------
    factorize : fits one method.

    Examples
    --------
    >>> from provenmf import diagnose
    >>> from provenmf.datasets.separable import dirichlet_mixtures
    >>> sample = dirichlet_mixtures(n_rows=100, n_columns=20, n_components=4, random_state=0)
    >>> found = diagnose(sample.data, methods=["spa"])
    >>> found.n_components, found.agreed, found.recommended
    (4, True, 'spa')
    """
    named = [methods] if isinstance(methods, str) else list(() if methods is None else methods)
    names = named or [*advised_methods(), COMPARED]
    for name in names:
        estimator_class(name)  # refuses an unknown one
    blocks = as_blocks(X)
    spectrum, given = spectrum_of(blocks), n_components is not None
    if n_components is None:
        n_components = spectrum.likeliest
    certificates, refusals = {}, {}
    for method in names:
        try:
            fitted = make_estimator(method, n_components, random_state=0).fit(X)
            certificates[method] = fitted.certificate_
        except InvalidInput as error:
            refusals[method] = str(error)
    return Diagnosis(
        shape=blocks.shape,
        spectrum=spectrum,
        n_components=n_components,
        agreed=spectrum.is_clear and n_components == spectrum.above,
        certificates=certificates,
        refusals=refusals,
        given=given,
    )


def advised_methods(*, quick: bool = False) -> list[str]:
    """Return the methods that `diagnose` tries by default, the preferred one first.

    Only those whose conditions can be checked in a few passes over the rows are `quick`.
    """
    traits = {stem: estimator_class(stem).traits for stem in CATALOGUE}
    advised = [
        (known.advised, stem)
        for stem, known in traits.items()
        if known.advised is not None
        and (not quick or (known.finds_number and not known.compares_rows))
    ]
    return [stem for _, stem in sorted(advised)]


def relative_error(certificate: Certificate) -> float:
    """Return the relative error that a certificate states, NaN if it has none."""
    value = certificate.measures.get("relative_error")
    return value if isinstance(value, float) else float("nan")


def applies(certificate: Certificate) -> bool:
    """Tell whether a bound is proved, or every condition of the method is established."""
    statuses = _statuses(certificate)
    return bool(certificate.bounds.get("relative_error")) or (
        bool(statuses) and all(status == "holds" for status in statuses)
    )


def _near_the_floor(certificate: Certificate) -> bool:
    floor = certificate.bounds.get("relative_error_lower_bound")
    if floor is None:
        return False
    return relative_error(certificate) <= min(
        SETTINGS.nearly * floor + SETTINGS.exactly, SETTINGS.explained
    )


def _statuses(certificate: Certificate) -> list[str]:
    """Return the status of each condition of the method, without those about uniqueness."""
    return [c.status for c in certificate.checks if c.name not in ABOUT_PARTS]


def _row(method: str, certificate: Certificate) -> list[str]:
    statuses = _statuses(certificate)
    kinds = ("holds", "fails", "unknown")
    counts = [str(statuses.count(kind)) if method != COMPARED else "-" for kind in kinds]
    floor = certificate.bounds.get("relative_error_lower_bound")
    bound = certificate.bounds.get("relative_error")
    proved = ["-" if value is None else f"{value:.3g}" for value in (floor, bound)]
    return [method, *counts, f"{relative_error(certificate):.3g}", *proved]


def turned_note(shape: tuple[int, int]) -> str:
    """Return a hint that columns may be the data points; empty unless there are many."""
    if shape[1] < SETTINGS.wide * shape[0]:
        return ""
    return (
        f"There are {shape[1]:,} columns for {shape[0]:,} rows. If the columns are the data "
        "points, use --transpose (X.T in Python)."
    )
