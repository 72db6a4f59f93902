"""Steps of every command: plan the files, read the data, fit, write and show the result."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provenmf.cli.messages import INTERRUPTED, complain, say, say_json, say_wrapped, text_width
from provenmf.cli.options import shared
from provenmf.errors import InvalidInput, MissingExtra, printable
from provenmf.io.files import check_writable, existing
from provenmf.progress import Progress

if TYPE_CHECKING:
    from provenmf.results import Answer, Factorization

# Every report contains this, so that a report can be told from a page of the user's own.
GENERATOR = b'<meta name="generator" content="provenmf'


class Analysis:
    """One analysis of a file: where its files go, and the steps that every command shares.

    Without --output a name that is taken gets a number; a name that was asked for needs --force.
    `inputs` are other files that are read.
    """

    def __init__(self, data: Path, *inputs: Path | None) -> None:
        output, tables = shared().output, shared().tables
        self.data, self.progress = existing(data), Progress("")
        if output is not None and output.suffix.lower() in (".html", ".htm"):
            raise InvalidInput(
                f"--output {output} names a page, but it is the result that is written there: "
                "end it in .npz, and the report gets the same name with .html"
            )
        if output is not None and not output.name:
            raise InvalidInput(f"--output {output} names no file: give one, such as result.npz")
        self.result = output or Path(
            f"{self.data.resolve().name.split('.')[0] or 'data'}-result.npz"
        )
        if output is None and not shared().force:
            self.result = numbered(self.result, ".html")
        self.page = self.result.with_suffix(".html")
        for path in (self.result, *([] if shared().no_report else [self.page])):
            check_writable(path, self.data, *inputs)
        if output is not None:
            refuse_overwriting(self.result)
            refuse_overwriting(self.page)
        if tables is not None:
            if importlib.util.find_spec("pandas") is None:
                raise MissingExtra("--tables", "files")
            make_folder(tables, "--tables")

    @contextmanager
    def reading(self) -> Iterator[Progress]:
        """Show the progress of reading the data, and name the file in errors."""
        title = f"Reading {printable(self.data.name)}"
        with _limits(), naming(self.data), Progress(title) as progress:
            yield progress

    @contextmanager
    def fitting(self, method: str, rank: int | None, what: str = "") -> Iterator[dict[str, Any]]:
        """Show the progress of a method, and yield the options that every function takes.

        what : what is looked for, where the method is one step of several.
        """
        from provenmf.methods import estimator_class

        options = shared()
        # The automatic choice begins with HALS, the only one of its methods that takes long.
        estimator = estimator_class("hals" if method == "auto" else method)
        announce_compilation()
        name, steps = printable(self.data.name), estimator().get_params().get("max_iter", rank)
        brief = bool(what) and estimator.traits.anchors  # anchors are found in a moment
        title = f"{what} of {name}" if what else f"{estimator.__name__} on {name}"
        self.progress = Progress(title, steps=None if brief else steps)
        with _limits(), naming(self.data), self.progress:
            yield {
                "callback": None if brief else self.progress.row,
                "on_interrupt": "return",
                "random_state": options.random_state,
                "certify": not options.no_certify,
                "evidence": not (options.no_certify or options.no_evidence),
            }

    def finish(self, result: Factorization | Answer) -> None:
        """Write the result, its report and its tables, and say what was found."""
        result = with_origin(result, self.data)
        result.save(self.result)
        files = {"result": str(self.result)}
        try:
            if self._write_report(result):
                files["report"] = str(self.page)
            if (folder := shared().tables) is not None:
                files["tables"] = ", ".join(map(str, write_tables(result, folder)))
        except KeyboardInterrupt:
            complain(f"Interrupted; complete so far: {', '.join(files.values())}")
            sys.exit(INTERRUPTED)
        if shared().json:
            say_json(as_dict(result) | {"files": files})
            return
        show(result)
        for kind, file in files.items():
            say_wrapped(f"{kind.capitalize()} written to {file}")

    def _write_report(self, result: Factorization | Answer) -> bool:
        """Write the report beside the result, and remove that of an earlier result."""
        stale = is_report(self.page)
        if stale:
            self.page.unlink()
        if not shared().no_report:
            import provenmf.report

            provenmf.report.write(result, self.page)
        elif stale:
            complain(f"Note: {self.page} was the report of an earlier result; removed")
        return not shared().no_report


def announce_compilation() -> None:
    """Say once, on the first run, why it takes longer than later ones."""
    from provenmf.linalg.compiled import on_compilation

    def tell() -> None:
        on_compilation.clear()
        complain("Compiling on the first run; later runs start faster")

    on_compilation[:] = [tell]


def _limits() -> AbstractContextManager[Any]:
    from provenmf import resources

    return resources(memory=shared().memory, n_jobs=shared().n_jobs)


def read_column(data: Path, column: str, names: Sequence[str] = (), **more: str) -> list[str]:
    """Return a value for each row: the lines of a file of this name, or a column of the data."""
    from provenmf.io import texts
    from provenmf.io.files import read_lines

    if os.path.isfile(column):  # False for what cannot be a path
        return read_lines(Path(column), **more)
    return texts.read_column(data, column, names, **more)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the file's name before a message about its contents that does not give it."""
    try:
        yield
    except InvalidInput as error:
        if printable(path.name) in str(error):
            raise
        raise error.at(str(path)) from error


def refuse_overwriting(path: Path, option: str = "--output") -> None:
    """Refuse to overwrite a file unless --force was given."""
    if path.exists() and not shared().force:
        raise InvalidInput(f"{path} exists: choose another name with {option}, or add --force")


def is_report(page: Path) -> bool:
    """Tell whether a file is a report of provenmf."""
    if not page.is_file():
        return False
    with page.open("rb") as file:
        return GENERATOR in file.read(4096)


def numbered(path: Path, *also: str) -> Path:
    """Return the name, numbered if it or its companion ending in `also` exists."""
    candidate, number = path, 1
    while any(taken.exists() for taken in (candidate, *map(candidate.with_suffix, also))):
        number += 1
        candidate = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return candidate


def make_folder(folder: Path, option: str) -> None:
    """Make a folder; refuse one with files in it unless --force was typed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = any(folder.iterdir())
    except OSError as error:
        raise InvalidInput(
            f"cannot make the folder {folder} ({error.strerror}): choose another with {option}"
        ) from error
    if taken and not shared().force:
        raise InvalidInput(
            f"the folder {folder} is not empty: choose another with {option}, or add --force"
        )


def with_origin(result: Factorization | Answer, data: Path | None = None) -> Factorization | Answer:
    """Return the result with its file, command and time."""
    from provenmf.results import Answer
    from provenmf.results.factorization import Origin

    ours = Path(sys.argv[0]).name in ("provenmf", "provenmf.exe", "__main__.py")
    origin = Origin(
        "" if data is None else data.resolve().name,
        f"provenmf {shlex.join(sys.argv[1:])}" if ours else "",
        f"{datetime.now():%Y-%m-%d %H:%M}",
    )
    if isinstance(result, Answer):
        return replace(result, factorization=replace(result.factorization, origin=origin))
    return replace(result, origin=origin)


def write_tables(result: Factorization | Answer, folder: Path) -> list[Path]:
    """Write each table of an answer as a CSV file."""
    from provenmf.io.files import write_aside
    from provenmf.results import as_answer

    written = []
    for name, table in as_answer(result).tables().items():
        written.append(folder / f"{name}.csv")
        # Names of files need not have an encoding.
        write_aside(written[-1], partial(table.to_csv, mode="wb", errors="replace"))
    return written


def say_found(found: Any) -> None:
    """Print advice or a certificate, as text or as JSON."""
    if shared().json:
        say_json(found.to_dict())
    else:
        say(str(found))


def as_dict(result: Factorization | Answer) -> dict[str, Any]:
    """Return the outcome as JSON data."""
    from provenmf.results import as_answer
    from provenmf.results.display import component_rows

    answer = as_answer(result)
    fit = answer.factorization
    return {
        "kind": answer.kind,
        "method": answer.found_by,
        "n_components": answer.n_components,
        "n_rows": len(answer.weights),
        "n_columns": answer.components.shape[1],
        "factorized": {"n_rows": len(fit.weights), "n_columns": fit.components.shape[1]},
        "stop_reason": fit.stop_reason,
        "iterations": len(fit.trace),
        "anchors": None if fit.anchors is None else fit.anchors.tolist(),
        "components": [
            {"name": name, "share": share, "anchor": anchor, "largest": entries}
            for name, share, anchor, entries in component_rows(answer)
        ],
        "scores": answer.scores(),
        "notes": list(answer.notes),
        "certificate": fit.certificate and fit.certificate.to_dict(),
    }


def show(result: Factorization | Answer) -> None:
    """Say what was found, what can be believed, and what was done."""
    from provenmf.report.matrix import scale_notes
    from provenmf.report.page import verdict_of
    from provenmf.results import StopReason, as_answer
    from provenmf.results.display import NO_CERTIFICATE, component_lines

    answer = as_answer(result)
    say("\n".join(component_lines(answer, text_width())) + "\n")
    reason = answer.factorization.stop_reason
    sentences = [" ".join(verdict_of(answer)) if answer.certificate else NO_CERTIFICATE]
    sentences += [reason.sentence] * (reason in (StopReason.INTERRUPTED, StopReason.MAX_ITER))
    sentences += [f"Note: {note}" for note in (*answer.notes, *scale_notes(answer))]
    sentences += [f"{m[:1].upper()}{m[1:]}: {value:.4g}" for m, value in answer.scores().items()]
    for sentence in sentences:
        say_wrapped(sentence)
