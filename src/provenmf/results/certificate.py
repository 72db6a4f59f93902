"""Certificates: checks, bounds, estimates and measures of a factorization."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from provenmf.results.estimates import Evidence

Status = Literal["holds", "fails", "unknown"]
Direction = Literal["<=", ">="]
Measure = float | tuple[float | None, ...]


@dataclass(frozen=True)
class Check:
    """One condition of one theorem, measured on this data.

    Parameters
    ----------
    name : str
        The condition.
    theorem : str
        Where it comes from.
    status : {"holds", "fails", "unknown"}
        "holds" or "fails" only if that was established; a condition with a hidden constant is
        "unknown", its `value` then being the ratio to what is wanted.
    value, threshold : float or None
        What was measured, and what it is compared with; numbers that are not finite say nothing
        and become None.
    note : str
        What the numbers are, or which piece is missing.
    direction : {"<=", ">="}
        On which side of the threshold the value must be.
    in_words : str
        One sentence for the verdict, in the words of a reader who does not know the theorem;
        empty if the verdict can do without.

    Examples
    --------
    >>> from provenmf.results import Check
    >>> Check("rows inside", "a lemma", "holds", 0.1, 0.2).direction
    '<='
    """

    name: str
    theorem: str
    status: Status
    value: float | None = None
    threshold: float | None = None
    note: str = ""
    direction: Direction = "<="
    in_words: str = ""

    def __post_init__(self) -> None:
        if self.status not in ("holds", "fails", "unknown"):
            raise ValueError(f"status={self.status!r} is not 'holds', 'fails' or 'unknown'")
        if self.direction not in ("<=", ">="):
            raise ValueError(f"direction={self.direction!r} is not '<=' or '>='")
        object.__setattr__(self, "value", finite_or_none(self.value))
        object.__setattr__(self, "threshold", finite_or_none(self.threshold))


@dataclass(frozen=True)
class Certificate:
    """Proved, measured and estimated statements about a factorization, kept apart.

    Numbers that are not finite say nothing and are left out of bounds and measures.

    Parameters
    ----------
    method : str
        The method whose result this is about.
    checks : tuple of Check
        Conditions of theorems with their status on this data.
    bounds : mapping of str to float
        *Proved*: only what follows for this data, e.g. `relative_error_gap`.
    measures : mapping of str to float or tuple of floats
        *Measured*: computed from data and result, with no assumption behind them.
    evidence : Evidence or None
        *Estimated*: what rows that were not used to find them say about the components.
    recomputed : bool
        Whether this was computed here, from the data, rather than read from a file.

    Examples
    --------
    >>> from provenmf.results import Certificate
    >>> Certificate("spa", measures={"relative_error": 0.25}).verdict
    'The relative error is 0.25. Nothing is proved about the components themselves on this data.'
    """

    method: str
    checks: tuple[Check, ...] = ()
    bounds: Mapping[str, float] = field(default_factory=dict)
    measures: Mapping[str, Measure] = field(default_factory=dict)
    evidence: Evidence | None = None
    recomputed: bool = field(default=True, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", _finite(self.bounds))
        object.__setattr__(self, "measures", _finite(self.measures))

    @property
    def verdict(self) -> str:
        """The certificate in plain words, the most important first."""
        from provenmf.results.verdict import verdict

        return verdict(self)

    def join(self, other: Certificate) -> Certificate:
        """Put the statements of two certificates about one result together."""
        return Certificate(
            method=self.method,
            checks=self.checks + other.checks,
            bounds={**self.bounds, **other.bounds},
            measures={**self.measures, **other.measures},
            evidence=self.evidence or other.evidence,
            recomputed=self.recomputed and other.recomputed,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: verdict, statements, and a sentence for each number."""
        return {
            "verdict": self.verdict,
            "method": self.method,
            "checks": [vars(check).copy() for check in self.checks],
            "bounds": dict(self.bounds),
            "measures": dict(self.measures),
            "evidence": None if self.evidence is None else vars(self.evidence).copy(),
            "meanings": self.meanings(),
        }

    def meanings(self) -> dict[str, str]:
        """Return a sentence for each number, by its name."""
        measured = {name: meaning(name) for name in self.measures}
        return measured | {name: proved(name) for name in self.bounds}

    def __str__(self) -> str:
        from provenmf.results.verdict import printed

        return printed(self)

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the verdict, with everything else to unfold."""
        from provenmf.results.display import certificate_html

        return certificate_html(self)


def finite_or_none(value: float | None) -> float | None:
    """Return the number, or None where it is missing or not finite."""
    return None if value is None or not math.isfinite(value) else float(value)


def in_digits(value: Measure | None) -> str:
    """Return a number for readers; for several the range."""
    if value is None:
        return "-"
    if isinstance(value, tuple):
        known = [v for v in value if v is not None]
        return f"{min(known):.4g} to {max(known):.4g}" if known else "-"
    return f"{value:.4g}"


def rounded_up(value: float, digits: int = 2) -> str:
    """Round a positive number up to a few digits: what is "at most" this stays true."""
    return _rounded(value, digits, "ROUND_CEILING")


def rounded_down(value: float, digits: int = 4) -> str:
    """Round a positive number down to a few digits: what is "at least" this stays true."""
    return _rounded(value, digits, "ROUND_FLOOR")


def _rounded(value: float, digits: int, towards: Literal["ROUND_CEILING", "ROUND_FLOOR"]) -> str:
    exact = Decimal(repr(value))  # as written, which stands for the same number
    last = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return f"{float(exact.quantize(last, rounding=towards)):.{digits}g}" if value > 0 else "0"


def _finite(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return finite numbers only; in a tuple the others become None, to keep the places."""
    kept: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, tuple):
            kept[name] = tuple(finite_or_none(v) for v in value)
        elif finite_or_none(value) is not None:
            kept[name] = float(value)
    return kept


# A sentence for each number that a certificate can hold, by its short identifier; the printed
# certificate, the report and JSON all read it.

SCALED = "scaled_"  # before the name of a quantity of rows that are divided by their sums
# Measured: the quantity.
MEASURED = {
    "relative_error": "relative error of the factorization, ‖X − WC‖ / ‖X‖",
    "weights_optimality_residual": "how far the weights are from the best ones for these "
    "components (0 is best)",
    "components_optimality_residual": "how far the components are from the best ones for these "
    "weights (0 is best)",
    "separability_residual": "largest distance of a row to the mixtures of the anchors, as a share "
    "of the longest row",
    "typical_separability_residual": "median distance of a row to the mixtures of the anchors, as "
    "a share of the longest row",
    "component_amplification": "by how much the least-squares weight of each component moves, at "
    "most, when a row moves by a length of 1",
    "smallest_singular_value": "smallest singular value of the components",
    "anchor_margin": "distance of an anchor to the mixtures of all other rows, at least",
    "rows_near_anchors": "number of rows so near to an anchor that they count as the same",
    "anchor_radius": "largest distance of these rows from their anchor",
    "corner_distance": "distance of each anchor to a corner of the noise-free data, at most, if "
    "noise changed no row by more than its own distance to the mixtures of the anchors, or the "
    "median of these where that is more",
    "size_angles": "size angles of the cones, in radians",
    "smallest_axis_angle": "smallest angle between two axes, in radians",
    "largest_sine": "largest sine of a size angle",
    "size_angles_slack": "by how much a size angle could be smaller, at most, in radians",
    "relative_distance_from_axes": "distance of the rows from the axes of their cones, relative to "
    "their length",
    "kappa": "κ: least distance of an anchor to the mixtures of the other anchors",
    "purest_other_row": "largest weight of an anchor in a row that is not an anchor (1: also pure)",
    "delta": "δ: largest distance of a row to the mixtures of the anchors",
    "rho": "ρ: the largest squared distance over the mean one",
    "gamma": "γ: length of the longest anchor",
    "robustness": "γ: least distance of a component to the affine hull of the others, as a share "
    "of the longest row",
    "gcc_r": "r: largest sum of the weights of a row, each component's largest weight being 1",
    "gcc_k": "k: the mean squared weight of each of the D components is at most 2k/D",
    "gcc_m": "m: the mean product of two components' weights is at most m/D²",
    "gcc_lambda": "λ: the second moments of the weights have no eigenvalue below λk/D",
    "C1": "C₁: k times the largest mean of a weight, weights in [0, 1]",
    "c2": "c₂: k times the smallest mean square of a weight",
    "C2": "C₂: k times the largest mean square of a weight",
    "C_nu": "C_ν: largest entry of the noise, features having size one",
    "inverse_infinity_norm": "‖A†‖_∞: by how much decoding can enlarge the noise",
    "moore_penrose_infinity_norm": "the same for the Moore-Penrose inverse",
    "noise_level": "root mean square length of the residual of a row",
    "noise_blow_up": "factor by which noise can be enlarged (Theorem 5)",
    "divergence": "Kullback-Leibler divergence of the data from the product, D(X || WC)",
    "deviance_explained": "share of the divergence from the product of the margins that is "
    "explained",
    "negative_binomial_deviance_explained": "the same of the deviance of negative binomial counts",
    "overdispersion": "a of the variance μ + a μ² of a count with mean μ, as it was estimated",
    "decay_order_q": "order q of decay of the weights",
    "other_fit_excess": "share by which the error of another fit that was compared is larger",
    "other_fit_turn_degrees": "angle of each component to the nearest one of that fit, in degrees",
    "component_turn_degrees": "angle by which each component was turned without changing the "
    "product, in degrees",
    "error": "error of the factorization, ‖X − WC‖; the data are zero",
}
# Proved: the beginning of a sentence that ends with the value.
PROVED = {
    "relative_error_lower_bound": "the relative error of any factorization of this rank is at "
    "least",
    "weight_amplification": "a row that moves by a length of 1 moves its least-squares weights by "
    "at most",
    "relative_error_gap": "any other factorization of this rank lowers the relative error by at "
    "most",
    "relative_error": "the relative error is at most",
    "relative_error_max_form": "in the simpler form of the theorem, the relative error is at most",
    "cluster_relative_error": "with these clusters, the relative error is at most",
    "anchor_noise": "each anchor is a corner of the noise-free data, not a "
    "mixture of other rows, if noise changed no row by more than",
    "anchor_group_noise": "each anchor, or a row as near to it as "
    "stated below, is a corner of the noise-free data, if noise changed no row by more than",
    "located_corners": "anchors with a corner of the noise-free data nearer than half way to the "
    "next anchor, if noise changed no row by more than its own distance to the mixtures of the "
    "anchors, or the median of these where that is more: at least",
    "space_angle_degrees": "the space spanned by any factorization of this rank that fits at least "
    "as well is within an angle of that of the leading singular vectors, in degrees, of at most",
    "other_fit_mixing": "any other nonnegative parts with the same product are mixtures of these; "
    "the root of the sum of squares of the shares mixed in is at least",
    "unique_components": "number of components that every nonnegative factorization of the "
    "same product contains",
    "largest_hull_distance": "the distance of every row to the mixtures of the anchors is at most",
    "weights_divergence_gap": "other weights of these components lower the divergence by at most",
    "components_divergence_gap": "other components lower the divergence for these weights "
    "by at most",
}


def meaning(name: str) -> str:
    """Return the sentence of a measured quantity."""
    return _of_scaled_rows(name, MEASURED) or name.replace("_", " ")


def proved(name: str) -> str:
    """Return the beginning of the sentence of a proved bound, which its value completes."""
    return _of_scaled_rows(name, PROVED) or meaning(name)


def _of_scaled_rows(name: str, sentences: Mapping[str, str]) -> str:
    """Return the sentence of a quantity, prefixed if it is about scaled rows."""
    plain = name.removeprefix(SCALED)
    said = sentences.get(plain, "")
    return f"with all rows divided by their sums: {said}" if said and plain != name else said
