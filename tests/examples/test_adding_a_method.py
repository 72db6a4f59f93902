"""The method of the tutorial, executed from its page, is a method like the others."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

PAGE = Path(__file__).parents[2] / "docs" / "adding_a_method.md"
X = np.random.default_rng(1).random((50, 9))


@pytest.fixture(scope="module")
def code():
    """The blocks of the page, one after the other."""
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)


@pytest.fixture(scope="module")
def MU(code):
    names = {"__name__": "tutorial"}
    for block in code:
        exec(block, names)
    return names["MU"]


def test_it_takes_about_a_hundred_lines(code):
    lines = [line for block in code[:-1] for line in block.splitlines() if line.strip()]
    assert len(lines) <= 140  # docstrings included


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", ["disk", "threads", "blocks"])
def test_rows_may_be_anywhere(MU, place, tmp_path):
    near = MU(3, random_state=0, max_iter=20).fit(X)
    np.save(tmp_path / "X.npy", X)
    if place == "disk":
        far = clone(near).fit(tmp_path / "X.npy")
    elif place == "threads":
        array = pytest.importorskip("dask.array").from_array(X, chunks=(12, 9))
        far = clone(near).fit(array)
    else:
        from provenmf.data import as_blocks

        far = clone(near).fit(as_blocks(X, block_rows=12))
    np.testing.assert_allclose(far.components_, near.components_, rtol=1e-9)
    np.testing.assert_allclose(far.transform(X), near.transform(X), atol=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_it_is_certified_described_and_strict(MU):
    model = MU(3, random_state=0, max_iter=300, tol=1e-9).fit(X.astype(np.float32))
    assert model.components_.dtype == np.float32
    assert model.certificate_.measures["components_residual"] < 0.05 * np.linalg.norm(X)
    assert "Random seed" in MU.__doc__
    for name, wrong in (("max_iter", 0), ("n_components", None), ("n_components", 10)):
        with pytest.raises(ValueError, match=name):
            MU(**{"n_components": 3, name: wrong}).fit(X)
