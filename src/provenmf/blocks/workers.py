"""The workers of a Dask cluster: what they can hold, and what happens when they are lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from provenmf.errors import ClusterLost, warn_user

# The chunks may take this share of the workers' memory; the rest is for results.
SHARE = 0.5


def fits(client: Any, rows: Any) -> bool:
    """Whether the chunks leave room on the workers."""
    return stored_bytes(client, rows) <= SHARE * room_on_workers(client)


def chunks_kept(client: Any, given: Any, rows: Any, *, fit: bool) -> list[Any] | None:
    """The chunks as futures that stay on the workers; None, with a warning, if they do not fit."""
    if not fit and len(futures_in(given)) < given.npartitions:
        room = room_on_workers(client)
        warn_user(
            RuntimeWarning(
                f"X takes {stored_bytes(client, rows) / 1e9:.2f} GB, and the workers have "
                f"{room / 1e9:.2f} GB: its chunks are read or computed again in every pass. Add "
                "workers, or store X in a form that is quick to read"
            )
        )
        return None
    kept = client.persist(rows)
    by_key = {future.key: future for future in futures_in(kept)}
    keys = [key for row in kept.__dask_keys__() for key in row]
    return [by_key[key] for key in keys]


def futures_in(array: Any) -> list[Any]:
    """What of an array is on the workers, or on its way there."""
    import distributed

    library: Any = distributed  # it says nothing about types
    return list(library.futures_of(array))


def stored_bytes(client: Any, rows: Any) -> float:
    """What the chunks take; sparse ones are looked at once."""
    import scipy.sparse as sp
    from dask.delayed import delayed

    if not sp.issparse(rows._meta):
        return float(rows.nbytes)
    sizes = [delayed(_bytes_of, pure=False)(chunk) for chunk in rows.to_delayed()[:, 0]]
    return float(sum(gathered(client, sizes)))


def _bytes_of(block: Any) -> int:
    return int(block.data.nbytes + block.indices.nbytes + block.indptr.nbytes)


def room_on_workers(client: Any) -> float:
    """The memory of all workers together; without limits there is no end to it."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [worker["memory_limit"] for worker in workers]
    return float(sum(limits)) if all(limits) else float("inf")


def threads_of_workers(client: Any) -> int:
    """How many tasks run at a time."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return max(1, sum(int(worker["nthreads"]) for worker in workers))


def gathered(client: Any, tasks: list[Any]) -> Sequence[Any]:
    """The results of all tasks, or an error that says what was lost."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.comm.core import CommClosedError

    try:
        found: Sequence[Any] = client.gather(client.compute(tasks))
        return found
    except (CancelledError, KilledWorker, CommClosedError) as error:
        raise ClusterLost(
            f"the Dask cluster lost a part of X or of the work ({type(error).__name__}: {error}): "
            "see that scheduler and workers run and have memory, make the array again, and fit "
            "again; with the checkpoint of this fit it goes on where it was"
        ) from error
