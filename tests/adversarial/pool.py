"""Run cases in a process of their own: one that crashes, hangs or eats the memory is a failure."""

from __future__ import annotations

import collections
import multiprocessing
import os
import signal
import sys
import time
import traceback
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection

import numpy as np

CPU_SECONDS = 60  # for one case; a compiled kernel may have to be made first
SECONDS = 600.0  # on the clock, where a case waits for ever and uses no processor
GIGABYTES = 8


@dataclass
class Outcome:
    """How many cases of each kind ended in which way, and the failures."""

    counts: collections.Counter[tuple[str, str]] = field(default_factory=collections.Counter)
    failures: list[str] = field(default_factory=list)
    cpu_seconds: float = 0.0


def generator(kind: str, number: int) -> np.random.Generator:
    """The random numbers of a case depend on its kind and number only."""
    return np.random.default_rng([number, zlib.crc32(kind.encode())])


def run_case(kind: str, number: int) -> str:
    """One case of "module", "module:function" or "module:function:argument"."""
    module, function, *arguments = kind.split(":") if ":" in kind else (kind, "case")
    return getattr(import_module(module), function)(generator(kind, number), *arguments)


def work(pipe: Connection) -> None:
    """Do cases as they are asked for."""
    try:
        import resource

        limit = GIGABYTES * 2**30
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        pass  # this system has no such limits
    warnings.simplefilter("ignore")
    while True:
        kind, number = pipe.recv()
        started = processor_time()
        let_it_run(CPU_SECONDS)
        try:
            answer = ("ok", run_case(kind, number))
        except BaseException as error:
            answer = ("error", "".join(traceback.format_exception(error))[-1500:])
        pipe.send((*answer, processor_time() - started))


def let_it_run(seconds: int) -> None:
    """Let the system end this process when it has used so much more of the processor."""
    try:
        import resource

        used = int(time.process_time())
        resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, resource.RLIM_INFINITY))
    except (ImportError, ValueError, OSError):
        pass


def processor_time() -> float:
    """Seconds of this process and of its children that have ended."""
    return sum(os.times()[:4])


class Worker:
    """A process that does one case after the other, and is replaced when it is lost."""

    def __init__(self) -> None:
        self.cpu_seconds = 0.0
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=work, args=(other,))
        self.process.start()
        other.close()

    def ask(self, kind: str, number: int) -> tuple[str, str]:
        """("ok", what happened), or "error", "hang" or "crash" and why."""
        self.pipe.send((kind, number))
        try:
            if self.pipe.poll(SECONDS):
                status, text, seconds = self.pipe.recv()
                self.cpu_seconds += seconds
                return status, text
            failure = "hang", f"it took more than {SECONDS:.0f} s"
        except (EOFError, ConnectionError):
            self.process.join()
            slow = -self.process.exitcode == getattr(signal, "SIGXCPU", None)
            why = f"more than {CPU_SECONDS} CPU s" if slow else "the process died"
            failure = "hang" if slow else "crash", why
        self.close()
        self._start()
        return failure

    def close(self) -> None:
        self.process.kill()
        self.process.join()


def run(cases: Iterator[tuple[str, int]], *, cpu_seconds: float, wall_seconds: float) -> Outcome:
    """Run cases until they, the CPU seconds or the seconds on the clock are used up, or Ctrl-C."""
    outcome, worker, end = Outcome(), Worker(), time.monotonic() + wall_seconds
    try:
        for kind, number in cases:
            status, text = worker.ask(kind, number)
            outcome.counts[kind, text if status == "ok" else status] += 1
            if status != "ok":
                outcome.failures.append(f"{kind} {number}: {text}")
                print(outcome.failures[-1], file=sys.stderr, flush=True)
            if worker.cpu_seconds > cpu_seconds or time.monotonic() > end:
                break
    except KeyboardInterrupt:
        pass  # what was found so far is an answer
    finally:
        worker.close()
    outcome.cpu_seconds = worker.cpu_seconds
    return outcome
