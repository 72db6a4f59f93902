"""Judge every sentence of a verdict: a pattern and a checker for each that a certificate can say.

Numbers in the words are compared with the exact computations of `statements`, so that a rounding in
the wrong direction, a wrong unit or a word too strong is found.
"""

import re
from fractions import Fraction

import exact
import numpy as np
import statements
from statements import Case, least_stretch

NUMBER = r"([0-9][0-9.e+-]*[0-9]|[0-9])"
SENTENCES = {}


def sentence(pattern):
    """Register a checker for sentences of this pattern; N stands for a number."""

    def register(checker):
        SENTENCES[re.compile(pattern.replace("{N}", NUMBER) + r"$")] = checker
        return checker

    return register


def judge(case: Case, text: str):
    """True, False, or None where nothing is claimed; KeyError for a sentence nobody knows."""
    for pattern, checker in SENTENCES.items():
        found = pattern.match(text)
        if found:
            return checker(case, *found.groups())
    raise KeyError(text)


def split(text):
    """The sentences of a statement; a full stop inside a number ends none."""
    return re.split(r"(?<=[a-z%)\d]\.) (?=[A-Z0-9])", text)


def in_words(case, value):
    """Whether a number in words is the relative error, to its four digits."""
    low, high = (float(v) for v in case.relative_error)
    step = 5.1e-4 * max(abs(float(value)), 1e-300)
    return low - step - 1e-7 <= float(value) <= high + step + 1e-7


@sentence(r"The relative error is {N}\.")
@sentence(r"The relative error is {N}; nothing rules out an exact fit of this rank\.")
def error(case, value):
    return in_words(case, value)


@sentence(r"The relative error is {N}: all zeros would be nearer to the data than this product\.")
def worse_than_zero(case, value):
    return in_words(case, value) and case.relative_error[1] > 1 - Fraction(1, 10**12)


@sentence(r"The fit is exact up to rounding\.")
def exact_fit(case):
    return case.relative_error[0] <= Fraction(1, 10**7)


@sentence(
    r"The relative error is {N}, and hardly less is possible: no factorization of this rank lowers "
    r"it by more than {N}\."
)
def least_possible(case, value, gain):
    gained = case.relative_error[0] - case.best_error
    return in_words(case, value) and Fraction(gain) >= gained and float(gain) <= 0.01 * float(value)


@sentence(
    r"The relative error is {N}; no factorization of this rank is below {N}, so a better fit could "
    r"lower it by at most {N}\."
)
def floor(case, value, lower, gain):
    return (
        in_words(case, value)
        and Fraction(lower) <= case.best_error
        and Fraction(gain) >= case.relative_error[0] - case.best_error
    )


@sentence(
    r"Every factorization of this rank that fits at least as well spans nearly the same space: "
    r"within {N} degrees of the leading singular vectors\."
)
def spaces(case, degrees):
    return statements.space_angle(case, float(degrees))


@sentence(r"Some weights are negative, so this is not a nonnegative factorization\.")
def negative(case):
    return bool((case.weights < 0).any())


@sentence(
    r"These data are not, digit for digit, those that the result names as its own; all that is "
    r"said here is about these\."
)
def other_data(case):
    check = next(c for c in case.certificate.checks if c.theorem == "fingerprint")
    return statements.same_data(case, check)


@sentence(r"{N} ?% of the entries are missing, and how large the error is there is not known\.")
def missing(case, share):
    return abs(float(share) / 100 - np.isnan(case.rows).mean()) <= 1e-4


@sentence(r"Nothing is proved about the components themselves on this data\.")
def nothing(case):
    """Wrong beside a bound that is about the parts, and for a single part with its weight."""
    about = ("unique", "corners", "anchor_noise", "group_noise", "mixing")
    proved = [n for n in case.certificate.bounds if any(word in n for word in about)]
    return not proved and "component_turn_degrees" not in case.certificate.measures


# Uniqueness ---------------------------------------------------------------------------------------


@sentence(r"The component is unique: no other nonnegative one has the same product\.")
def one_part(case):
    return len(case.components) == 1


@sentence(r"The components are unique: no other (\d+) nonnegative ones have the same product\.")
def unique(case, k):
    case = case.rounded
    return int(k) == len(case.components) and case.rigid and no_other(case, Fraction(0))


@sentence(
    r"(\d+) of the (\d+) components (?:is|are) in every nonnegative factorization of the same "
    r"product\."
)
def partly(case, count, k):
    """Each of the most different factorizations contains so many of the parts."""
    case = case.rounded
    parts = [statements.shares(part) for part in exact.exact(case.components)]
    for transition in statements.other_transitions(case):
        moved = [
            statements.shares(exact.combination(row, exact.exact(case.components)))
            for row in transition
        ]
        if sum(any(part == other for other in moved) for part in parts) < int(count):
            return False
    return int(k) == len(parts)


@sentence(
    r"The components are unique nearby: small changes of them cannot give the same product, but "
    r"another product may fit the data as well\."
)
def nearby(case):
    return case.rounded.rigid and statements.pair_freedom(case.rounded) == 0


@sentence(
    r"The components are not unique: others with the same product exist, and one can turn by at "
    r"least {N} degrees\."
)
def not_unique(case, degrees):
    turned = case.certificate.measures["component_turn_degrees"]
    return not case.rounded.rigid and float(degrees) <= max(turned)


@sentence(
    r"Another fit has an error that is (?:no larger|at most {N} % larger), and none of its "
    r"components is within {N} degrees of component (\d+): the data alone do not fix it\."
)
def exhibited(case, percent, degrees, part):
    turns = case.certificate.measures["other_fit_turn_degrees"]
    excess = case.certificate.measures["other_fit_excess"]
    return turns[int(part) - 1] >= float(degrees) and excess <= float(percent or 0) / 100


@sentence(
    r"Each component is within {N} degrees of one of every other fit that was compared \(\d+\)\."
)
def found_again(case, degrees):
    return max(case.certificate.measures["other_fit_turn_degrees"]) <= float(degrees)


def no_other(case, limit):
    """Whether none of the factorizations that are tried changes a part."""
    return statements.component_changes(case, [limit + Fraction(1, 10**9)] * len(case.components))


# Weights ------------------------------------------------------------------------------------------


@sentence(
    r"The weights are stable: with these components, changing a row by 1 % changes its weights by "
    r"at most {N} %, for at least half of the rows\."
)
@sentence(
    r"The weights are not known to be stable: with these components, changing a row by 1 % may "
    r"change its weights by up to {N} %, for at least half of the rows\."
)
def movement(case, percent):
    """Rows that may move more: those of zero weight, and where ‖x‖/(σ‖w‖) is larger."""
    if len(case.components) == 1 and case.constraint == "simplex":
        return True
    stretch = float(least_stretch(case)) * (1 + 1e-9)
    size = float(case.unit)
    lengths, rows = np.linalg.norm(case.weights, axis=1), np.linalg.norm(case.rows / size, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.where(rows > 0, rows * size / (stretch * lengths), 0.0)
    within = np.count_nonzero(moved <= float(percent) * (1 + 1e-6))
    return 2 * within >= len(rows)


@sentence(r"The weights are not unique: some components are combinations of others\.")
def dependent(case):
    rows = exact.exact(case.components)
    if case.constraint == "simplex":
        rows = [exact.minus(row, rows[-1]) for row in rows[:-1]]
    return exact.rank(rows) < len(rows)


@sentence(
    r"The weights are not known to be stable: some components are nearly combinations of others\."
)
def nearly_dependent(case):
    lengths = np.linalg.norm(case.components, axis=1)
    size = lengths.max() if case.constraint == "simplex" else lengths[:, None]
    unit = case.components / np.where(size > 0, size, 1.0)
    if case.constraint == "simplex":
        unit = unit[:-1] - unit[-1]
    return bool(np.linalg.svd(unit, compute_uv=False)[-1] < 1e-5) or len(unit) > unit.shape[1]


@sentence(
    r"The weights are not known to be stable: in at least half of the rows they are zero or not "
    r"the best ones\."
)
def zero_or_not_best(case):
    """Look for a descent direction of each row's squared error, in extended precision."""
    rows, weights, components = (
        factor.astype(np.longdouble) for factor in (case.rows, case.weights, case.components)
    )
    size = np.maximum(np.linalg.norm(rows, axis=1), np.finfo(np.longdouble).tiny)[:, None]
    slope = (weights @ components - rows) / size @ components.T
    if case.constraint == "simplex":
        better = (weights * (slope - slope.min(axis=1, keepdims=True)) / size).sum(axis=1) > 1e-11
    else:
        slope = slope / np.maximum(np.linalg.norm(components, axis=1), np.finfo(float).tiny)
        better = ((slope < -1e-9) | ((slope > 1e-9) & (weights > 0)) | (weights < 0)).any(axis=1)
    found = (better | ~weights.any(axis=1)) & rows.any(axis=1)
    return 2 * found.sum() >= len(found)


# Anchors ------------------------------------------------------------------------------------------

PURE = r"\(a row taken as a pure example of a component\)"
PURE_ROWS = r"\(rows taken as pure examples of components\)"
NEAR = r"(?:, or (?:a copy of it|a row within {N} of it) \(there are (\d+)\),?)?"
OF_ROWS = r"row( divided by its sum)?"


@sentence(r"The components are not the rows of these data that the result calls anchors\.")
def other_rows(case):
    return statements.other_rows(case, None)


@sentence(
    r"The components are not the anchors themselves, which are rows of the data; what is said of "
    r"anchors is about these rows alone\."
)
def not_the_anchors(case):
    return bool((case.rows[case.record.anchors] != case.components).any())


@sentence(
    rf"Proved: each anchor {PURE}{NEAR} is a corner of the noise-free data, not a mixture of other "
    rf"rows, if noise changed no {OF_ROWS} by more than {{N}}\."
)
def proved(case, radius, count, scaled, noise):
    case = statements.with_scaled_rows(case, scaled is not None)
    return statements.survived(case, Fraction(noise))


@sentence(rf"The anchors leave at most {{N}} of any {OF_ROWS} unexplained\.")
def leave(case, most, scaled):
    return Fraction(most) >= statements.with_scaled_rows(case, scaled is not None).noise[0]


@sentence(
    rf"Not proved: that each anchor {PURE} is a corner of the noise-free data and not a mixture of "
    r"other rows\."
)
def not_proved(case):
    return None


@sentence(
    rf"A proof would need noise of at most {{N}} in every {OF_ROWS}, but the anchors leave up to "
    rf"{{N}} of a {OF_ROWS} unexplained\."
)
def would_need(case, noise, scaled, left, also):
    case = statements.with_scaled_rows(case, scaled is not None)
    return (
        scaled == also
        and Fraction(left) >= case.noise[0]
        and (statements.survived(case, Fraction(noise)))
    )


@sentence(
    rf"A proof would need noise of at most {{N}} in every {OF_ROWS}, but no fit of this rank "
    rf"explains every {OF_ROWS} to within {{N}}\."
)
def vacuous(case, noise, scaled, also, least):
    """The rank bound shared out over the rows is at most the best fit's largest residual."""
    case = statements.with_scaled_rows(case, scaled is not None)
    rows = case.rows / case.unit
    left, values, right = np.linalg.svd(rows, full_matrices=False)
    k = min(len(case.components), len(values))
    away = np.linalg.norm(rows - (left[:, :k] * values[:k]) @ right[:k], axis=1)
    if scaled:
        sums = rows.sum(axis=1)
        away = np.divide(away, sums, out=np.zeros_like(away), where=sums > 0)
        largest = away.max()
    else:
        largest = away.max() * case.unit
    return scaled == also and float(least) <= largest * (1 + 1e-6)


@sentence(
    rf"Proved of (\d+) of the (\d+) anchors {PURE_ROWS}: a corner of the noise-free data is within "
    rf"{{N}} of it, if noise changed no {OF_ROWS} by more than the anchors leave of it, or of a "
    r"typical one\."
)
def corners(case, count, k, within, scaled):
    (found,) = [v for n, v in case.certificate.measures.items() if n.endswith("corner_distance")]
    largest = max(distance for distance in found if distance is not None)
    return (
        int(k) == len(found)
        and statements.located(case, int(count))
        and statements.corner_distances(case, found)
        and Fraction(within) >= Fraction(largest)
    )


@sentence(
    r"The factors (?:explain ([0-9.]+) % of the deviance from|fit (worse than|as well as)) "
    r"independent rows and columns(?: would)?; better weights alone, or better components alone, "
    r"would lower the divergence by at most {N} %\."
)
def deviance(case, percent, how, most):
    """Recompute the deviance of the factors, and try steps of expectation-maximization."""
    rows = case.rows.astype(np.longdouble)
    product = case.weights.astype(np.longdouble) @ case.components.astype(np.longdouble)
    independent = np.outer(rows.sum(axis=1), rows.sum(axis=0)) / max(rows.sum(), 1e-300)
    worst = statements.divergence(rows, independent)
    reached = statements.divergence(rows, product)
    bounds, divergence = case.certificate.bounds, case.certificate.measures["divergence"]
    gap = max(bounds["weights_divergence_gap"], bounds["components_divergence_gap"])
    enough = divergence <= 0 or float(most) >= 100 * gap / divergence * (1 - 1e-12)
    if not enough or not statements.divergence_gap(case, gap):
        return False
    if percent is None:
        if how == "worse than":
            return bool(reached > worst * (1 - 1e-12))
        return bool(abs(reached / worst - 1) <= 0.0006)
    return bool(abs(100 * (1 - reached / worst) - float(percent)) <= 0.06)


@sentence(
    r"The factors explain ([0-9.]+) % of the negative binomial deviance from independent rows and "
    r"columns\."
)
def negative_binomial_deviance(case, percent):
    explained = case.certificate.measures["negative_binomial_deviance_explained"]
    said = abs(100 * max(explained, 0.0) - float(percent)) <= 0.06
    return said and statements.overdispersed(case, explained)
