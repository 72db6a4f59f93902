"""AND on a matrix on disk: peak memory, and the same features as in memory.

    python benchmarks/and_disk.py [--quick] [--gigabytes 3]

Writes a dense matrix of k = 20 topics and d = 1000 columns to a temporary .npy file, block by
block, and factorizes it in a fresh process that reports its peak memory. The reference is a fit of
the same matrix in memory, where there is room for it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from provenmf.datasets.and_descent import sample_dirichlet, topic_components

K, D, BLOCK = 20, 1000, 5000

CHILD = """
import json, sys, time
import numpy as np
from provenmf import AND
from provenmf.reproduce.merit import high_water_mark
path, k, memory, out = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "memory", sys.argv[4]
before = high_water_mark()
began = time.perf_counter()
model = AND(k, tol=1e-6).fit(np.load(path) if memory else path)
np.save(out, model.components_)
print(json.dumps({
    "seconds": time.perf_counter() - began,
    "passes": model.n_iter_,
    "stop": model.factorization_.stop_reason,
    "peak": high_water_mark() / 2**10,
    "imports": before / 2**10,
}))
"""


def write_matrix(path: Path, n_rows: int) -> None:
    topics = topic_components(K, D, random_state=0)
    matrix = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n_rows, D))
    for seed, first in enumerate(range(0, n_rows, BLOCK)):
        rows = min(BLOCK, n_rows - first)
        matrix[first : first + rows] = sample_dirichlet(rows, topics, random_state=seed).data
    matrix.flush()


def fit(path: Path, where: str, out: Path) -> tuple[dict[str, float], np.ndarray]:
    command = [sys.executable, "-c", CHILD, str(path), str(K), where, str(out)]
    finished = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(finished.stdout.splitlines()[-1]), np.load(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="0.05 GB")
    parser.add_argument("--gigabytes", type=float, default=3.0)
    parser.add_argument("--folder", type=Path, help="for the temporary file")
    arguments = parser.parse_args()
    size = 0.05 if arguments.quick else arguments.gigabytes
    n_rows = int(size * 2**30 / (8 * D))
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        path = Path(folder) / "matrix.npy"
        write_matrix(path, n_rows)
        print(f"matrix {n_rows} x {D}, {path.stat().st_size / 2**30:.2f} GB")
        disk, components = fit(path, "disk", Path(folder) / "disk.npy")
        print(f"from disk:   {disk}")
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if free < 3 * path.stat().st_size:
            print("not enough memory for the comparison")
            return
        memory, reference = fit(path, "memory", Path(folder) / "memory.npy")
        print(f"from memory: {memory}")
        difference = np.abs(components - reference).max() / np.abs(reference).max()
        print(f"largest relative difference of the features: {difference:.1e}")


if __name__ == "__main__":
    main()
