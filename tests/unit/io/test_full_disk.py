"""A disk that is really full: what was there stays whole, and the message says what to do.

The limit on the size of files (RLIMIT_FSIZE) makes every longer write fail, as a full disk does.
"""

import subprocess
import sys

import numpy as np
import pytest

from provenmf import HALS, Checkpoint

resource = pytest.importorskip("resource")

BEGIN = """
import resource, sys, warnings
from pathlib import Path
import numpy as np
folder = Path(sys.argv[1])
def fill_the_disk(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
"""


def run(code, folder):
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + code, str(folder)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    # numpy before 2.0 leaves its archive to be closed by the collector, which says so.
    of_numpy = done.stderr.count("Exception ignored in: <function ZipFile.__del__")
    assert done.stderr.count("Traceback") == of_numpy, done.stderr
    return done


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_fit_goes_on_and_its_last_checkpoint_stays(tmp_path):
    X = np.random.default_rng(0).random((300, 40))
    np.save(tmp_path / "X.npy", X)
    kept = tmp_path / "kept"
    model = HALS(4, tol=0.0, random_state=0, certify=False)
    model.set_params(max_iter=5).fit(X, checkpoint=Checkpoint(kept, seconds=0))
    before = contents(kept)
    code = """
from provenmf import HALS, Checkpoint
X = np.load(folder / "X.npy")
model = HALS(4, tol=0.0, random_state=0, certify=False, max_iter=12)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    fill_the_disk(2000)
    model.fit(X, checkpoint=Checkpoint(folder / "kept", seconds=0))
print([str(each.message) for each in said if "checkpoint" in str(each.message)])
print(repr(float(model.components_.sum())))
"""
    done = run(code, tmp_path)
    assert "the last checkpoint is kept" in done.stdout
    assert contents(kept) == before
    # Goes on from there, in a process like the other: rounding may depend on where arrays lie.
    again = run(code.replace("fill_the_disk(2000)", ""), tmp_path)
    assert again.stdout.splitlines()[-1] == done.stdout.splitlines()[-1]
    assert contents(kept) != before


def test_results_and_temporary_files(tmp_path):
    np.save(tmp_path / "X.npy", np.random.default_rng(0).random((2000, 30)))
    (tmp_path / "found.npz").write_bytes(b"what was there before")
    code = """
from provenmf import ProvenmfError, factorize
from provenmf.data import LocalRows
result = factorize(folder / "X.npy", 3, method="spa", certify=False)
fill_the_disk(2000)
for write in (
    lambda: result.save(folder / "found.npz"),
    lambda: LocalRows(10_000, room=0).append(np.zeros(10_000)),
):
    try:
        write()
    except ProvenmfError as error:
        print(error)
"""
    done = run(code, tmp_path)
    said = done.stdout.splitlines()
    assert len(said) == 2, done
    assert said[0].startswith("cannot write") and "File too large" in said[0]
    assert "make room there" in said[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["X.npy", "found.npz"]
    assert (tmp_path / "found.npz").read_bytes() == b"what was there before"
