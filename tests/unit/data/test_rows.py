"""Sums, maxima and numbers of rows are the same of one array and of its parts."""

import numpy as np
import pytest

from provenmf.data import as_blocks
from provenmf.data.mapped import MappedBlocks
from provenmf.data.parts import LocalParts
from provenmf.data.rows import by_row, mapped, of_each, total


def example():
    """An array, and the same in parts, of which one has no rows."""
    rows = np.random.default_rng(0).random((20, 3))
    parts = LocalParts()
    for some in (rows[:7], rows[7:7], rows[7:]):
        parts.append(some)
    return rows, parts


def test_parts_say_what_the_array_says():
    rows, parts = example()
    np.testing.assert_allclose(total(lambda w: w.T @ w, parts), rows.T @ rows)
    np.testing.assert_array_equal(total(lambda w: w.T @ w, rows), rows.T @ rows)
    assert max(of_each(lambda w: w.max(initial=0.0), parts)) == rows.max()
    assert max(of_each(np.max, rows)) == rows.max()
    for given in example():
        np.testing.assert_array_equal(by_row(lambda w: w[:, 0], given), rows[:, 0])
        doubled = mapped(lambda w: 2 * w, given)
        assert type(doubled) is type(given)
        both = total(lambda a, b: (len(a), float(np.vdot(a, b))), given, doubled)
        assert both == (20, pytest.approx(2 * np.vdot(rows, rows)))


@pytest.mark.parametrize("block_rows", [None, 6])
@pytest.mark.parametrize("factor", [None, 2.0])
def test_a_pass_may_gather_add_and_keep(block_rows, factor):
    X, _ = example()
    blocks = as_blocks(X, block_rows=block_rows)
    if factor is not None:
        blocks, X = MappedBlocks(blocks, lambda block: factor * block), factor * X
    sums = np.zeros(len(X))

    def receive(start, stop, found):
        sums[start:stop] = found

    def of_block(block):
        return block.sum(axis=1), block.T @ block, block[:, :2]

    gram, kept = blocks.gather_add_and_keep(of_block, receive)
    np.testing.assert_allclose(gram, X.T @ X)
    np.testing.assert_array_equal(kept, X[:, :2])
    np.testing.assert_array_equal(sums, X.sum(axis=1))
    np.testing.assert_array_equal(blocks.gather_and_add(of_block, receive), gram)
    assert blocks.in_place(X) is X
