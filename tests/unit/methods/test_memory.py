"""A budget of memory: blocks follow from it, and what exceeds it is refused before the start."""

import warnings

import numpy as np
import pytest

from provenmf import ANLS, HALS, MERIT, SPA, FastGradient, PoissonNMF, factorize, resources
from provenmf.data import as_blocks
from provenmf.errors import TooLarge


@pytest.fixture
def path(tmp_path):
    np.save(tmp_path / "X.npy", np.random.default_rng(0).random((3000, 50)))
    return tmp_path / "X.npy"


def test_blocks_follow_from_the_budget(path):
    assert as_blocks(path).block_rows == 3000
    with resources(memory="6.4MB"):
        assert as_blocks(path).block_rows == 500  # 200 kB
        assert as_blocks(np.load(path)).block_rows == 500
        with resources(n_jobs=1):  # other settings leave it as it is
            assert as_blocks(path).block_rows == 500
    assert as_blocks(path).block_rows == 3000


def test_a_fit_within_the_budget_is_the_fit_without_one(path):
    plain = SPA(4).fit(path)
    with resources(memory="450MB", n_jobs=1):
        small = factorize(path, 4, method="spa")
    np.testing.assert_array_equal(small.anchors, plain.anchors_)
    np.testing.assert_allclose(small.weights, plain.factorization_.weights, atol=1e-12)


GATHERING = {
    "merit": MERIT(3, step="open-loop", certify=False),
    "fast_gradient": FastGradient(3, certify=False),
    "poisson": PoissonNMF(3, certify=False),
    "nndsvd": ANLS(3, init="nndsvd", certify=False),
}


@pytest.mark.parametrize("name", GATHERING)
def test_what_needs_all_data_says_so_before_the_start(name, path, monkeypatch):
    model = GATHERING[name]

    def never(*arguments):
        raise AssertionError("the data were gathered")

    blocks = as_blocks(path)
    monkeypatch.setattr(blocks, "everything", never)
    with resources(memory="351MB"), pytest.raises(TooLarge, match=r"GB that .* for the data at"):
        model.fit(blocks)
    monkeypatch.setattr("provenmf.budget.MOST_GATHERED", 1e5)
    monkeypatch.setattr("provenmf.budget.HINT", 1e5)
    with pytest.raises(TooLarge, match="GB at once for X of shape"):
        model.fit(blocks)


def test_gathering_is_announced(path, monkeypatch):
    monkeypatch.setattr("provenmf.budget.HINT", 1e5)
    with pytest.warns(RuntimeWarning, match="PoissonNMF loads X .* into memory"):
        PoissonNMF(2, max_iter=1, tol=0, certify=False).fit(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HALS(2, max_iter=1, tol=0, certify=False).fit(path)


def test_weights_that_exceed_the_budget(path):
    blocks = as_blocks(path)
    blocks.shape = (200_000_000, 50)  # not read: the refusal comes first
    with resources(memory="2GB"), pytest.raises(TooLarge, match=r"memory='2GB' is less than the"):
        SPA(10)._check_memory(blocks)
