"""Commands as they are typed, on good, odd and damaged files."""

from __future__ import annotations

import contextlib
import contextvars
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from files import good, mutant, run_forked
from matrices import Rng
from oracles import hold, is_allowed, strict

from provenmf.cli.main import main
from provenmf.io import guarded

COMMANDS = {
    "fit": ["m.npy", "m.npz", "sparse.npz", "m.csv", "m.mtx", "m.mat", "m.h5ad", "m.parquet"],
    "diagnose": ["m.npy", "m.csv", "sparse.npz"],
    "topics": ["t.jsonl", "t.csv", "t.txt", "sparse.npz", "m.mtx"],
    "communities": ["g.txt", "g.graphml"],
    "unmix": ["cube.npz", "cube.hdr"],
    "parts": ["m.npy", "m.npz"],
    "report": ["result.npz", "record.npz"],
    "certify": ["result.npz", "record.npz"],
}
ODD = ["--rank=0", "--rank=-1", "--rank=99", "--rank=x", "--seed=-1", "--max-iter=0", "--method=no"]
ODD += ["--key=no", "--no-certify", "--debug", "--no-limits", "-o", "--output=/dev/null", "--help"]


def typed(arguments: list[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    out, err = io.StringIO(), io.StringIO()
    streams = contextlib.ExitStack()
    with streams:
        streams.enter_context(contextlib.redirect_stdout(out))
        streams.enter_context(contextlib.redirect_stderr(err))
        streams.enter_context(mock.patch.object(sys, "argv", ["provenmf", *arguments]))
        run: Any = run_forked if hasattr(os, "fork") else subprocess.run
        streams.enter_context(mock.patch.object(guarded.subprocess, "run", run))
        try:
            contextvars.copy_context().run(main)  # --no-limits ends with the command
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        except Exception as error:  # as --debug asks for
            if not is_allowed(error):
                raise
            code = 2
    return code, out.getvalue(), err.getvalue()


def case(rng: Rng) -> str:
    """One command."""
    command = sorted(COMMANDS)[rng.integers(len(COMMANDS))]
    name = COMMANDS[command][rng.integers(len(COMMANDS[command]))]
    content = good(name) if rng.random() < 0.4 else mutant(rng, name)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path(name).write_bytes(content)
        Path("cube.img").write_bytes(bytes(range(240)))
        arguments = [command, name]
        if command == "certify":
            Path("m.npy").write_bytes(good("m.npy"))
            arguments.append("m.npy")
        elif command not in ("report", "diagnose"):
            arguments += ["--rank=2", "-o", "out.npz"]
            arguments += ["--no-report"] if rng.random() < 0.8 else []
        as_json = command != "report" and rng.random() < 0.5
        arguments += ["--json"] if as_json else []
        if rng.random() < 0.3:
            arguments.append(ODD[rng.integers(len(ODD))])
        code, out, err = typed(arguments)
        left = [path.name for path in Path().iterdir() if path.name.endswith(".part")]
        unchanged = Path(name).read_bytes() == content
    words = " ".join(arguments)
    hold(code in (0, 2) or "--debug" in arguments, f"{words}: exit code {code}\n{err[-900:]}")
    hold("Traceback" not in err or "--debug" in arguments, f"{words}: {err[-900:]}")
    hold(unchanged, f"{words} changed its input")
    hold(not left, f"{words} left {left}")
    if as_json and code == 0 and "--help" not in arguments:
        strict(out)
    return f"{command} {'done' if code == 0 else 'refused'}"
