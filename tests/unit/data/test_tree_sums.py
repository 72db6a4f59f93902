"""Sums over chunks in one fixed tree, whoever adds up which of them."""

import numpy as np
import pytest

from provenmf.data.tree_sums import joined_sums, sums_of, total


def added_in_pairs(values):
    """The definition: neighbours, then neighbouring sums, and so on."""
    while len(values) > 1:
        values = [sum(values[i + 1 : i + 2], values[i]) for i in range(0, len(values), 2)]
    return values[0]


@pytest.mark.parametrize("leaves", [1, 2, 3, 5, 8, 13, 16, 17])
@pytest.mark.parametrize("groups", [1, 2, 5])
def test_the_tree_does_not_depend_on_who_adds(leaves, groups):
    rng = np.random.default_rng(leaves)
    values = (10.0 ** rng.integers(-8, 8, leaves)) * rng.random(leaves)
    owner = rng.integers(groups, size=leaves)
    partial = [
        sums_of(((i, values[i]) for i in np.flatnonzero(owner == g).tolist()), leaves)
        for g in range(groups)
    ]
    assert total(partial, leaves) == added_in_pairs(values.tolist())
    first, *others = partial
    assert total([joined_sums([first], leaves), *others], leaves) == total(partial, leaves)


def test_neighbours_become_one_sum():
    """A task that has the first half of the leaves passes on a single value."""
    assert sums_of([(i, 1) for i in range(4)], 8) == {(2, 0): 4}
    assert sums_of([(0, 1), (2, 1), (3, 1)], 8) == {(0, 0): 1, (1, 1): 2}
    assert sums_of([(0, (1, 2)), (1, (3, 4))], 2) == {(1, 0): (4, 6)}
