"""No method reads its data more often than docs/scale.md says, certificate included."""

import math
from pathlib import Path

import numpy as np
import pytest

from provenmf.data.memory import MemoryBlocks
from provenmf.methods import CATALOGUE, make_estimator
from provenmf.methods.poisson import counts
from provenmf.methods.separable import margins

SCALE = Path(__file__).parents[3] / "docs" / "scale.md"
FEW = {"max_iter": 4}


class CountingBlocks(MemoryBlocks):
    """Rows of a matrix, as if on disk; `rows_read` counts all that were asked for."""

    in_memory = False
    rows_read = 0

    def read(self, start, stop):
        self.rows_read += stop - start
        return super().read(start, stop)

    def take(self, rows):
        self.rows_read += len(rows)
        return super().take(rows)


def stated(method, **names):
    """The numbers of passes in the table of docs/scale.md: of the fit, and of the certificate."""
    [row] = [line for line in SCALE.read_text().splitlines() if line.startswith(f"| `{method}` |")]
    return [eval(cell, {}, names) for cell in row.replace("`", "").split("|")[2:4]]  # noqa: S307


def passes(estimator, data):
    blocks = CountingBlocks(data, block_rows=100)
    estimator.fit(blocks)
    return blocks.rows_read / blocks.n_rows


@pytest.mark.parametrize("method", sorted(CATALOGUE))
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_passes_are_as_stated(method, k, monkeypatch):
    monkeypatch.setattr(counts, "AT_HAND_BYTES", 0.0)
    # Radii are for small data and full certificates only.
    monkeypatch.setattr(margins, "SETTINGS", margins.Settings(passes=1, radii=0))
    rng = np.random.default_rng(0)
    weights = np.vstack([np.eye(k), rng.dirichlet(np.full(k, 0.3), size=300 - k)])
    data = weights @ rng.random((k, 12)) + 0.01 * rng.random((300, 12))
    estimator = make_estimator(method, k)
    few = {name: value for name, value in FEW.items() if name in estimator.get_params()}
    plain = passes(estimator.set_params(certify=False, **few), data)
    certified = passes(estimator.set_params(certify=True), data)
    rounds = {"k": k, "T": len(estimator.trace_), "m": 2, "c": 1}
    least = stated(method, s=2, r=1, **rounds)
    most = stated(method, s=k + 1, r=k, **rounds)
    assert least[0] - 2 <= math.floor(plain) <= most[0]
    assert most[1] - 2 <= math.floor(certified - plain) <= most[1]
