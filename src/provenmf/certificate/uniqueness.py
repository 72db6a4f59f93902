"""Decide whether other nonnegative parts have the same product as the parts that were found.

All statements are about the factors W (n, k) and H (k, d) as computed and about their product WH.
The product is the fit, not the data: where the fit has an error, another product may fit as well.
Factors are taken to 13 digits: an entry below 1e-13 of the largest one in its row of W, or in its
column of H, is zero (after each component was scaled to a largest entry near one). Rounding makes
and unmakes such zeros, and no statement may depend on that. Up to order and scale of the parts,

- *component j unique*: every factorization into k nonnegative parts contains it
  (`components_in_all`); *unique*: all components are, or both factors are sufficiently scattered
  (rigidity.py);
- *locally unique*: none is near (rigidity.py), with the distance that is proved;
- where that fails another factorization was computed (`turn`).

A quick certificate leaves out what takes longer than the fit; `_seconds_of` estimates it.

Krone21  Krone & Kubjas 2021, Uniqueness of nonnegative matrix factorizations by rigidity theory
Huang14  Huang, Sidiropoulos & Swami 2014, Non-negative matrix factorization revisited
Gillis23 Gillis & Rajkó 2023, Partial identifiability for nonnegative matrix factorization
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.certificate.rigidity import EPS, Array, Entries, are_scattered, search
from provenmf.certificate.singular_values import has_independent_rows
from provenmf.data import Rows
from provenmf.linalg.norms import unit_rows
from provenmf.results import Certificate, Check, Measure, in_digits
from provenmf.results.certificate import rounded_down, rounded_up

# The checks here, which are about the parts and are no condition of any method.
EVERYWHERE, NEARBY = "no other parts, same product", "no other parts nearby"
ABOUT_PARTS = (EVERYWHERE, NEARBY)
MOST_COMPONENTS = 30
MOST_ENTRIES = 5_000_000
MOVES = 3  # rounds of moves of every pair of components
SHARE = 0.999  # of the longest possible move, so that no entry becomes zero
NOTICEABLE = 1e-3  # degrees that another factorization must turn a part to be shown
LEFT_OUT = 'left out of a fit, where it would take longer than the fit: certify="full" tries it'
UNIQUE_NEARBY = (
    "The components are unique nearby: small changes of them cannot give the same product, but "
    "another product may fit the data as well."
)


@dataclass(frozen=True)
class Uniqueness:
    """The outcome of the search for a proof; `reach` and `turned` exclude each other."""

    everywhere: bool = False
    in_all: int = 0
    reach: float | None = None
    turned: Array | None = None
    reason: str = ""


def certify(fit: Fit) -> Certificate:
    """Certify that the parts are unique or locally unique, or show how far they can be moved."""
    weights, components = fit.given_rows, fit.factorization.components
    found = examine(weights, components, affords=fit.affords)
    bounds: dict[str, float] = {}
    measures: dict[str, Measure] = {}
    if found.in_all:
        bounds["unique_components"] = float(found.in_all)
    if found.reach is not None:
        bounds["other_fit_mixing"] = found.reach
    if found.turned is not None:
        measures["component_turn_degrees"] = tuple(found.turned.tolist())
    checks = (_check_everywhere(found, fit.n_components), _check_nearby(found))
    return Certificate(fit.method, checks=checks, bounds=bounds, measures=measures)


def _check_everywhere(found: Uniqueness, k: int) -> Check:
    name, theorem = EVERYWHERE, "Huang14"
    if found.everywhere:
        words = f"The components are unique: no other {k} nonnegative ones have the same product."
        if k == 1:
            words = "The component is unique: no other nonnegative one has the same product."
        return Check(name, theorem, "holds", in_words=words)
    kept = "is" if found.in_all == 1 else "are"
    words = (
        f"{found.in_all} of the {k} components {kept} in every nonnegative factorization of the "
    )
    words = f"{words}same product." if found.in_all else ""
    if found.turned is not None:
        note = "another factorization was computed"
        return Check(name, theorem, "fails", note=note, in_words=words)
    note = found.reason or "factors are not seen to be sufficiently scattered"
    return Check(name, theorem, "unknown", note=note, in_words=words)


def _check_nearby(found: Uniqueness) -> Check:
    name, theorem = NEARBY, "Krone21"
    if found.reach is not None:
        least = rounded_down(found.reach, 2)
        note = f"any other parts with this product mix these by at least {least}"
        words = "" if found.everywhere else UNIQUE_NEARBY
        return Check(name, theorem, "holds", found.reach, 0.0, note, direction=">=", in_words=words)
    if found.turned is not None:
        largest = float(found.turned.max())
        words = (
            "The components are not unique: others with the same product exist, and one can turn "
            f"by at least {rounded_down(largest, 2)} degrees."
        )
        note = f"with the same product a component was turned by {rounded_down(largest, 3)} degrees"
        return Check(name, theorem, "fails", note=note, in_words=words)
    if found.everywhere:
        return Check(name, theorem, "holds", note="there are none at all")
    return Check(name, theorem, "unknown", note=found.reason or "not settled")


def examine(
    weights: Rows,
    components: NDArray[np.floating],
    *,
    affords: Callable[[float], bool] = lambda seconds: True,
) -> Uniqueness:
    """Determine to what extent the factorization of weights @ components is unique.

    `affords` says whether a part that takes about this number of seconds is wanted.
    """
    reason = _obstacle(weights, components)
    if reason:
        return Uniqueness(reason=reason)
    if len(components) == 1:
        return Uniqueness(everywhere=True, in_all=1)
    if not affords(_seconds_of(weights.sum(len), *components.shape)):
        return Uniqueness(reason=LEFT_OUT)
    entries = Entries(weights.array(), components)
    if not all(has_independent_rows(f, entries.k) for f in (entries.weights.T, entries.components)):
        return Uniqueness(reason="weights or components are not seen to be independent")
    return _settled(entries)


def _seconds_of(n: int, k: int, d: int) -> float:
    """Estimate what this takes on one core, from the sizes.

    Fitted to 200 × 30 up to 100 000 × 50 with 3 to 10 components; the linear program dominates.
    """
    return 5e-3 + 1e-6 * (n + d) * k + 3e-4 * k**2


def _settled(entries: Entries) -> Uniqueness:
    """Decide between unique, locally unique and neither, for factors of full rank."""
    in_all = components_in_all(entries)
    everywhere = in_all == entries.k or are_scattered(entries)
    found = search(entries)
    if found.reach is not None or everywhere:
        return Uniqueness(everywhere, entries.k if everywhere else in_all, found.reach)
    if found.direction is not None:
        turned = turn(entries)[0]
        if turned.max() >= NOTICEABLE:
            return Uniqueness(in_all=in_all, turned=turned)
    return Uniqueness(in_all=in_all, reason=found.reason or "parts may move; not seen how")


def turn(entries: Entries) -> tuple[Array, Array, Array]:
    """Rotate components without changing the product; return the angles and the last factors.

    H_i − t H_j and W_j + t W_i are another factorization for 0 < t ≤ min H_i/H_j, and for
    0 > t ≥ −min W_j/W_i. Such moves are made one after another while they turn component i farther.
    `lost` bounds the rounding errors of both factors, entry by entry, and t leaves room for them:
    each factorization is nonnegative for certain. True ranges may be wider.
    """
    weights, components = entries.weights.T.copy(), entries.plain.copy()
    home, k = unit_rows(entries.plain), entries.k
    lost = [np.zeros_like(weights), np.zeros_like(components)]
    turned = np.zeros(k)
    order = np.lexsort(np.round(home, 9).T).tolist()  # whatever the order of the components
    for i, j in [pair for _ in range(MOVES) for pair in permutations(order, 2)]:
        up = SHARE * _least_ratio(components, lost[1], i, j)
        down = SHARE * _least_ratio(weights, lost[0], j, i)
        for t in (up, -down):
            moved = components[i] - t * components[j]
            angle = _angle(unit_rows(moved[None])[0], home[i]) if t and moved.any() else 0.0
            if angle > turned[i]:
                turned[i] = angle
                for rows, errors, to, other, step in (
                    (components, lost[1], i, j, -t),
                    (weights, lost[0], j, i, t),
                ):
                    sizes = rows[to] + abs(step) * rows[other]
                    rows[to] += step * rows[other]
                    errors[to] += abs(step) * errors[other] + 4 * EPS * sizes
                break
    return turned, weights.T, components


def _least_ratio(rows: Array, lost: Array, i: int, j: int) -> float:
    """Return a number t for which row i minus t times row j is not negative for certain."""
    used = rows[j] > 0
    ratios = np.maximum(rows[i][used] - lost[i][used], 0.0) / (rows[j][used] + lost[j][used])
    return float(ratios.min()) if used.any() else 0.0


def _angle(one: Array, other: Array) -> float:
    """Return the angle of two unit vectors in degrees, by half the chord: exact for small ones."""
    return float(np.degrees(2 * np.arcsin(min(float(np.linalg.norm(one - other)) / 2, 1.0))))


def _obstacle(weights: Rows, components: NDArray[np.floating]) -> str:
    """Return why uniqueness cannot be decided; empty if it can."""
    k = len(components)
    size, infinite, negative, used = weights.sum(_counted)
    if infinite or not np.isfinite(components).all():
        return "some entries are not finite"
    if negative or (components < 0).any():
        return "only for factors without negative entries"
    if not (used.all() and components.any(axis=1).all()):
        return "a component is zero or has no weight"
    if k > MOST_COMPONENTS or k > 1 and size + components.size > MOST_ENTRIES:
        return f"not tried beyond {MOST_COMPONENTS} components or {MOST_ENTRIES:.0e} entries"
    return ""


def _counted(weights: NDArray[np.floating]) -> tuple[int, int, int, NDArray[np.int64]]:
    """Count all, nonfinite and negative entries, and the nonzeros of each column."""
    infinite = int(np.count_nonzero(~np.isfinite(weights)))
    negative = int(np.count_nonzero(weights < 0))
    return weights.size, infinite, negative, np.count_nonzero(weights, axis=0)


def components_in_all(entries: Entries) -> int:
    """Count the components that every factorization of the product contains, up to scale.

    Gillis23 calls for a selective window and a zero region of full rank. Some row of W has a weight
    on component j only, so that H_j is a row of the product and a sum of parts; the columns where
    H_j is zero have rank k − 1, so that nonnegative rows in the row space of the product that are
    zero there are multiples of H_j, which the parts must be.
    """
    used = entries.weights > 0
    pure = used[used.sum(axis=1) == 1].any(axis=0)
    count = 0
    for component in np.flatnonzero(pure):
        zero = entries.components[:, entries.plain[component] == 0]
        count += has_independent_rows(np.delete(zero, component, axis=0), entries.k - 1)
    return count


# Other fits of the same data: how well they fit, and how different their parts are. That parts
# cannot move without changing the product says nothing of other products. Another fit with nearly
# the same error and other parts shows, without any assumption, how little the data tell the parts
# apart. Where it comes from does not matter: it is measured here.

OTHERS, EXHIBITION = "other fits have these parts", "exhibition"
TURNED = 5.0  # degrees of a part from all parts of another fit
LEAST_EXCESS = 0.01  # percent; smaller ones are not told exactly
CLOSE = 0.01  # share by which the error of another fit may be larger and still count as close


def compare(fit: Fit, others: Sequence[Fit]) -> Certificate:
    """Compare the parts of a fit with those of others whose error is at most 1 % larger.

    Parameters
    ----------
    fit : Fit
        The fit that is certified.
    others : sequence of Fit
        Other fits of the same data, of any method, with as many components.
    """
    seen = [(excess(fit, other), turned(fit, other)) for other in others]
    near = [(more, degrees) for more, degrees in seen if more <= CLOSE]
    if not near or fit.norm == 0:
        note = "none of the other fits has an error that is at most 1 % larger"
        return Certificate(fit.method, (Check(OTHERS, EXHIBITION, "unknown", note=note),))
    more, degrees = max(near, key=lambda one: float(one[1].max()))
    largest, part = float(degrees.max()), int(degrees.argmax()) + 1
    measures: dict[str, Measure] = {
        "other_fit_excess": more,
        "other_fit_turn_degrees": tuple(degrees.tolist()),
    }
    if largest < TURNED:
        words = (
            f"Each component is within {rounded_up(largest)} degrees of one of every other fit "
            f"that was compared ({len(near)})."
        )
        check = Check(OTHERS, EXHIBITION, "holds", largest, TURNED, in_words=words)
        return Certificate(fit.method, (check,), measures=measures)
    percent = rounded_up(max(100 * more, LEAST_EXCESS))
    error = f"at most {percent} % larger" if more > 0 else "no larger"
    words = (
        f"Another fit has an error that is {error}, and none of its components is within "
        f"{rounded_down(largest, 2)} degrees of component {part}: the data alone do not fix it."
    )
    note = f"angle of a part to the nearest one of another fit; {in_digits(more)} more error"
    check = Check(OTHERS, EXHIBITION, "fails", largest, TURNED, note, in_words=words)
    return Certificate(fit.method, (check,), measures=measures)


def excess(fit: Fit, other: Fit) -> float:
    """Return an upper bound on the excess error of another fit, as a share of this fit's error."""
    most = other.relative_error + other.error_rounding
    least = max(fit.relative_error - fit.error_rounding, np.finfo(np.float64).tiny)
    return float(most / least - 1)


def turned(fit: Fit, other: Fit) -> Array:
    """Return the angle of each part to the nearest part of another fit, in degrees.

    By half the chord, which is accurate for small angles too.
    """
    own, theirs = unit_rows(fit.given_components), unit_rows(other.given_components)
    chords = np.linalg.norm(own[:, None] - theirs[None], axis=2).min(axis=1)
    return np.asarray(np.degrees(2 * np.arcsin(np.minimum(chords / 2, 1.0))))
