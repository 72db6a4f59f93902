"""Methods in memory, on one worker and on two: wall time, processor time, traffic of the client.

    python -m benchmarks.scale.cluster [--rows 200000] [--columns 100] [--rank 10]
        [--methods spa hals …]

The same rows at three places, one after the other: persisted on a cluster of one process, and on
one of two, and an array of this process (one thread). Only one place is there at a time, because
idle workers take processor time, too. Each method is fitted once to a few rows, so that everything
is compiled, then to all of them. All places are visited `--repeats` times; the best time of each
counts.

"speed-up" is one worker against two, "overhead" one worker against memory, each by the clock and,
in brackets, by processor seconds that must come one after the other: those of the client and of
the busiest worker's tasks. These hardly depend on what else the machine does; they leave out what
the scheduler and the messages take, some 30 ms a pass. Bytes are those of a fit on two workers.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from typing import Any, NamedTuple

from benchmarks.scale.workers import (
    METHODS,
    Traffic,
    Work,
    cluster,
    fitted,
    matrix,
    used,
    work_so_far,
)
from distributed import Client, wait


class Took(NamedTuple):
    """What one fit took: seconds by the clock, processor seconds, bytes to and from the client."""

    wall: float
    work: Work
    read: int = 0
    written: int = 0


def timed(method: str, k: int, X: Any, client: Client | None, certify: bool) -> Took:
    """One fit where Dask computes now."""
    before, began = work_so_far(client), time.perf_counter()
    read, written = TRAFFIC.read, TRAFFIC.written
    fitted(method, k, X, certify=certify)
    wall = time.perf_counter() - began
    moved = TRAFFIC.read - read, TRAFFIC.written - written
    return Took(wall, work_so_far(client).since(before), *moved)


def in_memory(a: argparse.Namespace) -> dict[str, Took]:
    """All methods on arrays of this process."""
    few, X = (each.compute(scheduler="synchronous") for each in matrices(a))
    found = {}
    for method in a.methods:
        fitted(method, a.rank, few, certify=a.certify)
        found[method] = timed(method, a.rank, X, None, a.certify)
    return found


def on_cluster(workers: int, a: argparse.Namespace) -> dict[str, Took]:
    """All methods on rows that are persisted on so many workers."""
    found = {}
    with cluster(workers) as client, used(client):
        few, X = (client.persist(each) for each in matrices(a))
        wait([few, X])
        for method in a.methods:
            fitted(method, a.rank, few, certify=a.certify)
            found[method] = timed(method, a.rank, X, client, a.certify)
    return found


def matrices(a: argparse.Namespace) -> list[Any]:
    """A few rows, to compile for, and all of them."""
    return [matrix(800, a.columns, a.rank, 2), matrix(a.rows, a.columns, a.rank, a.chunks)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--rank", type=int, default=10)
    parser.add_argument("--chunks", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--certify", action="store_true")
    parser.add_argument("--clusters-only", action="store_true", help="one worker against two")
    parser.add_argument("--quick", action="store_true", help="three methods, small data, once")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    a = parser.parse_args()
    if a.quick:
        a.rows, a.repeats, a.methods = 20_000, 1, ["spa", "cones", "hals"]
    size = 8e-6 * a.rows * a.columns
    print(f"{a.rows} x {a.columns}, {size:.0f} MB in {a.chunks} chunks, rank {a.rank}")
    places = [partial(on_cluster, 1), partial(on_cluster, 2)]
    if not a.clusters_only:
        places.append(in_memory)
    visits = [[place(a) for place in places] for _ in range(a.repeats)]
    print(
        f"{'method':13}{'1 worker s':>16}{'2 workers s':>16}{'speed-up':>14}"
        f"{'client, scheduler s':>21}{'MB in':>7}{'MB out':>7}"
        + ("" if a.clusters_only else f"{'memory s':>16}{'overhead %':>14}")
    )
    for method in a.methods:
        one, two, *without = (
            min((visit[place][method] for visit in visits), key=lambda took: took.wall)
            for place in range(len(places))
        )
        line = (
            f"{method:13}{one.wall:9.2f} ({one.work.path:.2f}){two.wall:9.2f} ({two.work.path:.2f})"
            f"{one.wall / two.wall:7.2f} ({one.work.path / two.work.path:.2f})"
            f"{two.work.client:12.2f}, {two.work.scheduler:.2f}"
            f"{two.read / 1e6:9.1f}{two.written / 1e6:7.1f}"
        )
        if without:
            (near,) = without
            line += (
                f"{near.wall:9.2f} ({near.work.path:.2f})"
                f"{100 * (one.wall / near.wall - 1):7.0f} "
                f"({100 * (one.work.path / near.work.path - 1):.0f})"
            )
        print(line)


TRAFFIC = Traffic()

if __name__ == "__main__":
    main()
