"""Compiled loops of MERIT against dense formulas, grids and sorted columns."""

import numpy as np
import pytest

from provenmf.methods.merit import kernels


def masses(C, mu):
    return np.exp((C - C.max(axis=0)) / mu).sum(axis=0)


@pytest.mark.parametrize("mu", [1e-5, 1e-2, 0.3])
def test_column_masses(pairs, mu):
    C = pairs.dense()
    found = kernels.column_masses(*pairs.parts, C.max(axis=0), mu)
    np.testing.assert_allclose(found, masses(C, mu), rtol=1e-12)
    assert found[-1] == len(C)


@pytest.mark.parametrize("mu", [1e-5, 1e-2, 0.3])
def test_price(pairs, mu):
    """Scores plus lam * y, and the inner product with the row's own weights."""
    C = pairs.dense()
    fit, lam = np.random.default_rng(6).standard_normal(C.shape), 0.4
    top, mass = C.max(axis=0), masses(C, mu)
    scores = fit + lam * np.exp(-top / mu) / mass
    inner = np.empty(len(C))
    kernels.price_in_place(scores, *pairs.parts, top, mass, lam, mu, inner)
    expected = fit + lam * np.exp((C - top) / mu) / mass
    np.testing.assert_allclose(scores, expected, atol=1e-13)
    np.testing.assert_allclose(inner, np.sum(C * expected, axis=1), atol=1e-13)


@pytest.mark.parametrize("alpha", [0.25, 1.0])
def test_move(pairs, alpha):
    C = pairs.dense()
    vertex = np.random.default_rng(7).integers(0, pairs.size, len(C)).astype(np.int32)
    kernels.move_in_place(*pairs.parts, vertex, alpha)
    expected = (1 - alpha) * C
    expected[np.arange(len(C)), vertex] += alpha
    np.testing.assert_allclose(pairs.dense(), expected, atol=1e-15)
    if alpha == 1:
        assert (pairs.count == 1).all()


def test_mix(pairs):
    atoms, out = np.random.default_rng(2).random((pairs.size, 9)), np.full((14, 9), np.nan)
    kernels.mix_in_place(*pairs.parts, atoms, out)
    np.testing.assert_allclose(out, pairs.dense() @ atoms, atol=1e-15)


def objective(C, X, data, lam):
    return 0.5 * np.sum((C @ X - data) ** 2) + lam * C.max(axis=0).sum()


def test_two_largest(pairs):
    first, second, holder = kernels.two_largest(*pairs.parts, pairs.size)
    C = pairs.dense()
    ordered = np.sort(C, axis=0)
    np.testing.assert_array_equal(first, ordered[-1])
    np.testing.assert_array_equal(second, ordered[-2])
    used = C.max(axis=0) > 0
    np.testing.assert_array_equal(holder[used], C.argmax(axis=0)[used])
    assert (holder[~used] == -1).all()


@pytest.mark.parametrize("seed", range(40))
def test_best_step(seed):
    """No step of a fine grid is better along the piecewise quadratic."""
    rng = np.random.default_rng(seed)
    gap, room, lam = rng.normal(0.3), rng.uniform(0.1, 1), rng.uniform(0, 1)
    curvature = rng.choice([0.0, rng.uniform(0.05, 2)])
    free_until, paid_until = rng.uniform(-0.5, 1.2, 2)

    def value(s):
        penalty = lam * np.maximum(s - free_until, 0) + lam * np.maximum(paid_until - s, 0)
        return 0.5 * curvature * s**2 - gap * s + penalty

    # What is paid before the start is paid whatever the step: count from zero on.
    free_until, paid_until = max(free_until, 0.0), max(paid_until, 0.0)
    step = kernels.best_step(gap, curvature, room, free_until, paid_until, lam)
    assert 0 <= step <= room
    assert value(step) <= value(np.linspace(0, room, 2001)).min() + 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_update_column(seed):
    """After any changes the bounds are valid, and exact as long as no holder fell below."""
    rng = np.random.default_rng(seed)
    entries = rng.random(5)
    ordered = np.sort(entries)
    first, second = np.array([ordered[-1]]), np.array([ordered[-2]])
    holder = np.array([entries.argmax()])
    for _ in range(6):
        row, entry = int(rng.integers(5)), rng.random()
        fell = holder[0] == row and entry < second[0]
        entries[row] = entry
        kernels.update_column_in_place(0, row, entry, first, second, holder)
        assert first[0] >= entries.max()
        if holder[0] >= 0:
            others = np.delete(entries, holder[0])
            assert entries[holder[0]] == first[0] and second[0] >= others.max()
        else:
            assert fell or entry <= first[0]
        for other in range(5):
            largest = kernels.others_largest(0, other, first, second, holder)
            assert largest >= np.delete(entries, other).max()


def test_others_largest_is_exact_on_fresh_columns(pairs):
    columns = kernels.two_largest(*pairs.parts, pairs.size)
    C = pairs.dense()
    for row in range(len(C)):
        for column in range(pairs.size):
            expected = np.delete(C[:, column], row).max()
            assert kernels.others_largest(column, row, *columns) == expected


def test_lowest_sum():
    rng = np.random.default_rng(3)
    for _ in range(20):
        slope, price = rng.integers(0, 4, 9).astype(float), rng.integers(0, 3, 9).astype(float)
        assert kernels.lowest_sum(slope, price) == np.argmin(slope + price)  # the first of equals


def test_without_zeros():
    index, value = np.array([4, 2, 7, 1, 9], dtype=np.int32), np.array([0.5, 0, 0.3, 0, 8.0])
    assert kernels.without_zeros_in_place(index, value, 4) == 2
    np.testing.assert_array_equal(index[:2], [4, 7])
    np.testing.assert_array_equal(value[:2], [0.5, 0.3])


@pytest.fixture
def problem(pairs):
    """A dictionary, rows to explain, and the state that a sweep works on."""
    rng = np.random.default_rng(8)
    X = rng.random((pairs.size, 4))
    data = rng.dirichlet(np.full(pairs.size, 0.5), len(pairs.count)) @ X
    return X, data, pairs.dense()


def plain_pairwise_step(C, X, data, row, lam):
    """Steepest pair of a row by its directional derivatives, and a line search on a grid."""
    slope = X @ (C[row] @ X - data[row])
    others = np.delete(C, row, axis=0).max(axis=0)
    up = slope + lam * (C[row] >= others)
    down = np.where(C[row] > 0, slope + lam * (C[row] > others), -np.inf)
    best, worst = int(up.argmin()), int(down.argmax())
    trials = []
    for step in np.linspace(0, C[row, worst], 4001):
        moved = C.copy()
        moved[row, best] += step
        moved[row, worst] -= step
        trials.append((objective(moved, X, data, lam), step))
    return best, worst, min(trials)


@pytest.mark.parametrize("lam", [0.0, 0.02, 0.3])
def test_improve_row(pairs, problem, lam):
    """One step goes between the plain step's columns and reaches its objective."""
    X, data, C = problem
    gram, row = X @ X.T, 3
    others = np.delete(C, row, axis=0).max(axis=0)
    best, worst, (value, step) = plain_pairwise_step(C, X, data, row, lam)
    count, made = kernels.improve_row_in_place(
        X @ (C[row] @ X - data[row]), gram, pairs.index[row], pairs.value[row],
        int(pairs.count[row]), others, np.empty(pairs.size), lam, 1e-12, 1,
    )  # fmt: skip
    pairs.count[row] = count
    found = pairs.dense()
    assert made == (step > 0)
    assert objective(found, X, data, lam) <= value + 1e-12
    changed = np.flatnonzero(np.abs(found[row] - C[row]) > 1e-12)
    assert set(changed) == ({best, worst} if made else set())
    np.testing.assert_array_equal(np.delete(found, row, axis=0), np.delete(C, row, axis=0))


@pytest.mark.parametrize("lam", [0.0, 0.3])
def test_sweep(pairs, problem, lam):
    """No sweep raises the value; the last one leaves no plain pairwise step that helps."""
    X, data, C = problem
    last = objective(C, X, data, lam)
    index, value = np.zeros((len(C), 12), dtype=np.int32), np.zeros((len(C), 12))
    made = -1
    for _ in range(10_000):
        columns = kernels.two_largest(*pairs.parts, pairs.size)
        index[:, :6], value[:, :6] = pairs.index, pairs.value
        made = kernels.sweep_in_place(
            (C @ X - data) @ X.T, X @ X.T, np.arange(len(C)), index, value, pairs.count, *columns,
            lam, 1e-6, 4,
        )  # fmt: skip
        pairs.index[:], pairs.value[:] = index[:, :6], value[:, :6]
        C = pairs.dense()
        now = objective(C, X, data, lam)
        assert now <= last + 1e-13
        last = now
        if not made:
            break
    assert made == 0
    np.testing.assert_allclose(C.sum(axis=1), 1, atol=1e-12)
    for row in range(len(C)):
        _, _, (best, _) = plain_pairwise_step(C, X, data, row, lam)
        assert best >= last - 1e-6


def plain_bids(C, slope, first, lam):
    """Of each column: the largest gain of a row from exceeding its largest entry, and the row."""
    gain, bidder = np.zeros(len(first)), np.full(len(first), -1)
    for row, weights in enumerate(C):
        held = np.flatnonzero(weights >= first)
        if len(held):
            column = held[slope[row, held].argmin()]
            found = slope[row, weights > 0].max() - slope[row, column] - lam
            if found > gain[column]:
                gain[column], bidder[column] = found, row
    return gain, bidder


@pytest.mark.parametrize("lam", [0.0, 0.05])
def test_note_bids(pairs, problem, lam):
    X, data, C = problem
    slope, first = (C @ X - data) @ X.T, C.max(axis=0)
    gain, bidder = np.zeros(pairs.size), np.full(pairs.size, -1)
    kernels.note_bids_in_place(slope, 100, *pairs.parts, first, lam, gain, bidder)
    expected, row = plain_bids(C, slope, first, lam)
    assert expected.any()
    np.testing.assert_allclose(gain, expected, atol=1e-15)
    np.testing.assert_array_equal(bidder, np.where(row >= 0, row + 100, -1))


def plain_fill_step(weights, X, row, caps):
    """The pair with the largest difference of slopes, and the best step that the caps allow."""
    slope = X @ (weights @ X - row)
    up, down = np.where(weights < caps, slope, np.inf), np.where(weights > 0, slope, -np.inf)
    best, worst = int(up.argmin()), int(down.argmax())
    gap = down[worst] - up[best]
    if gap <= 1e-9:
        return weights
    step = gap / np.sum((X[best] - X[worst]) ** 2)
    step = min(step, weights[worst], caps[best] - weights[best])
    moved = weights.copy()
    moved[best] += step
    moved[worst] -= step
    return moved


def test_fill(pairs, problem):
    """One step of every row is the plain one; no entry exceeds the cap of its column."""
    X, data, C = problem
    caps = np.where(C.max(axis=0) > 0, C.max(axis=0), 0.3)
    expected = np.array([plain_fill_step(c, X, row, caps) for c, row in zip(C, data)])
    slopes, gram = (C @ X - data) @ X.T, X @ X.T
    kernels.fill_in_place(slopes, gram, *pairs.parts, caps, 1e-9, 1)
    np.testing.assert_allclose(pairs.dense(), expected, atol=1e-12)
    assert (pairs.dense() <= caps).all() and (pairs.dense() > C + 1e-6).any()


def test_filling_ends_at_the_best_weights_below_the_caps(pairs, problem):
    """After many steps no pair of vertices with room has slopes that differ."""
    X, data, C = problem
    index, value = np.zeros((len(C), 40), dtype=np.int32), np.zeros((len(C), 40))
    index[:, :6], value[:, :6] = pairs.index, pairs.value
    caps = C.max(axis=0)
    for _ in range(400):
        C = dense(index, value, pairs.count, pairs.size)
        kernels.fill_in_place(
            (C @ X - data) @ X.T, X @ X.T, index, value, pairs.count, caps, 1e-10, 20
        )
    C = dense(index, value, pairs.count, pairs.size)
    slope = (C @ X - data) @ X.T
    up, down = np.where(C < caps, slope, np.inf), np.where(C > 0, slope, -np.inf)
    assert (down.max(axis=1) - up.min(axis=1)).max() <= 1e-4
    np.testing.assert_allclose(C.sum(axis=1), 1, atol=1e-9)


def dense(index, value, count, size):
    C = np.zeros((len(count), size))
    for row, pairs in enumerate(count):
        C[row, index[row, :pairs]] = value[row, :pairs]
    return C


def charges_of(products, levels):
    return np.maximum(levels[:, None] - products, 0).sum(axis=0)


def test_add_charges():
    rng = np.random.default_rng(0)
    products, levels = rng.standard_normal((9, 5)), rng.standard_normal(9)
    charges = np.ones(5)
    kernels.add_charges_in_place(products, levels, charges)
    np.testing.assert_allclose(charges, 1 + charges_of(products, levels), atol=1e-13)


def plain_raise(products, levels, slack, fraction):
    """Each row in turn goes up by a fraction of the least room that any column leaves it."""
    levels, slack = levels.copy(), slack.copy()
    for row, prices in enumerate(products):
        before = np.maximum(levels[row] - prices, 0)
        allowed = (np.maximum(prices - levels[row], 0) + slack).min()
        if allowed > 0:
            levels[row] += fraction * allowed
            slack -= np.maximum(levels[row] - prices, 0) - before
    return levels, slack


def test_raise_levels():
    rng = np.random.default_rng(1)
    products, levels = rng.standard_normal((9, 5)), rng.standard_normal(9) - 1
    lam = charges_of(products, levels).max() + 0.3
    slack = lam - charges_of(products, levels)
    expected, left = plain_raise(products, levels, slack, 0.5)
    found = levels.copy()
    kernels.raise_levels_in_place(products, found, slack, 0.5)
    np.testing.assert_allclose(found, expected, atol=1e-13)
    np.testing.assert_allclose(slack, left, atol=1e-13)
    assert (found > levels).any()
    np.testing.assert_allclose(slack, lam - charges_of(products, found), atol=1e-12)
    assert slack.min() >= -1e-12  # no column is overcharged: the levels still prove the bound


def test_add_margins():
    rng = np.random.default_rng(2)
    products, margins = rng.standard_normal((9, 5)), np.ones(5)
    total = kernels.add_margins_in_place(products, margins)
    ordered = np.sort(products, axis=1)
    assert total == pytest.approx(ordered[:, 0].sum())
    expected = np.ones(5)
    np.add.at(expected, products.argmin(axis=1), ordered[:, 1] - ordered[:, 0])
    np.testing.assert_allclose(margins, expected, atol=1e-13)


@pytest.mark.parametrize("pieces", [1, 3])
def test_note_extremes(pieces):
    """Entries are few different numbers: of rows that reach equally far the first one counts."""
    rng = np.random.default_rng(0)
    along = rng.integers(-4, 5, (60, 37)).astype(np.float32)
    best = np.full((2, 37), -np.inf, dtype=np.float32)
    where = np.zeros((2, 37), dtype=np.int32)
    for rows in np.array_split(np.arange(60), pieces):
        kernels.note_extremes_in_place(along[rows], 100 + rows[0], best, where)
    np.testing.assert_array_equal(best, [along.max(axis=0), -along.min(axis=0)])
    np.testing.assert_array_equal(where, [100 + along.argmax(axis=0), 100 + along.argmin(axis=0)])
