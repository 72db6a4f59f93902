"""A sweep of pairwise steps against one over arrays; what is found in parts of the rows."""

from functools import partial, reduce
from operator import add

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.data import as_blocks
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.methods.merit import kernels
from provenmf.methods.merit.mixture import Mixture, columns_of, pairs_of
from provenmf.methods.merit.solver import sweep

LAM, MU = 0.2, 1e-5
X = dirichlet_mixtures(300, 12, 5, snr=12, random_state=3).data
DICTIONARY = np.arange(0, 300, 6)


def weights():
    """Rows on the simplex with four entries each; half of the dictionary is not used."""
    rng = np.random.default_rng(1)
    C = np.zeros((len(X), len(DICTIONARY)))
    for row in C:
        row[rng.permutation(25)[:4]] = rng.dirichlet(np.ones(4))
    return C


def mixture_of(block_rows, storage=np.asarray):
    mixture = Mixture(as_blocks(storage(X), block_rows=block_rows), DICTIONARY)
    index, value, count, _ = pairs_of(weights(), np.arange(len(DICTIONARY)), 0)
    mixture.restore({"dictionary": DICTIONARY, "index": index, "value": value, "count": count})
    return mixture


def objective(C):
    return 0.5 * np.sum((C @ X[DICTIONARY] - X) ** 2) + LAM * C.max(axis=0).sum()


class PlainColumns:
    """Bounds on the two largest entries of each column, and who holds the largest."""

    def __init__(self, C):
        ordered = np.sort(C, axis=0)
        self.first, self.second = ordered[-1], ordered[-2]
        self.holder = np.where(self.first > 0, C.argmax(axis=0), -1)

    def others(self, row):
        return np.where(self.holder == row, self.second, self.first)

    def update(self, row, weights):
        for n, entry in enumerate(weights):
            others = self.others(row)[n]
            if entry > others or (entry == others and self.holder[n] == row):
                self.first[n], self.second[n], self.holder[n] = entry, others, row
            elif self.holder[n] == row:
                self.first[n], self.holder[n] = others, -1
            else:
                self.second[n] = max(self.second[n], entry)


def plain_turn(weights, row, others):
    """One pairwise step; the line search tries the ends of all pieces and their minima."""
    atoms = X[DICTIONARY]
    slope = atoms @ (weights @ atoms - X[row])
    up = slope + LAM * (weights >= others)
    down = np.where(weights > 0, slope + LAM * (weights > others), -np.inf)
    best, worst = int(up.argmin()), int(down.argmax())
    if down[worst] - up[best] <= 1e-6:
        return weights
    curvature, gap = np.sum((atoms[best] - atoms[worst]) ** 2), slope[worst] - slope[best]
    trials = [weights[worst], others[best] - weights[best], weights[worst] - others[worst]]
    trials += [(gap + shift * LAM) / curvature for shift in (-1, 0, 1)]
    direction = np.eye(len(atoms))[best] - np.eye(len(atoms))[worst]
    moved = [weights + step * direction for step in np.clip(trials, 0, weights[worst])]
    return min(moved, key=partial(penalised, others, X[row]))


def penalised(others, row, weights):
    """What a row's weights cost where the others hold so much of each column."""
    fit = 0.5 * np.sum((weights @ X[DICTIONARY] - row) ** 2)
    return fit + LAM * np.maximum(weights, others).sum()


def plain_fill(weights, row, caps):
    """One pairwise step that stays below the caps."""
    atoms = X[DICTIONARY]
    slope = atoms @ (weights @ atoms - X[row])
    up, down = np.where(weights < caps, slope, np.inf), np.where(weights > 0, slope, -np.inf)
    best, worst = int(up.argmin()), int(down.argmax())
    step = (down[worst] - up[best]) / np.sum((atoms[best] - atoms[worst]) ** 2)
    step = min(step, weights[worst], caps[best] - weights[best])
    if down[worst] - up[best] <= 1e-6:
        return weights
    return weights + step * (np.eye(len(atoms))[best] - np.eye(len(atoms))[worst])


def plain_sweep(C):
    """Rows that hold a largest entry or would exceed it in turn; then all of them below the caps.

    Returns who took turns, C thereafter, and C in the end.
    """
    C, first = C.copy(), C.max(axis=0)
    slope = (C @ X[DICTIONARY] - X) @ X[DICTIONARY].T
    rows, gains = {int(C[:, n].argmax()) for n in np.flatnonzero(first)}, {}
    for row in range(len(C)):
        held = np.flatnonzero(C[row] >= first)
        if len(held):
            column = int(held[slope[row, held].argmin()])
            gain = slope[row, C[row] > 0].max() - slope[row, column] - LAM
            if gain > max(gains.get(column, (0, 0))[0], 1e-6):
                gains[column] = gain, row
    columns, in_turn = PlainColumns(C), sorted(rows | {row for _, row in gains.values()})
    for row in in_turn:
        C[row] = plain_turn(C[row], row, columns.others(row))
        columns.update(row, C[row])
    filled = [plain_fill(C[row], row, columns.first) for row in range(len(C))]
    return in_turn, C, np.array(filled)


def swept(mixture, steps):
    penalties = mixture.penalties(LAM, MU)
    sweep(mixture, penalties, mixture.standing(penalties, bidding=True).bids, 1e-6, steps)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("block_rows", [300, 77, 16])
def test_a_sweep_is_the_plain_one(block_rows, storage, dense):
    mixture = mixture_of(block_rows, storage)
    in_turn, before, expected = plain_sweep(weights())
    swept(mixture, 1)
    found = dense(mixture)
    others = np.setdiff1d(np.arange(len(X)), in_turn)
    np.testing.assert_allclose(found[others], expected[others], atol=1e-9)
    # A step leaves two vertices with equal slopes: rounding decides which of them comes next.
    assert objective(found) <= objective(before)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)


def test_turns_are_those_of_plain_rows(dense):
    mixture, (rows, expected, _) = mixture_of(300), plain_sweep(weights())
    few = mixture.part(np.array(rows))
    few.step_in_turn(np.array(rows), mixture.penalties(LAM, MU), 1e-6, 1)
    np.testing.assert_allclose(dense(few), expected[rows], atol=1e-9)


def test_columns_of_parts_are_those_of_all_rows():
    C = weights()
    C[200:] = C[100:200]  # equal entries: the first of them holds the column
    columns = np.arange(C.shape[1])
    parts = [
        columns_of(pairs_of(C[i : i + 90], columns, i), C.shape[1], 1e-2)
        for i in range(0, len(C), 90)
    ]
    found = reduce(add, parts)
    ordered = np.sort(C, axis=0)
    np.testing.assert_array_equal(found.first, ordered[-1])
    np.testing.assert_array_equal(found.second, ordered[-2])
    used = ordered[-1] > 0
    np.testing.assert_array_equal(found.holder, np.where(used, C.argmax(axis=0), -1))
    np.testing.assert_allclose(found.mass, np.exp((C - C.max(axis=0)) / 1e-2).sum(axis=0))


@pytest.mark.parametrize("seed", range(40))
def test_best_step(seed):
    """No step of a fine grid is better along the piecewise quadratic."""
    rng = np.random.default_rng(seed)
    gap, room, lam = rng.normal(0.3), rng.uniform(0.1, 1), rng.uniform(0, 1)
    curvature = rng.choice([0.0, rng.uniform(0.05, 2)])
    # What is paid before the start is paid whatever the step: count from zero on.
    free_until, paid_until = np.maximum(rng.uniform(-0.5, 1.2, 2), 0.0)

    def value(s):
        penalty = lam * np.maximum(s - free_until, 0) + lam * np.maximum(paid_until - s, 0)
        return 0.5 * curvature * s**2 - gap * s + penalty

    step = kernels.best_step(gap, curvature, room, free_until, paid_until, lam)
    assert 0 <= step <= room
    assert value(step) <= value(np.linspace(0, room, 2001)).min() + 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_bounds_of_a_column_stay_valid(seed):
    """Whatever the rows change, in any order."""
    rng = np.random.default_rng(seed)
    entries = rng.random(5)
    ordered = np.sort(entries)
    first, second = np.array([ordered[-1]]), np.array([ordered[-2]])
    holder = np.array([entries.argmax()])
    for _ in range(6):
        row, entry = int(rng.integers(5)), rng.random()
        entries[row] = entry
        kernels.update_column_in_place(0, row, entry, first, second, holder)
        for other in range(5):
            largest = second[0] if holder[0] == other else first[0]
            assert largest >= np.delete(entries, other).max()
