"""Methods on a matrix on disk, by blocks in one process and by chunks on a Dask cluster.

    python -m benchmarks.scale.larger_than_memory [--gigabytes 10] [--columns 1000]
        [--where disk cluster]

The matrix (single precision) is written in blocks and removed at the end. For each method: seconds
of wall and processor time, passes, how fast they read beside reading the file once with nothing to
compute in the same run, peak memory of every process, bytes that came to and left the client, and
whether the first rows, which fit into memory, get the same answer as an array as from the file or
the cluster; and how far from the truth: the largest relative distance of a true component from the
nearest found one. Scheduler and workers are processes of their own, one thread each; give the
workers too little memory to hold half of the matrix, so that every pass reads it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks.scale.workers import METHODS, Traffic, cluster, fitted, used, work_so_far

import dask.array as da  # isort: skip  (after the threads are set)
import numpy as np
from dask.delayed import delayed

from provenmf import resources
from provenmf.data import as_blocks
from provenmf.reproduce.merit import high_water_mark

ITERATIONS = 3  # what a pass takes does not depend on how many there are
PART_ROWS = 40_000  # of the part that fits into memory: enough for MERIT to leave rows in place


def write(path: Path, n: int, d: int, k: int) -> None:
    """Rows that mix k hidden ones, with noise, a few thousand at a time."""
    rng = np.random.default_rng(0)
    hidden = rng.random((k, d)).astype(np.float32)
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, d))
    for start in range(0, n, 20_000):
        rows = min(20_000, n - start)
        weights = rng.dirichlet(np.full(k, 0.3), size=rows).astype(np.float32)
        if start == 0:
            weights[:k] = np.eye(k)
        out[start : start + rows] = weights @ hidden
        out[start : start + rows] += 0.01 * rng.random((rows, d), dtype=np.float32)
    out.flush()


def farthest(hidden: np.ndarray, found: np.ndarray) -> float:
    """Relative distance from a true component to the nearest found one, the largest of them."""
    gaps = np.linalg.norm(hidden[:, None] - found[None], axis=2).min(axis=1)
    return float((gaps / np.linalg.norm(hidden, axis=1)).max())


def read_chunk(path: str, offset: int, rows: int, d: int) -> np.ndarray:
    return np.fromfile(path, np.float32, rows * d, offset=offset).reshape(rows, d)


def chunked(path: Path, n: int, chunk_rows: int) -> da.Array:
    """The first n rows in chunks that are read where they are needed."""
    mapped = np.load(path, mmap_mode="r")
    d, header = mapped.shape[1], mapped.offset
    parts = []
    for start in range(0, n, chunk_rows):
        rows = min(chunk_rows, n - start)
        task = delayed(read_chunk)(str(path), header + 4 * d * start, rows, d)
        parts.append(da.from_delayed(task, (rows, d), np.float32))
    return da.concatenate(parts)


def bare_read(path: Path) -> float:
    """Gigabytes a second of reading the file in blocks."""
    began, size = time.perf_counter(), 0
    with path.open("rb", buffering=0) as file:
        while piece := file.read(1 << 26):
            size += len(piece)
    return size / 1e9 / (time.perf_counter() - began)


def same(near, far) -> bool:
    """The same anchors and labels, and components to the precision of the data."""
    for name in ("anchors_", "labels_"):
        if hasattr(near, name) and not np.array_equal(getattr(near, name), getattr(far, name)):
            return False
    return bool(np.allclose(near.components_, far.components_, rtol=1e-3, atol=1e-4))


def passes_of(blocks) -> list[int]:
    """Count rows read into the list's only entry."""
    counted = [0]

    def progress(done: int, n: int) -> None:
        counted[0] += done == n

    blocks.progress = progress
    return counted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=10.0)
    parser.add_argument("--columns", type=int, default=1000)
    parser.add_argument("--rank", type=int, default=10)
    parser.add_argument("--chunk-rows", type=int, default=8000)
    parser.add_argument("--worker-memory", default="1.4GB")
    parser.add_argument("--memory", default="1.5GB", help="budget of the process with the blocks")
    parser.add_argument("--where", nargs="*", default=["disk", "cluster"])
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--folder", default=None)
    parser.add_argument("--file", type=Path, help="write it if it is not there, and leave it there")
    parser.add_argument("--certify", action="store_true")
    a = parser.parse_args()
    n = int(a.gigabytes * 1e9 / (4 * a.columns))
    print(f"{n} x {a.columns} float32, {4e-9 * n * a.columns:.2f} GB, rank {a.rank}")
    traffic = Traffic()
    with tempfile.TemporaryDirectory(dir=a.folder) as folder, ExitStack() as stack:
        path = a.file or Path(folder) / "X.npy"
        if not path.exists():
            write(path, n, a.columns, a.rank)
        print(f"bare read {bare_read(path):.2f} GB/s (what is in the page cache included)")
        print(
            f"{'method':14}{'where':>9}{'passes':>8}{'wall s':>8}{'CPU s':>8}{'GB/s':>7}"
            f"{'peak MB of client, workers, scheduler':>38}{'MB in':>8}{'MB out':>8}{'same':>6}"
            f"{'off truth':>11}"
        )
        client = None
        if "cluster" in a.where:
            client = stack.enter_context(cluster(2, memory_limit=a.worker_memory))
        part = np.load(path, mmap_mode="r")[: min(PART_ROWS, n)].copy()
        np.save(Path(folder) / "part.npy", part)
        for where in a.where:
            for method in a.methods:
                with used(client if where == "cluster" else None):
                    line(path, Path(folder), n, part, method, where, client, traffic, a)


def line(path, folder, n, part, method, where, client, traffic, a) -> None:
    """Fit, measure, print."""
    far = client if where == "cluster" else None
    options = {"certify": a.certify} | {
        name: ITERATIONS for name in METHODS[method] if name == "max_iter"
    }
    with resources(memory=a.memory, n_jobs=1):
        near = fitted(method, a.rank, part, **options)
        few = folder / "part.npy" if far is None else chunked(path, len(part), a.chunk_rows)
        agrees = same(near, fitted(method, a.rank, as_blocks(few), **options))
        high_water_mark(restart=True)
        if far is not None:
            far.run(lambda: high_water_mark(restart=True))
        blocks = as_blocks(path if far is None else chunked(path, n, a.chunk_rows))
        counted = passes_of(blocks)
        traffic.read = traffic.written = 0
        before, began = work_so_far(far), time.perf_counter()
        model = fitted(method, a.rank, blocks, **options)
        wall, work = time.perf_counter() - began, work_so_far(far).since(before)
        moved = traffic.read / 1e6, traffic.written / 1e6
    peaks = [high_water_mark(), *(far.run(high_water_mark).values() if far else ())]
    if far is not None:
        peaks.append(far.run_on_scheduler(high_water_mark))
    hidden = np.random.default_rng(0).random((a.rank, a.columns)).astype(np.float32)
    off = farthest(hidden, model.components_)
    passes = counted[0]
    speed = passes * 4e-9 * n * a.columns / wall
    cpu = work.client + work.scheduler + sum(work.workers)
    print(
        f"{method:14}{where:>9}{passes:8}{wall:8.0f}{cpu:8.0f}{speed:7.2f}"
        f"{', '.join(f'{peak:.0f}' for peak in peaks):>38}{moved[0]:8.1f}{moved[1]:8.1f}"
        f"{'yes' if agrees else 'NO':>6}{off:11.4f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
