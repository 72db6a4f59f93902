"""The workers of a Dask cluster: what they can hold, what they are told, and what is lost."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pickle import PicklingError
from typing import Any
from uuid import uuid4

import numpy as np
from dask.base import normalize_token
from numpy.typing import NDArray

from provenmf.data.on_workers import aligned, split
from provenmf.data.orders import Order, graph_of, keys
from provenmf.errors import ClusterLost, InvalidInput, warn_user

# The chunks may take this share of the workers' memory; the rest is for results.
SHARE = 0.5
# Workers that are asked whether they can be reached from here, and how many seconds they have.
ASKED, SECONDS_TO_ANSWER = 8, 1.0
# What is brought here as it is computed comes in so many turns, since each is a few messages.
TRANSFERS = 8
# Seconds between two looks at workers that take long, and how many to wait for one that works.
LOOK, PATIENCE = 2.0, 120.0


class Graph(dict[Any, Any]):
    """Tasks that are sent once, so that Dask need not look through them to recognize them."""

    def __reduce__(self) -> tuple[type, tuple[dict[Any, Any]]]:
        """Elsewhere it is a dictionary."""
        return dict, (dict(self),)


@normalize_token.register(Graph)  # type: ignore[untyped-decorator]
def _name_of(graph: Graph) -> str:
    return uuid4().hex


class Workers:
    """Where orders are sent.

    Parameters
    ----------
    client : of the cluster.
    chunks : the graph that makes the chunks, where orders name its keys.
    """

    def __init__(self, client: Any, chunks: Mapping[Any, Any]) -> None:
        self._client, self._chunks = client, chunks
        self._direct = are_reached(client)

    def gathered(self, orders: Sequence[Order], beside: Sequence[Order] = ()) -> list[Any]:
        """What the orders return, brought here, or an error that says what was lost.

        What is ordered `beside` them, in the same message, stays on the workers.
        """
        with losses_named():
            return self._brought(self._sent([*orders, *beside])[: len(orders)])

    def futures(self, orders: Sequence[Order]) -> list[Any]:
        """Dask's names for what the orders return, on the workers."""
        return self._sent(orders)

    def one_by_one(self, orders: Sequence[Order]) -> Iterator[Any]:
        """The same in at most `TRANSFERS` turns, each as soon as its orders are carried out."""
        with losses_named():
            futures = self._sent(orders)
            for some in split(futures, math.ceil(len(futures) / TRANSFERS)):
                yield from self._brought(some)

    def _brought(self, futures: Sequence[Any]) -> list[Any]:
        """Results, from the workers themselves where they can be reached.

        By default Dask lets the scheduler fetch them and pass them on: every byte travels twice.
        """
        wait_for(self._client, futures)
        found: list[Any] = self._client.gather(futures, direct=self._direct)
        return found

    def _sent(self, orders: Sequence[Order]) -> list[Any]:
        """A future for each of the orders; those that were not sent yet go in one message."""
        if self._client.status in ("closing", "closed"):
            raise ClusterLost(
                "the Dask client is closed, and with it what was on the workers, such as weights: "
                "read them before it is closed, or fit again"
            )
        graph, named = graph_of(orders)
        futures = {}
        if named:
            wanted = [order.key for order in named]
            sent = self._client.get(Graph({**self._chunks, **graph}), wanted, sync=False)
            futures = dict(zip(wanted, sent))
        for order in named:
            order.future = futures[order.key] if order.kept else None
            order.settle()
        return [futures.get(order.key, order.future) for order in orders]


def are_reached(client: Any) -> bool:
    """Whether this process can talk to the workers; a firewall may let it reach only the scheduler.

    What the user told the client (`direct_to_workers`) is believed.
    """
    told = client.direct_to_workers
    if told is not None:
        return bool(told)
    some = list(client.scheduler_info(n_workers=-1)["workers"])[:ASKED]
    return bool(client.sync(_all_answer, some, client.connection_args))


async def _all_answer(addresses: Sequence[str], options: Mapping[str, Any]) -> bool:
    return all(await asyncio.gather(*(_answers(each, options) for each in addresses)))


async def _answers(address: str, options: Mapping[str, Any]) -> bool:
    import distributed.comm

    library: Any = distributed.comm  # it says nothing about types
    try:
        comm = await library.connect(address, timeout=SECONDS_TO_ANSWER, **options)
    except OSError:
        return False
    await comm.close()
    return True


def wait_for(client: Any, futures: Sequence[Any]) -> None:
    """Wait until all are done or failed, as long as there are workers that take them.

    Dask itself waits for ever for workers that are gone, paused, or not as a task wants them.
    """
    import distributed

    library: Any = distributed
    waited = 0.0
    while True:
        try:
            with client.as_current(), _aside():
                library.wait(futures, timeout=LOOK)
            return
        except library.TimeoutError:
            trouble = _trouble(client)
        if trouble and not waited:
            warn_user(RuntimeWarning(f"{trouble}; waiting {PATIENCE:.0f} s for one"))
        waited = waited + LOOK if trouble else 0.0
        if waited > PATIENCE:
            raise ClusterLost(
                f"{trouble}, for more than {PATIENCE:.0f} s: see that workers run, have memory and "
                "the resources that X asks for, and fit again; with the checkpoint of this fit it "
                "goes on where it was"
            )


def _trouble(client: Any) -> str:
    """Why nothing is computed now, if that is so."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    running = [name for name, each in workers.items() if each.get("status") != "paused"]
    if not running:
        which = f"all {len(workers)} workers are paused" if workers else "there are no workers"
        return f"the Dask cluster computes nothing, since {which}"
    if not any(client.processing(running).values()):
        return "none of the workers of the Dask cluster takes a task of this fit"
    return ""


@contextmanager
def _aside() -> Iterator[None]:
    """Leave the thread to other tasks while a task waits for them, where this is a task."""
    import distributed

    library: Any = distributed
    try:
        library.get_worker()
        library.secede()
    except (ValueError, KeyError):  # this is no task, or has stepped aside already
        yield
        return
    try:
        yield
    finally:
        library.rejoin()


def await_a_worker(client: Any, rows: Any) -> None:
    """Where there is no worker yet, as in a cluster that grows with its work, ask for a chunk.

    Chunks that went with the last worker are said to be lost at once.
    """
    if not _threads(client):
        with losses_named():
            wait_for(client, [client.compute(rows.to_delayed()[0, 0])])


@contextmanager
def losses_named() -> Iterator[None]:
    """Let Dask's errors about lost workers and results say what to do."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.comm.core import CommClosedError

    try:
        yield
    except (CancelledError, KilledWorker, CommClosedError) as error:
        words = " ".join(f"{type(error).__name__}: {error}".split())
        raise ClusterLost(
            f"the Dask cluster lost a part of X or of the work ({words:.300}): "
            "see that scheduler and workers run and have memory, make the array again, and fit "
            "again; with the checkpoint of this fit it goes on where it was"
        ) from error


@contextmanager
def sending(what: str) -> Iterator[None]:
    """Say what it was that cannot be sent to the workers."""
    try:
        yield
    except (TypeError, AttributeError, PicklingError) as error:
        words = " ".join(str(error).split())
        if not re.search("pickle|serialize", words):
            raise
        raise InvalidInput(
            f"{what} cannot be sent to the workers ({words:.200}): make it from functions and "
            "data that pickle takes, without locks, open files and the like"
        ) from error


def fits(client: Any, rows: Any) -> bool:
    """Whether the chunks leave room on the workers."""
    return stored_bytes(client, rows) <= SHARE * room_on_workers(client)


def raise_error_of(futures: Sequence[Any]) -> None:
    """What went wrong with a chunk before the fit: Dask would only say that it was lost."""
    for future in futures:
        if future.status == "error":
            future.result()


def chunks_kept(
    client: Any, rows: Any, tasks: int, *, move: bool
) -> tuple[list[Order], list[list[int]]]:
    """The chunks, to stay on the workers: a list of them for each task, and their numbers.

    A task takes chunks of one worker. With `move`, chunks of workers that hold more than their
    share go to others. Each worker gets `tasks` lists per thread; a worker that holds the chunks of
    a task need not fetch them again in every pass.
    """
    kept = client.persist(rows)
    by_key = {future.key: future for future in futures_in(kept)}
    chunks = [by_key[key] for [key] in kept.__dask_keys__()]
    threads = _threads(client)
    with losses_named():
        wait_for(client, chunks)
        holders = client.who_has(chunks)
    homes = homes_of([holders.get(chunk.key, ()) for chunk in chunks], threads, move=move)
    members = [
        some.tolist()
        for worker in dict.fromkeys(homes)
        for some in np.array_split(_places(homes, worker), max(1, tasks * threads.get(worker, 1)))
        if len(some)
    ]
    orders = []
    for key, numbers in zip(keys("chunks"), members):
        home = homes[numbers[0]]
        options = {"workers": [home], "allow_other_workers": True} if home else {}
        future = client.submit(_listed, *(chunks[i] for i in numbers), key=key, **options)
        orders.append(Order(key, future=future))
    return orders, members


def _places(homes: Sequence[str], worker: str) -> NDArray[np.intp]:
    return np.array([number for number, home in enumerate(homes) if home == worker])


def _listed(*chunks: Any) -> list[Any]:
    """Chunks in one list; those from another worker are aligned now, not in every pass."""
    return [aligned(chunk) for chunk in chunks]


def homes_of(
    holders: Sequence[Sequence[str]], threads: Mapping[str, int], *, move: bool
) -> list[str]:
    """A worker for each chunk: one that holds it, if with `move` its share is not used up.

    Shares are in proportion to the workers' threads. Nobody's chunk has the home "".
    """
    if not threads:
        return [""] * len(holders)
    share = len(holders) / sum(threads.values())
    room = {worker: math.ceil(share * number) for worker, number in threads.items()}
    homes = [""] * len(holders)
    for number, here in enumerate(holders):
        best = max((worker for worker in here if worker in room), key=room.__getitem__, default="")
        if best and (room[best] > 0 or not move):
            room[best] -= 1
            homes[number] = best
    for number, home in enumerate(homes):
        if not home:
            homes[number] = best = max(room, key=room.__getitem__)
            room[best] -= 1
    return homes


def say_that_chunks_are_made_again(client: Any, rows: Any) -> None:
    """Warn who may not expect it."""
    warn_user(
        RuntimeWarning(
            f"X takes {stored_bytes(client, rows) / 1e9:.2f} GB, and the workers have "
            f"{room_on_workers(client) / 1e9:.2f} GB: its chunks are read or computed again in "
            "every pass. Add workers, or store X in a form that is quick to read"
        )
    )


def futures_in(array: Any) -> list[Any]:
    """What of an array is on the workers, or on its way there."""
    import distributed

    library: Any = distributed  # it says nothing about types
    with losses_named():
        return list(library.futures_of(array))


def stored_bytes(client: Any, rows: Any) -> float:
    """What the chunks take; sparse ones are looked at once."""
    import scipy.sparse as sp
    from dask.delayed import delayed

    if not sp.issparse(rows._meta):
        return float(rows.nbytes)
    sizes = [delayed(_bytes_of, pure=False)(chunk) for chunk in rows.to_delayed()[:, 0]]
    with losses_named():
        futures = client.compute(sizes)
        wait_for(client, futures)
        found: Sequence[int] = client.gather(futures)
    return float(sum(found))


def _bytes_of(block: Any) -> int:
    return int(block.data.nbytes + block.indices.nbytes + block.indptr.nbytes)


def room_on_workers(client: Any) -> float:
    """The memory of all workers together; without limits there is no end to it."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [worker["memory_limit"] for worker in workers]
    return float(sum(limits)) if all(limits) else float("inf")


def threads_of_workers(client: Any) -> int:
    """How many tasks run at a time."""
    return max(1, sum(_threads(client).values()))


def _threads(client: Any) -> dict[str, int]:
    """Threads of each worker."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return {address: int(worker["nthreads"]) for address, worker in workers.items()}
