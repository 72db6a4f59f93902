"""Methods in memory, on one worker and on two: wall time, processor time, traffic of the client.

    python benchmarks/cluster.py [--rows 200000] [--columns 100] [--rank 10] [--methods spa hals …]

The same rows three times: an array of this process (one thread), persisted on a cluster of one
process, and on one of two. Each method is fitted once to a few rows, so that everything is
compiled, then in turn at the three places, `--repeats` times; the best time of each counts.
"speed-up" is one worker against two, "overhead" one worker against memory, each by the clock and,
in brackets, by processor seconds that must come one after the other: those of the client and of
the busiest worker's tasks. These hardly depend on what else the machine does; they leave out what
the scheduler and the messages take, some 30 ms a pass. Bytes are those of a fit on two workers.

"ceiling" is what two processes gain that share nothing and send nothing: memory against two
processes without Dask, each with half of the rows, at the same time. Passes that only read
numbers are as fast as the memory, which both cores share.
"""

from __future__ import annotations

import argparse
import time
from contextlib import closing

from clusters import METHODS, Halves, Traffic, Work, cluster, fitted, matrix, used, work_so_far
from distributed import Client, wait


def timed(method: str, k: int, X, client: Client | None, certify: bool) -> tuple[float, Work]:
    """Seconds by the clock, and processor seconds."""
    before, began = work_so_far(client), time.perf_counter()
    fitted(method, k, X, certify=certify)
    wall = time.perf_counter() - began
    return wall, work_so_far(client).since(before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--rank", type=int, default=10)
    parser.add_argument("--chunks", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--certify", action="store_true")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    a = parser.parse_args()
    size = 8e-6 * a.rows * a.columns
    print(f"{a.rows} x {a.columns}, {size:.0f} MB in {a.chunks} chunks, rank {a.rank}")
    print(
        f"{'method':13}{'memory s':>14}{'1 worker s':>16}{'2 workers s':>16}{'speed-up':>14}"
        f"{'ceiling':>9}{'overhead %':>14}{'client, scheduler s':>21}{'MB in':>7}{'MB out':>7}"
    )
    traffic = Traffic()
    halves = Halves(a.rows, a.columns, a.rank, a.chunks)
    with closing(halves), cluster(1) as one, cluster(2) as two:
        few = [matrix(800, a.columns, a.rank, 2), matrix(a.rows, a.columns, a.rank, a.chunks)]
        near = [X.compute(scheduler="synchronous") for X in few]
        places = {None: near}
        for client in (one, two):
            places[client] = [client.persist(X) for X in few]
            with used(client):
                wait(places[client])
        for method in a.methods:
            found = {client: [] for client in places}
            apart = []
            for repeat in range(a.repeats + 1):
                apart.append(halves.timed(method, a.certify))
                for client, data in places.items():
                    traffic.read = traffic.written = 0
                    with used(client):
                        took = timed(method, a.rank, data[repeat > 0], client, a.certify)
                    if repeat:
                        found[client].append(took)
            walls = [min(wall for wall, _ in found[client]) for client in places]
            works = [min((work for _, work in found[c]), key=lambda w: w.path) for c in places]
            paths = [work.path for work in works]
            moved = traffic.read / 1e6, traffic.written / 1e6
            print(
                f"{method:13}"
                f"{walls[0]:7.2f} ({paths[0]:.2f})"
                + "".join(f"{wall:9.2f} ({path:.2f})" for wall, path in zip(walls[1:], paths[1:]))
                + f"{walls[1] / walls[2]:7.2f} ({paths[1] / paths[2]:.2f})"
                f"{walls[0] / min(apart[1:]):9.2f}"
                f"{100 * (walls[1] / walls[0] - 1):7.0f} ({100 * (paths[1] / paths[0] - 1):.0f})"
                f"{works[2].client:12.2f}, {works[2].scheduler:.2f}{moved[0]:9.1f}{moved[1]:7.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
