"""Functions with odd options from their signatures; terminals, streams, signals; NaN in chunks."""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import anndata
import numpy as np
from files import good
from matrices import Rng, fingerprint, mixtures, sane_or_not
from oracles import hold, is_allowed
from sklearn.base import BaseEstimator

import provenmf
import provenmf.tl
from provenmf.errors import LONGEST_MESSAGE
from provenmf.methods import make_estimator

ODD = (None, True, -1, 0, 1, 2.5, 99, float("nan"), float("inf"), "", "x", "auto", b"x", [], ())
ODD += ((1, 2), [[1]], {}, {"a": 1}, np.zeros(0), np.arange(1, 3), np.array(["spa", "x"]))
ODD += (np.ones((2, 2)), np.array("x"), object(), print, np.int64(2), np.uint8(2), np.bool_(1))
ODD += ([None] * 24, np.full(24, np.nan), ["a", 1, None] * 8)  # as many as rows
ODD += (np.array(2), 2 + 0j, 10**30, -(10**30), "2", np.float64(2), 10**400, -(10**5000))
ODD += (np.timedelta64(2, "s"), Fraction(5, 2), Decimal(2), iter([2]), (np.uint8(3), np.uint8(86)))
FUNCTIONS = (
    provenmf.factorize,
    provenmf.diagnose,
    provenmf.choose_rank,
    provenmf.find_topics,
    provenmf.find_communities,
    provenmf.find_signatures,
    provenmf.unmix,
    provenmf.find_parts,
)
# Functions that also take a result of the data.
OF_RESULTS = (provenmf.stability, provenmf.certify, provenmf.confirm, provenmf.with_error_bars)
WITHOUT_DATA = (provenmf.load, provenmf.resources)
CALLED = (*FUNCTIONS, *OF_RESULTS, *WITHOUT_DATA, provenmf.tl.nmf)
ANSWERED = (provenmf.factorize, *FUNCTIONS[3:])
# Names that are not parameters of the function but of some method, or of none.
FOREIGN = ("lam", "mu", "step", "alpha", "schedule", "no_such_option", "n_components", "tol")
COMMANDS = (
    ["fit", "m.npy", "-k2", "--no-report", "-o", "out.npz"],
    ["diagnose", "m.npy"],
    ["rank", "m.npy", "--ranks", "1-2"],
    ["--help"],
    ["report", "--help"],
    ["reproduce"],
    ["fit", "missing.npy"],
)


CLOSE = {"stdin": "<&-", "stdout": ">&-", "stderr": "2>&-"}


def data_of(rng: Rng, function: Any) -> Any:
    """Small data that the function takes."""
    if function is provenmf.find_communities:
        matrix = (rng.random((20, 20)) < 0.4).astype(float)
        return np.maximum(matrix, matrix.T) - np.diag(np.diag(matrix))
    if function in (provenmf.find_topics, provenmf.find_signatures):
        return rng.poisson(1.0, (25, 12)).astype(float) + np.eye(25, 12)
    matrix = mixtures(rng, 24, 9)
    if function is provenmf.tl.nmf:
        matrix = sane_or_not(rng)
        return anndata.AnnData(matrix, layers={"x": matrix, "a": np.ones(matrix.shape, int)})
    return matrix.reshape(6, 4, 9) if function is provenmf.unmix else matrix


def attempt(call: Any, what: str) -> str:
    """Whether it was answered or refused; anything else is a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)  # numpy: overflow, division by zero
        try:
            with (
                tempfile.TemporaryDirectory() as folder,
                contextlib.chdir(folder),  # some write files
                contextlib.redirect_stdout(io.StringIO()),  # of a callback
            ):
                call()
        except Exception as error:
            last = Path(traceback.extract_tb(error.__traceback__)[-1].filename).name
            at_the_door = last in (
                "options.py",
                "arguments.py",
                "signals.py",
                "contextlib.py",
            )  # Python's own refusal
            unknown = isinstance(error, TypeError) and at_the_door
            if not (unknown or is_allowed(error)):
                raise
            hold(unknown or fit_for_people(str(error)), f"not one short line: {error!s:.900}")
            return f"{what} refused"
    return f"{what} answered"


def fit_for_people(message: str) -> bool:
    """Whether a message is one line of printable characters that can be read at a glance."""
    return message.isprintable() and len(message) <= LONGEST_MESSAGE


def case(rng: Rng) -> str:
    """One call with one to three odd options."""
    function = CALLED[rng.integers(len(CALLED))]
    data = data_of(rng, function)
    matrix = data.X if function is provenmf.tl.nmf else data
    before = fingerprint(matrix)
    given: tuple[Any, ...] = () if function in WITHOUT_DATA else (data,)
    if function in OF_RESULTS:
        model = make_estimator("spa", 2)
        model.fit(data)
        given = (model, data) if function is provenmf.stability else (data, model.factorization_)
    names = [
        name
        for name, p in inspect.signature(function).parameters.items()
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ][len(given) :]
    options = {
        str(rng.choice(names if names and rng.random() < 0.8 else list(FOREIGN))): odd(rng)
        for _ in range(int(rng.choice([1, 1, 1, 2, 3])))
    }
    ended = attempt(lambda: function(*given, **options), function.__name__)
    hold(fingerprint(matrix) == before, f"{function.__name__} changed its argument")
    return ended


def odd(rng: Rng) -> Any:
    return ODD[rng.integers(len(ODD))]


@cache
def found_by(function: Any) -> Any:
    """An answer of the function, or the estimator that it stands for."""
    data = data_of(np.random.default_rng(0), function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(data, 2, random_state=0)


def method_case(rng: Rng) -> str:
    """Any method of a result, or of an estimator, with odd arguments."""
    found = found_by(ANSWERED[rng.integers(len(ANSWERED))])
    if rng.random() < 0.1:
        found = make_estimator("spa", 2).fit(data_of(rng, provenmf.factorize))
    if isinstance(found, BaseEstimator):
        names = ["inverse_transform", "transform", "score", "fit"]
    else:
        methods = inspect.getmembers(found, inspect.ismethod)
        names = [name for name, method in methods if public_with_arguments(name, method)]
    name = str(rng.choice(names))
    places = [p for p in inspect.signature(getattr(found, name)).parameters.values() if p.kind < 2]
    arguments = [odd(rng) for _ in places[: int(rng.integers(1, 3))]]
    return attempt(lambda: getattr(found, name)(*arguments), name)


def public_with_arguments(name: str, method: Any) -> bool:
    """Whether users call a method with something; `read` belongs to the command line."""
    return (
        not name.startswith("_") and name != "read" and bool(inspect.signature(method).parameters)
    )


def chunk_case(rng: Rng) -> str:
    """Rows with missing entries, as an array and in chunks: the same answer, or refused twice."""
    import dask.array as da

    matrix = mixtures(rng, 30, 6)
    matrix[int(rng.integers(30)), int(rng.integers(6))] = np.nan
    method = str(rng.choice(["hals", "spa", "cones", "anls", "merit"]))
    ends = []
    for data in (matrix, da.from_array(matrix, chunks=(int(rng.integers(5, 12)), -1))):
        model = make_estimator(method, 2, random_state=0, certify=False)
        ends.append((attempt(lambda model=model, data=data: model.fit(data), method), model))
    hold(ends[0][0] == ends[1][0], f"{method}: in memory {ends[0][0]}, in chunks {ends[1][0]}")
    if ends[0][0].endswith("answered"):
        one, two = (np.asarray(model.components_) for _, model in ends)
        hold(np.allclose(one, two, rtol=1e-6, atol=1e-9), f"{method}: other components in chunks")
    return ends[0][0]


def started(folder: str, words: list[str], **options: Any) -> subprocess.Popen[bytes]:
    Path(folder, "m.npy").write_bytes(good("m.npy"))
    command = [sys.executable, "-m", "provenmf", *words]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, **options)


def terminal_case(rng: Rng) -> str:
    """A command in a terminal of an odd size, with a stream that is closed before or early."""
    words = COMMANDS[rng.integers(len(COMMANDS))]
    columns = str(rng.choice(["0", "-5", "1", "100000", "x", "80"]))
    closed = str(rng.choice(["nothing", "stdin", "stdout", "stderr", "reader"]))
    environment = {**os.environ, "COLUMNS": columns}
    with tempfile.TemporaryDirectory() as folder:
        if closed in CLOSE:
            words = ["-c", f"exec {sys.executable} -m provenmf {' '.join(words)} {CLOSE[closed]}"]
            Path(folder, "m.npy").write_bytes(good("m.npy"))
            process = subprocess.Popen(
                ["sh", *words],
                cwd=folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=environment,
            )
        else:
            process = started(folder, words, stdout=subprocess.PIPE, env=environment)
            if closed == "reader":
                process.stdout.close()
                process.stdout = None
        err = process.communicate(timeout=550)[1].decode(errors="replace")
    said = f"{words}, COLUMNS={columns}, closed: {closed}: exit {process.returncode}\n{err[-900:]}"
    hold("Traceback" not in err and "bug in provenmf" not in err, said)
    hold(process.returncode in (0, 1, 2, 141, -signal.SIGPIPE), said)
    return f"closed {closed}"


def signal_case(rng: Rng) -> str:
    """A command that is interrupted at a random moment, its imports included."""
    number = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[rng.integers(3)]
    words = ["fit", "m.npy", "-k2", "--method=hals", "--no-report", "-o", "out.npz"]
    with tempfile.TemporaryDirectory() as folder:
        process = started(folder, words, stdout=subprocess.DEVNULL)
        time.sleep(float(rng.uniform(0.05, 2.5)))
        process.send_signal(number)
        err = process.communicate(timeout=550)[1].decode(errors="replace")
        left = [path.name for path in Path(folder).iterdir() if path.name.endswith(".part")]
    said = f"{signal.Signals(number).name}: exit {process.returncode}\n{err[-900:]}"
    ours = "Traceback" in err and "provenmf" in err  # Python itself may still be starting
    hold(not ours and "bug in provenmf" not in err, said)
    hold(not left, f"{said} left {left}")
    return "ended before" if process.returncode == 0 else "interrupted"
