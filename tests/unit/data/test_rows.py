"""Values by row: the same of one array and of its parts, in memory and in files."""

import numpy as np
import pytest

from provenmf.data import LocalRows, MappedBlocks, as_blocks
from provenmf.data.base import tree_sum

ROWS = np.random.default_rng(0).random((20, 3))


def in_parts(room=np.inf):
    """The rows in parts, of which one has no rows."""
    return LocalRows(20, (ROWS[:7], ROWS[7:7], ROWS[7:]), room)


@pytest.mark.parametrize("rows", [LocalRows.of(ROWS), in_parts(), in_parts(room=0)])
def test_parts_say_what_the_array_says(rows):
    np.testing.assert_allclose(rows.sum(lambda w: w.T @ w), ROWS.T @ ROWS)
    assert max(rows.each(lambda w: w.max(initial=0.0))) == ROWS.max()
    np.testing.assert_array_equal(rows.array(lambda w: w[:, 0]), ROWS[:, 0])
    doubled = rows.map(lambda w: 2 * w)
    assert len(doubled) == len(rows)
    both = rows.sum(lambda a, b: (len(a), float(np.vdot(a, b))), doubled)
    assert both == (20, pytest.approx(2 * np.vdot(ROWS, ROWS)))
    whole = rows.array()
    np.testing.assert_array_equal(whole, ROWS)
    assert rows.array() is whole and np.shares_memory(rows[0], whole)
    assert [len(rows[i]) for i in range(len(rows))] in ([20], [7, 0, 13])


@pytest.mark.parametrize("block_rows", [None, 6])
@pytest.mark.parametrize("factor", [None, 2.0])
def test_one_pass_adds_up_and_keeps(block_rows, factor):
    X, blocks = ROWS, as_blocks(ROWS, block_rows=block_rows)
    if factor is not None:
        blocks, X = MappedBlocks(blocks, lambda block: factor * block), factor * X
    gram, kept = blocks.sum_and_keep(lambda block: (block.T @ block, block[:, :2]))
    np.testing.assert_allclose(gram, X.T @ X)
    np.testing.assert_array_equal(kept.array(), X[:, :2])
    np.testing.assert_array_equal(blocks.map_reduce(lambda block: block.T @ block), gram)
    assert blocks.place(X).array() is X


@pytest.mark.parametrize("leaves", [1, 2, 5, 7, 16, 37])
def test_sums_of_aligned_runs_have_the_bits_of_the_whole_sum(leaves):
    values = np.random.default_rng(leaves).standard_normal(leaves).tolist()
    for run in (2, 4, 8):
        runs = (values[i : i + run] for i in range(0, leaves, run))
        assert tree_sum(map(tree_sum, runs)) == tree_sum(values)
    assert tree_sum(values) == pytest.approx(sum(values))
    assert tree_sum([(1, 2.0), (3, 4.0)]) == (4, 6.0)
