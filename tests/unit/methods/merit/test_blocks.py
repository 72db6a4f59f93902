"""MERIT over rows in blocks: the answer is that of rows in memory."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.data import as_blocks
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.errors import InvalidInput, TooLarge
from provenmf.methods.merit.gap import extent_of
from provenmf.methods.merit.mixture import Mixture
from provenmf.methods.merit.solver import merit, sweep

SAMPLE = dirichlet_mixtures(1500, 20, 6, snr=14, random_state=0)


def solve(blocks, **options):
    return merit(blocks, 6, rng=np.random.default_rng(0), **options)


@pytest.fixture
def spread(set_merit):
    """As if the rows were too many to be compared with each other."""
    set_merit(search_rows=100)


def assert_same(found, expected):
    np.testing.assert_array_equal(found.anchors, expected.anchors)
    np.testing.assert_array_equal(found.components, expected.components)
    assert len(found.trace) == len(expected.trace)
    for name in ("dictionary", "row_maxima", "lam", "objective", "dictionary_gap"):
        np.testing.assert_allclose(
            getattr(found.state, name), getattr(expected.state, name), rtol=1e-7, err_msg=name
        )
    assert expected.state.duality_gap <= found.state.duality_gap <= found.state.objective


@pytest.mark.parametrize("room", [np.inf, 0])
def test_blocks_give_the_answer_of_rows_in_memory(monkeypatch, set_merit, tmp_path, room):
    expected = solve(as_blocks(SAMPLE.data))
    set_merit(search_rows=100)
    np.save(tmp_path / "rows.npy", SAMPLE.data)
    blocks = as_blocks(tmp_path / "rows.npy", block_rows=400)
    blocks.room_for_parts = room
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert_same(solve(blocks), expected)
    assert set(expected.anchors) == set(SAMPLE.anchors)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.npy"]  # nothing is left behind


def test_sparse_rows_are_made_dense_a_few_at_a_time(set_merit):
    set_merit(search_rows=100, block_bytes=300 * (8 * 20 + 1000))
    X = np.where(SAMPLE.data < 0.1, 0, SAMPLE.data)
    found, expected = solve(as_blocks(sp.csr_array(X))), solve(as_blocks(X))
    np.testing.assert_array_equal(np.sort(found.anchors), np.sort(expected.anchors))


def test_columns_of_blocks_are_those_of_all_rows():
    """Largest entries, their holders and masses, put together from three blocks."""
    X = SAMPLE.data
    dictionary = np.arange(0, 1500, 30)
    whole = Mixture(as_blocks(X, block_rows=1500), dictionary)
    for t in range(20):
        whole.standing(whole.penalties(0.3, 1e-2))
        whole.move(2 / (t + 2))
    spread = Mixture(as_blocks(X, block_rows=600), dictionary)
    spread.restore(whole.saved())
    near, far = whole.penalties(0.3, 1e-2), spread.penalties(0.3, 1e-2)
    np.testing.assert_array_equal(far.top, near.top)
    np.testing.assert_allclose(far.mass, near.mass)
    assert spread.standing(far).gap == pytest.approx(whole.standing(near).gap)
    for _ in range(3):
        found = []
        for mixture in (whole, spread):
            penalties = mixture.penalties(0.3, 1e-2)
            sweep(mixture, penalties, mixture.standing(penalties).bids, 1e-9, 10)
            after = mixture.penalties(0.3, 1e-2)
            found.append((extent_of(mixture).objective(after), after.top))
        (value, maxima), (value_there, maxima_there) = found
        assert value_there == pytest.approx(value, rel=1e-5)  # steps end at a tolerance
        np.testing.assert_allclose(maxima_there, maxima, atol=1e-3)


def test_exact_rows_that_are_many(spread):
    """Without noise there is no penalty, and open-loop steps go from block to block."""
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(4), 1200)
    weights[[7, 300, 800, 1100]] = np.eye(4)
    X = weights @ rng.random((4, 12))
    found = merit(as_blocks(X, block_rows=500), 4, max_iter=20, rng=np.random.default_rng(0))
    assert found.state.lam == 0 and not found.trace["pairwise"].any()
    assert set(found.anchors) == {7, 300, 800, 1100}


def test_a_full_disk_is_named(spread, tmp_path, monkeypatch):
    blocks = as_blocks(SAMPLE.data, block_rows=400)
    blocks.room_for_parts = 0
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(InvalidInput, match="TMPDIR"):
        solve(blocks)


def test_all_pairs_of_too_many_rows_are_refused_before_the_start(set_merit):
    set_merit(dense_bytes=1e3)
    with pytest.raises(TooLarge, match="GB with what is fitted to it.*step='pairwise'"):
        solve(as_blocks(SAMPLE.data), step="open-loop")
