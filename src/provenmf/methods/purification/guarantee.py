"""Conditions of Li, Liang and Risteski (2016), measured on an explanation y = A x + ν.

The components and weights found explain the data with noise ν = y − A x; the assumptions are
measured on this explanation. Scale is fixed as in the paper: weights in [0, 1] (each divided by its
largest value, the component multiplied by it) and ‖A‖_1 = 1 (without which Theorem 1's bound on
‖N‖_1 would depend on the unit of the data). The theorems hold for *some* absolute constant G and a
final error proportional to c; what we report is the least G·c that the condition allows, so smaller
is better and no status can be more than "unknown":

| theorem | G·c at least |
|---|---|
| 1, adversarial noise | C_ν max(d, k‖A†‖_∞) |
| 2, unbiased noise | C_ν max(d, k‖A†‖_∞) / √k |
| 6, adversarial noise | C_ν max(d C₁²/c₂², k‖A†‖_∞ C₁⁵/c₂⁴), and ‖N⁰‖_∞ ‖A†‖_∞ C₁³/c₂² |
| 7, unbiased noise | C_ν max(d, k‖A†‖_∞) C₁ / (c₂ √k) |

Theorems 6 and 7 also need C₁³/(c₂² k) ≤ G (linear sparsity) and C₂ ≤ 2c₂ (balanced proportions).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.data import Rows
from provenmf.errors import InvalidInput
from provenmf.linalg.left_inverse import (
    LeftInverse,
    dependent_features,
    least_infinity_inverse,
    moore_penrose_inverse,
)
from provenmf.linalg.norms import largest_row_sum
from provenmf.results import Certificate, Check, Status

Floats = NDArray[np.float64]

PAPER = "Li16"
INDEPENDENT = "independent features (A1)"
WARM_START = 0.1  # ℓ of the theorems
BY_CHANCE = 1e-3  # how often independent weights may be called correlated


@dataclass(frozen=True)
class Model:
    """The paper's parameters of one explanation, in its scale."""

    k: int
    d: int
    c1: float
    c2_low: float
    c2_high: float
    noise: float
    inverse_norm: float

    @property
    def spread(self) -> float:
        """max(d, k‖A†‖_∞)."""
        return max(self.d, self.k * self.inverse_norm)


def certify(fit: Fit) -> Certificate:
    """Measure the conditions of Theorems 1, 2, 6 and 7 on the factorization."""
    components, peaks = fit.components, fit.weights_peaks
    independence = independence_check(components)
    idle = np.flatnonzero(peaks <= 0)
    if independence.status != "holds" or idle.size:
        note = f"no row uses {', '.join(map(str, idle))}"
        absent = Check("every feature appears (A2)", PAPER, "fails", note=note)
        return Certificate(fit.method, (independence, absent) if idle.size else (independence,))
    try:
        inverse = least_infinity_inverse(components)
    except InvalidInput as error:
        unclear = Check(INDEPENDENT, PAPER, "unknown", note=str(error))
        return Certificate(fit.method, checks=(unclear,))
    model = measured_model(fit, inverse, peaks)
    checks = (
        independence,
        proportions_check(model),
        correlation_check(fit),
        start_check(),
        *noise_checks(model),
    )
    measures = {
        "C1": model.c1,
        "c2": model.c2_low,
        "C2": model.c2_high,
        "C_nu": model.noise,
        "inverse_infinity_norm": model.inverse_norm,
        "moore_penrose_infinity_norm": model.inverse_norm
        * moore_penrose_inverse(components * peaks[:, None]).infinity_norm
        / largest_row_sum(inverse.rows / peaks[:, None]),
    }
    return Certificate(fit.method, checks=checks, measures=measures)


def measured_model(fit: Fit, inverse: LeftInverse, peaks: Floats) -> Model:
    """Measure C₁, c₂, C₂, C_ν and ‖A†‖_∞ of the explanation, weights in [0, 1] and ‖A‖_1 = 1."""

    def moments(weights: Floats) -> tuple[Floats, Floats]:
        scaled = weights / peaks
        return scaled.sum(axis=0), np.einsum("ij,ij->j", scaled, scaled)

    (n, d), k = fit.given.shape, fit.n_components
    means, squares = (sums / n for sums in fit.weight_rows.sum(moments))
    unit = largest_row_sum(fit.components * peaks[:, None])
    return Model(
        k=k,
        d=d,
        c1=k * float(means.max()),
        c2_low=k * float(squares.min()),
        c2_high=k * float(squares.max()),
        noise=fit.largest_residual_entry / unit,
        inverse_norm=largest_row_sum(inverse.rows / peaks[:, None]) * unit,
    )


def independence_check(components: Floats) -> Check:
    """Check (A1): no component is a combination of the others."""
    dependent = dependent_features(components)
    if not dependent:
        return Check(INDEPENDENT, PAPER, "holds")
    names = ", ".join(map(str, dependent))
    k, d = components.shape
    if k > d or not components.any(axis=1).all():
        note = f"components {names} are linearly dependent"
        return Check(INDEPENDENT, PAPER, "fails", note=note)
    note = f"components {names} are linearly dependent as far as double precision tells"
    return Check(INDEPENDENT, PAPER, "unknown", note=note)


def proportions_check(model: Model) -> Check:
    """Check C₂ ≤ 2c₂: no feature appears much more than another."""
    ratio = model.c2_high / model.c2_low
    status: Status = "holds" if ratio <= 2.0 else "fails"
    note = "" if ratio <= 2.0 else "balance=True solves a rescaled problem where it holds"
    return Check("balanced proportions C2/c2", f"{PAPER} Thm 6, 7", status, ratio, 2.0, note)


def correlation_check(fit: Fit) -> Check:
    """Check (A2): independent weights do not correlate beyond what a sample of this size shows."""
    name = "uncorrelated weights (A2)"
    if fit.n_components < 2 or fit.given.n_rows < 3:
        return Check(name, PAPER, "unknown", note="too few weights to tell")
    found, chance = correlations_and_chance(fit.weight_rows, BY_CHANCE)
    worst = int(np.argmax(found - chance))
    status: Status = "fails" if found[worst] > chance[worst] else "unknown"
    note = (
        "weights this correlated mix the features; consider AND. Independent weights correlate so "
        f"in at most one of {round(1 / BY_CHANCE)} samples, whatever their distribution"
        if status == "fails"
        else "no more than chance may give; independence itself cannot be shown"
    )
    return Check(name, PAPER, status, float(found[worst]), float(chance[worst]), note)


def correlations_and_chance(weights: Rows, failure: float) -> tuple[Floats, Floats]:
    """Return absolute correlations of all pairs of columns, and what chance alone can reach.

    If the columns are independent, some correlation exceeds its bound with probability at most
    `failure`. Constant columns correlate with none.

    If columns a and b are independent and rows exchangeable, every order π of b's entries is
    equally likely given both sets of entries. The deviation of <a, b> from its mean over all orders
    is Σ_l (a_l − min a)(b_π(l) − b̄). Entries in random order are negatively associated (Joag-Dev &
    Proschan 1983, Theorem 2.11) and the factors a_l − min a are not negative, so the exponential
    moments of the sum are at most those of independent draws, and Bernstein's inequality holds:
    with V = σ_b² Σ (a_l − min a)² and M = (max a − min a) max |b − b̄| the sum exceeds
    ML/3 + sqrt((ML/3)² + 2VL) in size with probability at most 2 exp(−L). Rare weights, whose few
    coincidences make large correlations, are thereby allowed for. The bound depends on the two sets
    of entries only, so the better of the two roles may be taken.
    """
    n, sums = weights.sum(lambda rows: (len(rows), rows.sum(axis=0, dtype=np.float64)))
    means, k = sums / n, len(sums)
    ends = list(
        weights.each(lambda rows: (rows.min(axis=0), rows.max(axis=0)) if len(rows) else ())
    )
    lowest = np.min([end[0] for end in ends if end], axis=0) - means
    highest = np.max([end[1] for end in ends if end], axis=0) - means
    size = np.maximum(-lowest, highest)
    constant = size <= n * np.finfo(np.float64).eps * np.maximum(np.abs(means), size)
    unit = np.where(constant, 1.0, size)
    lowest, highest = (np.where(constant, 0.0, end / unit) for end in (lowest, highest))

    def products(rows: NDArray[np.floating]) -> Floats:
        deviations = np.where(constant, 0.0, (rows - means) / unit)
        return np.asarray(deviations.T @ deviations)

    covariance = weights.sum(products)
    squares = np.diag(covariance).copy()
    L = math.log(2 * max(1, k * (k - 1)) / failure)  # two tails, and both roles of each pair
    V = np.outer(squares + n * lowest**2, squares / n)
    M = np.outer(highest - lowest, np.maximum(-lowest, highest)) * L / 3
    chance = M + np.sqrt(M**2 + 2 * V * L)
    lengths = np.where(constant, 1.0, np.sqrt(squares))
    both, pairs = np.outer(lengths, lengths), np.triu_indices(k, 1)
    chance = np.minimum(chance, chance.T)
    return (np.abs(covariance) / both)[pairs], (chance / both)[pairs]


def start_check() -> Check:
    """Report (A3), ‖E⁰‖_s ≤ 1/10, which needs the truth.

    Against the features found nothing follows: a start that never moved would be perfect.
    """
    note = "the true features would have to be known to tell how far the start is from them"
    theorem = f"{PAPER} Thm 1,2,6,7"
    return Check("warm start, mixing (A3)", theorem, "unknown", threshold=WARM_START, note=note)


def noise_checks(model: Model) -> tuple[Check, ...]:
    """Return the least G·c that each theorem's condition on noise or sparsity allows."""
    root, shares = math.sqrt(model.k), model.c1 / model.c2_low
    far = model.k * model.inverse_norm * model.c1 * shares**4
    linear = model.c1**3 / (model.c2_low**2 * model.k)
    return (
        unknown_constant("adversarial noise", "Thm 1", model.noise * model.spread),
        unknown_constant("unbiased noise", "Thm 2", model.noise * model.spread / root),
        unknown_constant("sparsity C1^3/(c2^2 k)", "Thm 6, 7", linear),
        unknown_constant("adversarial noise", "Thm 6", model.noise * max(model.d * shares**2, far)),
        unknown_constant("unbiased noise", "Thm 7", model.noise * model.spread * shares / root),
    )


def unknown_constant(name: str, theorem: str, ratio: float) -> Check:
    """Report a condition `ratio ≤ G·c` whose constant G is not stated."""
    note = "holds if the theorem's constant G is at least this (for c = 1)"
    return Check(name, f"{PAPER} {theorem}", "unknown", ratio, None, note)
