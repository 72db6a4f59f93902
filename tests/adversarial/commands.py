"""Commands as they are typed, on good, odd and damaged files."""

from __future__ import annotations

import contextlib
import contextvars
import io
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from files import good, mutant, run_forked
from matrices import Rng
from oracles import hold, strict
from typer.main import get_command

from provenmf.cli.main import app, main
from provenmf.io import child

COMMANDS = {
    "fit": [
        "m.npy",
        "m.npz",
        "sparse.npz",
        "m.csv",
        "m.mtx",
        "m.mat",
        "m.h5ad",
        "m.parquet",
    ],
    "diagnose": ["m.npy", "m.csv", "sparse.npz"],
    "rank": ["m.npy", "m.csv", "gaps.csv", "sparse.npz", "t.jsonl", "t.txt", "t.csv"],
    "signatures": ["m.csv", "m.tsv.gz"],
    "topics": ["t.jsonl", "t.csv", "t.txt", "sparse.npz", "m.mtx"],
    "communities": ["g.txt", "g.graphml"],
    "unmix": ["cube.npz", "cube.hdr"],
    "parts": ["m.npy", "m.npz"],
    "report": ["result.npz", "record.npz", "topics.npz"],
    "certify": ["result.npz", "record.npz", "topics.npz"],
    "label": ["result.npz", "record.npz", "topics.npz"],
}
ANALYSES = ("fit", "topics", "communities", "signatures", "unmix", "parts")
GROUPS = [["--groups", name] for name in ("a", "id", "no", "groups", "few", "damaged.npz", "")]
# More that may be asked for, by command; files and folders of these names are there.
MORE = {
    "fit": [
        ["--key", "X"],
        ["--known-components", "m.npy"],
        ["--known-components", "damaged.npz"],
        ["--checkpoint", "kept"],
        ["--checkpoint", "damaged"],
        ["--checkpoint", "m.npy"],
        *GROUPS,
    ],
    "topics": [["--reduce-to", "1"], ["--by", "id"], ["--by", "no"], *GROUPS],
    "signatures": [["--reference", "m.csv"], ["--reference", "m.npy"], ["--reference", "no"]],
    "unmix": [["--shape", "²x3"]],
    "rank": [["--ranks", "1-3"], ["--ranks", "²"], ["--ranks", "9-1"]],
}
USUAL = {"parts": ["--shape=2x3"]}
FOLDERS = [["--tables", "tables"], ["--tables", "damaged"]]
LABELS = ["1=a", "2=Sport", "0=a", "²=a", "1=", "a", "1=\ud800", "99999999999999999999=b", "1=<b>"]
ODD = ["-k0", "-k-1", "-k99", "-kx", "--random-state=-1", "--max-iter=0", "--method=no"]
ODD += ["--key=no", "--no-certify", "-o", "--output=/dev/null", "--help"]
# What may stand behind any option.
VALUES = ("", "0", "-1", "2", "x", "²", "1e999", "9" * 30, "no", "a", "id", "\x1b[2J", "b" * 3000)
VALUES += ("\ud800", "m.npy", "damaged", "damaged.npz", "2x3", "none", "english", "/dev/null")


@cache
def declared(command: str) -> list[Any]:
    """All options that a command declares."""
    known = get_command(app).commands[command].params  # type: ignore[attr-defined]
    return [each for each in known if each.opts[0].startswith("-") and not each.hidden]


def any_option(rng: Rng, command: str) -> list[str]:
    """Any option of a command, with any value."""
    options = declared(command)
    if not options:  # label has none
        return []
    chosen = options[rng.integers(len(options))]
    name = str(rng.choice([*chosen.opts, *chosen.secondary_opts]))
    return [name] if chosen.is_flag else [name, VALUES[rng.integers(len(VALUES))]]


def typed(arguments: list[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    out, err = io.StringIO(), io.StringIO()
    streams = contextlib.ExitStack()
    with streams:
        streams.enter_context(contextlib.redirect_stdout(out))
        streams.enter_context(contextlib.redirect_stderr(err))
        streams.enter_context(mock.patch.object(sys, "argv", ["provenmf", *arguments]))
        run: Any = run_forked if hasattr(os, "fork") else subprocess.run
        streams.enter_context(mock.patch.object(child.subprocess, "run", run))
        try:
            contextvars.copy_context().run(main)
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    return code, out.getvalue(), err.getvalue()


def prepare_neighbours(rng: Rng) -> None:
    """Files and folders that options name: the bytes of a cube, damaged data, a damaged folder."""
    Path("cube.img").write_bytes(bytes(range(240)))
    Path("damaged.npz").write_bytes(mutant(rng, "m.npz"))
    Path("groups").write_text("".join(f"g{i // 2}\n" for i in range(9)))
    Path("few").write_text("one\n\x1b[2J\n")
    Path("damaged").mkdir()
    Path("damaged", "fit.json").write_bytes(mutant(rng, "fit.json"))
    Path("damaged", "01-spa.npz").write_bytes(mutant(rng, "state.npz"))


def options_of(rng: Rng, command: str) -> list[str]:
    """What is typed after the command and its file."""
    if command == "certify":
        return ["m.npy"]
    if command == "label":
        return [LABELS[place] for place in rng.integers(len(LABELS), size=int(rng.integers(1, 3)))]
    found = ["-k2", "-o", "out.npz"] if command in ANALYSES else []
    if command in ANALYSES and rng.random() < 0.8:
        found.append("--no-report")
    if command in MORE and rng.random() < 0.3:
        found += MORE[command][rng.integers(len(MORE[command]))]
    if command in ANALYSES and rng.random() < 0.3:
        found += FOLDERS[rng.integers(len(FOLDERS))]
    return [*found, *USUAL.get(command, [])]


def steers_nothing(text: str) -> bool:
    """Whether a text has no character that a terminal obeys, except line ends."""
    return text.replace("\n", "").isprintable()


def case(rng: Rng) -> str:
    """One command."""
    command = sorted(COMMANDS)[rng.integers(len(COMMANDS))]
    name = COMMANDS[command][rng.integers(len(COMMANDS[command]))]
    content = good(name) if rng.random() < 0.6 else mutant(rng, name)
    name = ("\x1b[2J\r\x07" if rng.random() < 0.2 else "") + name
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path(name).write_bytes(content)
        if name != "m.npy":
            Path("m.npy").write_bytes(good("m.npy"))
        prepare_neighbours(rng)
        arguments = [command, name, *options_of(rng, command)]
        as_json = command not in ("report", "label") and rng.random() < 0.5
        arguments += ["--json"] if as_json else []
        if rng.random() < 0.3:
            arguments.append(ODD[rng.integers(len(ODD))])
        if declared(command) and rng.random() < 0.3:
            arguments += any_option(rng, command)
        code, out, err = typed(arguments)
        left = [path.name for path in Path().iterdir() if path.name.endswith(".part")]
        unchanged = Path(name).read_bytes() == content or command == "label"
    words = " ".join(arguments)
    hold(code in (0, 2), f"{words}: exit code {code}\n{err[-900:]}")
    hold("Traceback" not in err, f"{words}: {err[-900:]}")
    hold(steers_nothing(out + err), f"{words}: control characters in {out + err!r:.900}")
    hold(unchanged, f"{words} changed its input")
    hold(not left, f"{words} left {left}")
    if as_json and code == 0 and "--help" not in arguments:
        strict(out)
    return f"{command} {'done' if code == 0 else 'refused'}"
