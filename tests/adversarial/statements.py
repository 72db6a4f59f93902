"""What each statement of a certificate is compared with: an independent computation.

A checker gets the case (data, factors, certificate) and the statement. It returns True if the
statement agrees, False if it is false, None if nothing was claimed. A statement without a checker
here is an error of the attack: new guarantees must be registered.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import permutations

import exact
import numpy as np
from scipy.optimize import linprog

from provenmf.certificate.rigidity import Entries
from provenmf.certificate.uniqueness import turn
from provenmf.data import as_blocks
from provenmf.data.door import fingerprint_of, same_values
from provenmf.linalg.storage import as_dense

CHECKS, BOUNDS, MEASURES = {}, {}, {}
SMALL = Fraction(1, 10**9)


def statement(kind, *names):
    """Register a checker for statements of these names."""

    def register(checker):
        for name in names:
            kind[name] = checker
        return checker

    return register


@dataclass(frozen=True)
class Case:
    """A certified factorization of small data, and what is exact about it."""

    data: object
    record: object
    certificate: object
    constraint: str
    scale_rows: bool
    fitted: object

    @cached_property
    def rows(self):
        return as_dense(self.data).astype(np.float64)

    @cached_property
    def weights(self):
        return self.record.weights.astype(np.float64)

    @cached_property
    def components(self):
        return self.record.components.astype(np.float64)

    @cached_property
    def unit(self):
        return exact.power_of_two(self.rows)

    @cached_property
    def exact_rows(self):
        return exact.exact(self.rows)

    @cached_property
    def squared_norm(self):
        return sum((exact.dot(row, row) for row in self.exact_rows), Fraction(0))

    @cached_property
    def squared_error(self):
        return exact.squared_error(
            self.exact_rows, exact.exact(self.weights), exact.exact(self.components)
        )

    @cached_property
    def relative_error(self):
        """‖X − WC‖/‖X‖, below and above."""
        ratio = self.squared_error / self.squared_norm
        return exact.root_below(ratio), exact.root_above(ratio)

    @cached_property
    def best_error(self):
        """A relative error that some product of this rank has, rounded up."""
        rows = self.rows / self.unit
        left, values, right = np.linalg.svd(rows, full_matrices=False)
        k = min(len(self.components), len(values))
        scaled = [[value / Fraction(self.unit) for value in row] for row in self.exact_rows]
        squared = exact.squared_error(
            scaled, exact.exact(left[:, :k] * values[:k]), exact.exact(right[:k])
        )
        return exact.root_above(squared * Fraction(self.unit) ** 2 / self.squared_norm)

    @cached_property
    def penalised(self):
        """Whether the record names penalties: first-order conditions are then those with them."""
        given = self.record.parameters
        return any(value for name, value in given.items() if name[:3] in ("l1_", "l2_"))

    @cached_property
    def rounded(self):
        """The case with the factors that statements about parts speak of: taken to 13 digits.

        An entry is zero below 2⁻⁴³ of the power of two above the largest one in its row of W or
        column of H, each component being divided by the power of two above its own largest entry.
        """
        peaks = np.frexp(self.components.max(axis=1))[1]
        mantissas, exponents = np.frexp(self.weights)
        digits = np.where(mantissas > 0, exponents + peaks, -(10**6))
        tiny = digits < digits.max(axis=1, keepdims=True) - 42
        weights = np.where(tiny, 0.0, self.weights)
        mantissas, exponents = np.frexp(self.components)
        digits = np.where(mantissas > 0, exponents - peaks[:, None], -(10**6))
        tiny = digits < digits.max(axis=0) - 42
        components = np.where(tiny, 0.0, self.components)
        return replace(self, record=replace(self.record, weights=weights, components=components))

    @cached_property
    def rigid(self):
        """Whether the parts cannot move to first order."""
        peaks = self.components.max(axis=1, keepdims=True)
        weights = self.weights * (peaks.T / peaks.max())
        sizes = weights.max(axis=1, keepdims=True)
        return first_order_rigid(weights / np.where(sizes > 0, sizes, 1), self.components / peaks)

    @cached_property
    def points(self):
        """Rows that anchors are looked for in: exact, and as floats of size one."""
        rows = self.exact_rows
        if self.scale_rows:
            sums = [sum(row, Fraction(0)) for row in rows]
            rows = [
                [value / total for value in row] if total > 0 else None
                for row, total in zip(rows, sums, strict=True)
            ]
        return rows

    @cached_property
    def origin(self):
        return self.record.method == "spa"

    def explained(self, row):
        """Distance of a row to the hull of the anchors: at least, at most."""
        points, anchors = self.points, self.record.anchors
        corners = [points[a] for a in anchors if points[a] is not None]
        return self.between(points[row], corners)

    def between(self, point, corners):
        """Distance of a point to a hull: at least, at most."""
        largest = max((abs(v) for row in [point, *corners] for v in row), default=Fraction(0))
        if largest == 0:
            return Fraction(0), Fraction(0)
        floats = [[float(v / largest) for v in row] for row in [point, *corners]]
        weights = exact.mixture_near(
            np.array(floats[0]), np.array(floats[1:]).reshape(-1, len(point)), origin=self.origin
        )
        return (
            exact.distance_at_least(point, corners, weights, origin=self.origin),
            exact.distance_at_most(point, corners, weights, origin=self.origin),
        )

    @cached_property
    def noise(self):
        """Largest distance of a row to the hull of the anchors: at least, at most."""
        found = [self.explained(row) for row, point in enumerate(self.points) if point is not None]
        return max(low for low, _ in found), max(high for _, high in found)

    def margin(self, radius):
        """Least distance of an anchor to the mixtures of rows beyond the radius, at most."""
        points, least = self.points, None
        copies = self.certificate.measures.get("rows_near_anchors", 0.0) > 0
        for anchor in self.record.anchors:
            here = points[anchor]
            if here is None:
                continue
            others = [
                row
                for number, row in enumerate(points)
                if row is not None
                and number != anchor
                and not (copies and _squared(exact.minus(row, here)) <= radius**2)
            ]
            if not others and not self.origin:
                continue
            distance = self.between(here, others)[1]
            least = distance if least is None else min(least, distance)
        return least


def _squared(vector):
    return exact.dot(vector, vector)


# Checks of several conditions, of which the number is one.
COMPOUND = {"no noise, no repeated anchor"}


def is_consistent(check):
    """Whether status, value and threshold agree."""
    if check.status == "unknown" or check.value is None or check.threshold is None:
        return None
    inside = (
        check.value <= check.threshold
        if check.direction == "<="
        else check.value >= check.threshold
    )
    if check.status == "fails" and (check.name in COMPOUND or check.value == check.threshold):
        return None
    return inside == (check.status == "holds")


# Assumption-free ----------------------------------------------------------------------------------


@statement(BOUNDS, "relative_error_lower_bound")
def lower_bound(case, value):
    return Fraction(value) <= case.best_error


@statement(BOUNDS, "relative_error_gap")
def gap(case, value):
    return Fraction(value) >= case.relative_error[0] - case.best_error


@statement(BOUNDS, "space_angle_degrees")
def space_angle(case, value):
    """This fit, and the leading space turned until the error is the same, are within the angle."""
    rows = case.rows / case.unit
    left, values, right = np.linalg.svd(rows, full_matrices=True)
    k = len(case.components)
    product = case.weights @ (case.components / case.unit)
    error = np.linalg.norm(rows - product)
    own = np.linalg.svd(product, full_matrices=False)[2][:k]
    sine = np.sqrt(max(0.0, 1 - np.linalg.svd(own @ right[:k].T, compute_uv=False)[-1] ** 2))
    if k < len(values) and np.linalg.matrix_rank(product) == k:
        gap, excess = values[k - 1] ** 2 - values[k] ** 2, error**2 - (values[k:] ** 2).sum()
        turned = np.sqrt(min(max(excess, 0.0) / gap, 1.0)) if gap > 0 else 0.0
        sine = max(sine, turned * (1 - 1e-6))
    return np.degrees(np.arcsin(min(sine, 1.0))) <= value * (1 + 1e-6) + 1e-5


@statement(MEASURES, "relative_error")
def relative_error(case, value):
    size = np.abs(case.weights / 1.0) @ np.abs(case.components / case.unit)
    reach = Fraction(float(np.linalg.norm(size))) * Fraction(case.unit)
    slack = Fraction(1, 10**13) * (1 + reach / exact.root_below(case.squared_norm))
    if case.data.dtype == np.float32 or not isinstance(case.data, np.ndarray):
        slack *= 10**4
    low, high = case.relative_error
    return low * (1 - SMALL) - slack <= Fraction(value) <= high * (1 + SMALL) + slack


@statement(MEASURES, "error")
def error_of_zero_data(case, value):
    return abs(Fraction(value) - exact.root_below(case.squared_error)) <= SMALL * (
        1 + case.squared_error
    )


@statement(CHECKS, "data that the result names")
def same_data(case, check):
    """Equal data; a fingerprint that was forged names others."""
    same = np.array_equal(case.rows, as_dense(case.fitted).astype(np.float64))
    named = same_values(case.record.fingerprint, fingerprint_of(as_blocks(case.fitted)))
    return None if check.status == "unknown" else (same and named) == (check.status == "holds")


@statement(CHECKS, "weights not negative")
def weights_not_negative(case, check):
    return (case.weights.min() >= 0) == (check.status == "holds")


# Anchors ------------------------------------------------------------------------------------------


@statement(
    BOUNDS,
    "anchor_noise",
    "scaled_anchor_noise",
    "anchor_group_noise",
    "scaled_anchor_group_noise",
)
def survived(case, value):
    measures = case.certificate.measures
    scaled = "scaled_" if "scaled_anchor_margin" in measures else ""
    radius = Fraction(measures[f"{scaled}anchor_radius"])
    case = with_scaled_rows(case, bool(scaled))
    least = case.margin(radius)
    return least is None or 2 * Fraction(value) <= least


def balls_of(case):
    """The points, the noise of each if it is its own residual or the typical one, the latter."""
    case = with_scaled_rows(case, "scaled_anchor_margin" in case.certificate.measures)
    points = case.points
    radii = [case.explained(n)[1] if p is not None else None for n, p in enumerate(points)]
    typical = np.median([float(r) for r in radii if r is not None])
    return points, [None if r is None else max(float(r), typical) for r in radii], typical


def inside_other_balls(case, anchor, points, noise, typical, left_out):
    """Whether an anchor is inside the hull of balls around the rows that are not left out."""
    others = [
        (np.array([float(v) for v in row]), noise[n])
        for n, row in enumerate(points)
        if row is not None and n != anchor and not left_out(n)
    ]
    if case.origin:
        others.append((np.zeros(len(points[anchor])), 0.0))
    target = np.array([float(v) for v in points[anchor]])
    return ball_hull_distance(target, others) < typical * (1 - 1e-6) - 1e-12


@statement(BOUNDS, "located_corners", "scaled_located_corners")
def located(case, value):
    """So many distances are stated, each less than half of that to the next anchor."""
    (found,) = [v for n, v in case.certificate.measures.items() if n.endswith("corner_distance")]
    points, anchors = balls_of(case)[0], case.record.anchors
    for anchor, distance in zip(anchors, found, strict=True):
        apart = [_squared(exact.minus(points[anchor], points[b])) for b in anchors if b != anchor]
        if distance is not None and 4 * Fraction(distance) ** 2 > min(apart) * (1 + SMALL):
            return False
    return sum(distance is not None for distance in found) >= value


@statement(MEASURES, "corner_distance", "scaled_corner_distance")
def corner_distances(case, value):
    """Without the rows whose corners lie within the distance, the anchor is in no hull of balls.

    If it is, every one of those rows may be a mixture of others, and no corner need be near.
    """
    points, noise, typical = balls_of(case)
    for anchor, distance in zip(case.record.anchors, value, strict=True):
        if distance is None:
            continue
        length = {
            n: np.sqrt(float(_squared(exact.minus(row, points[anchor]))))
            for n, row in enumerate(points)
            if row is not None
        }
        room = distance * (1 + 1e-6) + 1e-12

        def near(n, length=length, room=room):
            return length[n] + noise[n] <= room

        if inside_other_balls(case, anchor, points, noise, typical, near):
            return False
    return True


def ball_hull_distance(target, balls):
    """The distance of a point to the hull of balls, or more: Frank-Wolfe with exact steps."""
    if not balls:
        return np.inf
    rows, radii = np.array([row for row, _ in balls]), np.array([radius for _, radius in balls])
    point = rows[np.linalg.norm(rows - target, axis=1).argmin()].copy()
    for _ in range(300):
        away = target - point
        length = np.linalg.norm(away)
        if length == 0:
            return 0.0
        best = (rows @ (away / length) + radii).argmax()
        edge = rows[best] + radii[best] * away / length - point
        size = edge @ edge
        if size == 0:
            break
        point = point + np.clip(away @ edge / size, 0, 1) * edge
    return np.linalg.norm(target - point)


@statement(MEASURES, "anchor_margin", "scaled_anchor_margin")
def margins(case, value):
    return survived(case, min(v for v in value if v is not None) / 2)


def with_scaled_rows(case, scaled):
    return replace(case, scale_rows=scaled)


@statement(BOUNDS, "largest_hull_distance")
@statement(MEASURES, "delta")
def farthest(case, value):
    return Fraction(value) >= case.noise[0]


@statement(CHECKS, "anchors survive the residual")
def anchors_survive(case, check):
    if check.status == "unknown":
        return None
    scaled = "scaled" in check.note or "divided by their sums" in check.note
    case = with_scaled_rows(case, scaled)
    if case.record.method in ("xray", "fast_gradient"):
        case = with_scaled_rows(case, True)
    low = case.noise[0]
    if check.status == "holds":
        return survived(case, check.threshold / 2) and Fraction(check.value) >= 2 * low
    return True


@statement(CHECKS, "noise within SPA's tolerance")
def spa_tolerance(case, check):
    if any(case.points[a] is None for a in case.record.anchors):
        return None
    corners = np.array([[float(v) for v in case.points[a]] for a in case.record.anchors])
    scale = exact.power_of_two(corners)
    values = np.linalg.svd(corners / scale, compute_uv=False)
    k = len(corners)
    sigma = values[-1] if k <= corners.shape[1] else 0.0
    longest = np.linalg.norm(corners / scale, axis=1).max()
    share = min(0.25, 1 / (2 * np.sqrt(k - 1)) if k > 1 else 0.25)
    allowed = sigma * share / (1 + 80 * (longest / sigma) ** 2) * scale if sigma > 0 else 0.0
    if check.status == "holds":
        return check.threshold <= allowed * (1 + 1e-6) and Fraction(check.value) >= case.noise[0]
    return float(case.noise[1] / Fraction(scale)) * scale > 0.9 * allowed - 1e-12 * scale


@statement(CHECKS, "noise within its tolerance")
def fast_anchor_tolerance(case, check):
    if check.status != "holds" or any(case.points[a] is None for a in case.record.anchors):
        return None
    corners = np.array([[float(v) for v in case.points[a]] for a in case.record.anchors])
    scale = exact.power_of_two(corners)
    corners, distances = corners / scale, []
    for j in range(len(corners)):
        others = np.delete(corners, j, axis=0)
        if len(others) == 0:
            distances.append(np.linalg.norm(corners[0]))
            continue
        edges = (others[1:] - others[0]).T
        away = corners[j] - others[0]
        if edges.size:
            away = away - edges @ np.linalg.lstsq(edges, away, rcond=None)[0]
        distances.append(np.linalg.norm(away))
    points = [[float(v) for v in row] for row in case.points if row is not None]
    longest = np.linalg.norm(np.array(points) / scale, axis=1).max()
    allowed = (min(distances) / longest) ** 3 / (20 * len(corners)) * longest * scale
    return check.threshold <= allowed * (1 + 1e-6) and Fraction(check.value) >= case.noise[0]


@statement(CHECKS, "components linearly independent", "independent features (A1)")
def independent(case, check):
    if check.status == "unknown":
        return None
    rows = case.components
    if check.name == "components linearly independent":
        rows = np.array([[float(v) for v in case.exact_rows[a]] for a in case.record.anchors])
    full = exact.rank(exact.exact(rows)) == len(rows)
    return full == (check.status == "holds")


@statement(CHECKS, "rows within 1e-7 of the anchors' cone", "no noise, no repeated anchor")
def inside(case, check):
    if check.status != "holds":
        return None if check.status == "unknown" else True
    if check.name.startswith("no noise"):
        lengths = [exact.root_above(_squared(row)) for row in case.exact_rows]
        return all(
            case.explained(n)[0] <= Fraction(1, 10**7) * length for n, length in enumerate(lengths)
        )
    anchors = case.rows[case.record.anchors]
    for row in case.rows:
        size = np.abs(row).max()
        corners = anchors / np.maximum(np.abs(anchors).max(axis=1, keepdims=True), 1e-320)
        if size > 0:
            weights = exact.mixture_near(row / size, corners, cone=True)
            away = row / size - weights @ corners
            if np.linalg.norm(away) > 1.01e-7 * np.linalg.norm(row / size):
                return False
    return True


@statement(CHECKS, "components are rows of the data")
def other_rows(case, check):
    anchors = case.record.anchors
    if anchors is None or len(anchors) != len(case.components):
        return True
    if anchors.min() < 0 or anchors.max() >= len(case.rows):
        return True
    return bool((case.rows[anchors] != case.components).any())


# Uniqueness ---------------------------------------------------------------------------------------


def first_order_rigid(weights, components):
    """Whether T = 0 is the only first-order change, by a program for each entry and sign."""
    k = len(components)
    conditions = []
    for row, j in zip(*np.nonzero(weights == 0), strict=True):
        condition = np.zeros((k, k))
        condition[:, j] = weights[row]
        conditions.append(condition.ravel())
    for i, column in zip(*np.nonzero(components == 0), strict=True):
        condition = np.zeros((k, k))
        condition[i] = -components[:, column]
        conditions.append(condition.ravel())
    matrix = np.array([c / np.abs(c).max() for c in conditions if c.any()]).reshape(-1, k * k)
    limits = [(0, 0) if i == j else (-1, 1) for i in range(k) for j in range(k)]
    for unknown in np.flatnonzero(~np.eye(k, dtype=bool)):
        for sign in (1, -1):
            goal = np.zeros(k * k)
            goal[unknown] = sign
            if linprog(goal, A_ub=-matrix, b_ub=np.zeros(len(matrix)), bounds=limits).fun < -1e-6:
                return False
    return True


@statement(CHECKS, "no other parts, same product", "no other parts nearby")
def unique(case, check):
    case, k = case.rounded, len(case.components)
    if check.status == "unknown" or k == 1:
        return None
    if check.status == "holds":
        return case.rigid and pair_freedom(case) == 0
    return not case.rigid


def pair_freedom(case):
    """The largest |t| for which I + t e_i e_jᵀ gives another factorization, exactly."""
    peaks = [Fraction(2) ** int(np.frexp(row.max())[1]) for row in case.components]
    components = [
        [value / peak for value in row]
        for row, peak in zip(exact.exact(case.components), peaks, strict=True)
    ]
    weights = [
        [value * peak for value, peak in zip(row, peaks, strict=True)]
        for row in exact.exact(case.weights)
    ]
    most = Fraction(0)
    for i, j in permutations(range(len(components)), 2):
        # column j of W gains t times column i, component i loses t times component j
        down = [row[j] / row[i] for row in weights if row[i] > 0]
        up = [a / b for a, b in zip(components[i], components[j], strict=True) if b > 0]
        most = max(most, min(down, default=Fraction(0)), min(up, default=Fraction(0)))
    return most


@statement(BOUNDS, "other_fit_mixing")
def mixing(case, value):
    """No change of one part by another, and no random one, is nearer."""
    case = case.rounded
    if pair_freedom(case) > 0:
        return False
    k = len(case.components)
    peaks = 2.0 ** np.frexp(case.components.max(axis=1))[1]
    components = case.components / peaks[:, None]
    weights = case.weights * (peaks / peaks.max())
    rng = np.random.default_rng(0)
    for _ in range(20):
        change = rng.standard_normal((k, k))
        np.fill_diagonal(change, 0)
        change *= 0.999 * value * rng.random() / np.linalg.norm(change)
        transition = np.eye(k) + change
        if (weights @ transition >= 0).all() and (
            np.linalg.solve(transition, components) >= 0
        ).all():
            return False
    return 0 < value < 1


@statement(BOUNDS, "unique_components")
def proved_unique(case, value):
    turned = case.certificate.measures.get("component_turn_degrees")
    return turned is None or sum(angle < 1e-6 for angle in turned) >= value


@statement(MEASURES, "component_turn_degrees")
def turned(case, value):
    """Exhibit the other factorization: nonnegative, the same product, and parts so far away."""
    entries = Entries(case.record.weights, case.record.components)
    _, weights, components = turn(entries)
    product = entries.weights @ entries.plain
    home, away = (f / np.linalg.norm(f, axis=1)[:, None] for f in (entries.plain, components))
    chords = np.minimum(np.linalg.norm(home - away, axis=1) / 2, 1.0)
    return (
        min(weights.min(), components.min()) >= 0
        and np.abs(weights @ components - product).max() <= 1e-12 * product.max()
        and bool((np.degrees(2 * np.arcsin(chords)) >= np.array(value) * (1 - 1e-6) - 1e-9).all())
    )


def component_changes(case, value):
    """Other factorizations, of two components the most different ones, change no part by more."""
    limits = [Fraction(v) for v in value]
    for transition in other_transitions(case):
        parts = exact.exact(case.components)
        moved = [shares(exact.combination(row, parts)) for row in transition]
        parts = [shares(part) for part in parts]
        changes = [[difference(part, other) for other in moved] for part in parts]
        if not any(
            all(changes[j][order[j]] <= limits[j] for j in range(len(limits)))
            for order in permutations(range(len(limits)))
        ):
            return False
    return True


def other_transitions(case):
    """Exact inverses A⁻¹ for which WA and A⁻¹H are nonnegative: extreme for k = 2, else random."""
    weights, parts = exact.exact(case.weights), exact.exact(case.components)
    k = len(parts)
    if k == 2:
        yield from extreme_pairs(weights, parts)
        return
    rng = np.random.default_rng(0)
    sizes = [sum(part, Fraction(0)) for part in parts]
    for size in 0.5 ** np.arange(1, 13):
        change = exact.exact(size * rng.uniform(-1, 1, (k, k)))
        inverse = [
            [(change[i][j] + (i == j)) * sizes[i] / sizes[j] for j in range(k)] for i in range(k)
        ]
        forward = exact.inverse(inverse)
        if forward is None:
            continue
        columns = list(zip(*forward, strict=True))
        if all(v >= 0 for row in inverse for v in exact.combination(row, parts)) and all(
            exact.dot(w, column) >= 0 for w in weights for column in columns
        ):
            yield inverse


def extreme_pairs(weights, parts):
    """H_1 + a H_2 and H_2 + b H_1 with the extreme a and b that leave them and the weights ≥ 0."""
    towards = []
    for i in (0, 1):
        subtract = min(
            (x / y for x, y in zip(parts[i], parts[1 - i], strict=True) if y > 0),
            default=Fraction(0),
        )
        # H_i + c H_(1-i) has all rows on its side while W_(1-i) ≥ c W_i
        add = min((w[1 - i] / w[i] for w in weights if w[i] > 0), default=Fraction(0))
        towards.append((-subtract, add))
    for a in towards[0]:
        for b in towards[1]:
            if a * b != 1:
                yield [[Fraction(1), a], [b, Fraction(1)]]


def shares(vector):
    total = sum(vector, Fraction(0))
    return [value / total for value in vector]


def difference(left, right):
    """Half the sum of absolute differences."""
    return sum((abs(a - b) for a, b in zip(left, right, strict=True)), Fraction(0)) / 2


# Cones --------------------------------------------------------------------------------------------


@statement(BOUNDS, "relative_error", "relative_error_max_form", "cluster_relative_error")
def error_within(case, value):
    return case.relative_error[0] <= Fraction(value)


@statement(CHECKS, "error within the cones' bound")
def cone_error(case, check):
    return error_within(case, check.threshold) if check.status == "holds" else True


def cosine(left, right):
    """In extended precision."""
    left, right = (np.asarray(v, dtype=np.longdouble) for v in (left, right))
    return (left @ right) / np.sqrt((left @ left) * (right @ right))


@statement(MEASURES, "size_angles")
def size_angles(case, value):
    labels = case.record.labels
    used = [j for j in np.unique(labels) if j >= 0 and case.rows[labels == j].any()]
    rows = case.rows / case.unit
    for angle, j in zip(value, used, strict=False):
        members = [row for row in rows[labels == j] if np.abs(row).max() > 1e-140]
        widest = max(
            (float(np.arccos(min(cosine(a, b), 1.0))) for a in members for b in members),
            default=0.0,
        )
        if angle < widest / 2 - 1e-9:
            return False
    return True


@statement(CHECKS, "same clusters from any start")
def any_start(case, check):
    if check.status != "holds":
        return None
    rows = case.rows / case.unit
    present = [n for n, row in enumerate(rows) if np.abs(row).max() > 1e-140]
    if not present:
        return True
    cosines = np.array([[cosine(rows[a], rows[b]) for b in present] for a in present])
    wanted = as_partition(case.record.labels[present])
    for first in range(len(present)):
        centers = [first]
        while len(centers) < len(case.components):
            centers.append(int(cosines[:, centers].max(axis=1).argmin()))
        if as_partition(cosines[:, centers].argmax(axis=1)) != wanted:
            return False
    return True


def as_partition(labels):
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


@statement(CHECKS, "every row in a cluster")
def every_row(case, check):
    labels = np.full(len(case.rows), -1) if case.record.labels is None else case.record.labels
    return bool(((labels < 0) & case.rows.any(axis=1)).any())


# Counts -------------------------------------------------------------------------------------------


def divergence(rows, product):
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(rows > 0, rows * np.log(rows / product), 0.0)
    return (logs - rows + product).sum()


@statement(CHECKS, "weights sufficiently scattered")
def scattered_weights(case, check):
    """Pure rows prove it; it needs each e - e_j in the cone of at least k - 1 rows without j."""
    used = [row for row in exact.exact(case.weights) if any(row)]
    k = len(case.components)
    if check.status == "holds":
        return all(any(row[i] == sum(row) for row in used) for i in range(k))
    if check.status == "unknown":
        return None
    for j in range(k):
        face = [[float(w / sum(row)) for w in row] for row in used if row[j] == 0]
        if len(face) < k - 1:
            return True
        sides = np.delete(np.array(face), j, axis=1).T
        found = linprog(np.zeros(len(face)), A_eq=sides, b_eq=np.ones(k - 1))
        if found.status == 2:  # infeasible
            return True
    return False


@statement(BOUNDS, "weights_divergence_gap", "components_divergence_gap")
def divergence_gap(case, value):
    """Some steps of expectation-maximization must not gain more than the proved gap."""
    rows = (case.rows / case.unit).astype(np.longdouble)
    weights = case.weights.astype(np.longdouble)
    components = (case.components / case.unit).astype(np.longdouble)
    start = divergence(rows, weights @ components)
    for _ in range(60):
        product = weights @ components
        ratio = np.divide(rows, product, out=np.zeros_like(rows), where=product > 0)
        if components.sum() == 0 or weights.sum() == 0:
            break
        sums = components.sum(axis=1)
        weights = weights * (ratio @ components.T) / np.where(sums > 0, sums, 1)
    best_weights = divergence(rows, weights @ components)
    gained = float(start - best_weights) * case.unit
    weights = case.weights.astype(np.longdouble)
    for _ in range(60):
        product = weights @ components
        ratio = np.divide(rows, product, out=np.zeros_like(rows), where=product > 0)
        sums = weights.sum(axis=0)[:, None]
        components = components * (weights.T @ ratio) / np.where(sums > 0, sums, 1)
    other = float(start - divergence(rows, weights @ components)) * case.unit
    bounds = case.certificate.bounds
    slack = 1e-15 * float(rows.sum()) * case.unit
    return (
        bounds["weights_divergence_gap"] >= gained - slack
        and bounds["components_divergence_gap"] >= other - slack
    )


@statement(MEASURES, "divergence")
def divergence_value(case, value):
    rows = (case.rows / case.unit).astype(np.longdouble)
    product = case.weights.astype(np.longdouble) @ (case.components / case.unit)
    found = float(divergence(rows, product)) * case.unit
    return abs(value - found) <= 1e-9 * abs(found) + 1e-12 * float(rows.sum()) * case.unit


@statement(MEASURES, "negative_binomial_deviance_explained")
def overdispersed(case, value):
    """Deviances are integrals of the score over the mean, from the fitted to the observed."""
    a = case.record.parameters["overdispersion"]
    rows = case.rows.astype(np.longdouble)
    independent = np.outer(rows.sum(axis=1), rows.sum(axis=0)) / rows.sum()
    points, sizes = np.polynomial.legendre.leggauss(400)

    def deviance(means):
        least = 1e-12 * rows.max()
        low, high = np.log(np.maximum(means, least)), np.log(np.maximum(rows, least))
        total = np.zeros(rows.shape)
        for point, size in zip(points, sizes):
            m = np.exp((high + low) / 2 + (high - low) / 2 * point)
            total += size * (rows - m) / (1 + a * m)
        return (total * (high - low) / 2).sum()

    product = case.weights.astype(np.longdouble) @ case.components
    return abs(1 - deviance(product) / deviance(independent) - value) <= 1e-6


# Stability of the weights -------------------------------------------------------------------------


@statement(BOUNDS, "weight_amplification")
def weight_movement(case, value):
    """Weights that differ by v belong to rows that differ by at least ‖v‖/value."""
    if value == 0:
        return len(case.components) == 1 and case.constraint == "simplex"
    return Fraction(1) / Fraction(value) <= least_stretch(case)


@statement(MEASURES, "component_amplification")
def amplification(case, value):
    """Row j is at least 1/value_j away from the span, or the affine hull, of the other rows."""
    return all(
        v == 0 or Fraction(1) / Fraction(v) <= away_from_others(case, j)
        for j, v in enumerate(value)
    )


def away_from_others(case, j):
    """Distance of component j to a combination of the others that seems to be the nearest."""
    simplex = case.constraint == "simplex"
    parts = exact.exact(case.components)
    others = parts[:j] + parts[j + 1 :]
    origin = others[0] if simplex and others else [Fraction(0)] * len(parts[j])
    edges = [exact.minus(row, origin) for row in (others[1:] if simplex else others)]
    away = exact.minus(parts[j], origin)
    if edges:
        seen = np.array([[float(v) for v in row] for row in edges])
        sizes = np.maximum(np.abs(seen).max(axis=1, keepdims=True), 1e-300)
        best = np.linalg.lstsq((seen / sizes).T, np.array([float(v) for v in away]), rcond=None)[0]
        found = exact.exact([best / sizes[:, 0]])[0]
        away = exact.minus(away, exact.combination(found, edges))
    return exact.root_above(_squared(away))


def least_stretch(case):
    """‖vC‖/‖v‖, rounded up, for the v that seems to make it smallest."""
    size = exact.power_of_two(case.components)
    seen, k = case.components / size, len(case.components)
    across = np.eye(k)
    if case.constraint == "simplex":
        if k == 1:
            return exact.root_above(sum(_squared(row) for row in exact.exact(case.components)))
        across = np.vstack([np.eye(k - 1), -np.ones(k - 1)])
        across = np.linalg.qr(across)[0]
    v = across @ np.linalg.svd(across.T @ seen)[0][:, -1]
    v = exact.exact([v])[0]
    if case.constraint == "simplex":
        v[-1] = -sum(v[:-1], Fraction(0))
    moved = exact.combination(v, exact.exact(case.components))
    return exact.root_above(_squared(moved) / _squared(v))


# First-order conditions ---------------------------------------------------------------------------


@statement(MEASURES, "weights_optimality_residual")
def weights_residual(case, value):
    return near(value, *residuals(case)[0])


@statement(MEASURES, "components_optimality_residual")
def components_residual(case, value):
    return None if case.penalised else near(value, *residuals(case)[1])


@statement(CHECKS, "entries that are missing")
def missing(case, check):
    return check.status == "unknown" and check.value == np.mean(np.isnan(case.rows))


@statement(CHECKS, "first-order conditions")
def stationary(case, check):
    if check.status == "unknown":  # of unimodal components, say
        return None if check.value is None and check.note else False
    if case.penalised:
        return None if "penalties" in check.note else False
    (of_weights, slack), (of_components, other) = residuals(case)
    if "were given" in check.note:
        return of_weights <= check.value + slack
    found, slack = max(of_weights, of_components), slack + other
    if check.status == "holds":
        return found <= check.threshold * (1 + 1e-6) + slack
    return found >= check.threshold * (1 - 1e-6) - slack


def near(value, found, slack):
    return abs(value - found) <= 1e-6 * found + slack


def residuals(case):
    """Of weights and components: how far from optimal, and the rounding error to allow for."""
    sizes = 2.0 ** np.frexp(np.abs(case.weights).max(axis=0))[1]
    weights, components = case.weights / sizes, case.components / case.unit * sizes[:, None]
    rows = case.rows / case.unit
    norm = np.linalg.norm(rows)
    reach = float(np.linalg.norm(weights)) * float(np.linalg.norm(components))
    slack = 1e-13 * (1 + reach / norm)
    if case.constraint == "simplex":
        weights, components = case.weights, case.components / case.unit
        gradient = (extended(weights) @ components - rows) @ components.T
        gaps = (gradient * weights).sum(axis=1) - gradient.min(axis=1)
        found = (
            np.sqrt(float(np.maximum(gaps, 0).sum())) / norm,
            np.sqrt(slack * (1 + reach / norm)),
        )
    else:
        found = one_residual(rows, weights, components) / norm, slack
    return found, (one_residual(rows.T, components.T, weights.T) / norm, slack)


def extended(matrix):
    return np.asarray(matrix, dtype=np.longdouble)


def one_residual(rows, factor, other):
    """√L times the length of a step of projected gradient descent in `factor`, L of ½‖Y − FA‖²."""
    lengths = np.sqrt((extended(other) ** 2).sum(axis=1))
    unit = extended(other) / np.where(lengths > 0, lengths, 1)[:, None]
    curvature = float(np.linalg.norm(unit.astype(np.float64), 2)) ** 2
    if curvature == 0:
        return 0.0
    here = extended(factor) * lengths
    gradient = (here @ unit - rows) @ unit.T
    moved = here - np.maximum(here - gradient / curvature, 0)
    return float(np.sqrt(curvature * (moved**2).sum()))


# Statements that claim nothing beyond their numbers, or conditions with unknown constants ---------

NUMBERS_ONLY = (
    "separability_residual typical_separability_residual smallest_singular_value robustness "
    "rows_near_anchors anchor_radius scaled_anchor_radius "
    "purest_other_row rho gamma kappa size_angles_slack "
    "largest_sine relative_distance_from_axes smallest_axis_angle gcc_r gcc_k gcc_m "
    "gcc_lambda decay_order_q noise_level "
    "noise_blow_up C1 c2 C2 C_nu inverse_infinity_norm moore_penrose_infinity_norm "
    "deviance_explained overdispersion other_fit_excess other_fit_turn_degrees"
).split()


@statement(MEASURES, *NUMBERS_ONLY)
def number(case, value):
    """A finite number, or several."""
    return bool(np.isfinite([v for v in np.atleast_1d(value) if v is not None]).all())


@statement(
    CHECKS,
    "space of all fits as good",
    "other fits have these parts",
    "distance to the best rank-k error",
    "weights move less than rows",
    "maxima separate at the optimum",
    "maxima separate, noise measured",
    "objective near its optimum",
    "gradient gap (nu eta) needed",
    "noise within memory theorem",
    "cones far apart, inequality (1)",
    "finite divergence",
    "either factor near its best",
    "decoded weights are 0 or 1",
    "correlation small enough",
    "decay order q at least 1",
    "noise small enough",
    "balanced proportions C2/c2",
    "uncorrelated weights (A2)",
    "every feature appears (A2)",
    "warm start, mixing (A3)",
    "start outside the span",
    "adversarial noise",
    "unbiased noise",
    "sparsity C1^3/(c2^2 k)",
)
def consistent(case, check):
    """The status follows from the number and the threshold."""
    return is_consistent(check)
