"""Steps of every command: plan the files, read the data, fit, write and show the result."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from provenmf.cli.messages import INTERRUPTED, complain, say, say_wrapped, text_width
from provenmf.cli.options import shared
from provenmf.errors import InvalidInput, MissingExtra, printable
from provenmf.io.files import check_writable, existing
from provenmf.progress import Progress

if TYPE_CHECKING:
    import pandas

    from provenmf.results import Answer, Factorization
    from provenmf.results.factorization import Origin

# Arguments of a command that change neither the data nor what the iterations compute.
FREE = ("data", "output", "tables", "maps", "by")


class Analysis:
    """One analysis of a file.

    Parameters
    ----------
    command : str
        Its name.
    arguments : Mapping
        All arguments of the command by name, `locals()` at its beginning: `data`, `output` and
        `tables` among them. A checkpoint belongs to them.
    inputs : Path or None
        Other files that are read.
    """

    def __init__(self, command: str, arguments: Mapping[str, Any], *inputs: Path | None) -> None:
        self.data: Path = existing(arguments["data"])
        self.target = plan(arguments["output"], arguments["tables"], self.data, *inputs)
        self.progress = Progress("")
        self._identity = {"command": command} | {
            f"option {name}": str(value) for name, value in arguments.items() if name not in FREE
        }

    @contextmanager
    def reading(self) -> Iterator[Progress]:
        """Show the progress of reading the data, and name the file in errors."""
        title = f"Reading {printable(self.data.name)}"
        with _limits(), naming(self.data), Progress(title) as progress:
            yield progress

    @contextmanager
    def fitting(self, method: str, rank: int | None) -> Iterator[dict[str, Any]]:
        """Show the progress of a method, and yield the options that every function takes."""
        from provenmf.methods import estimator_class

        options = shared()
        # The automatic choice begins with HALS, the only one of its methods that takes long.
        estimator = estimator_class("hals" if method == "auto" else method)
        known = estimator().get_params()
        if options.max_iter is not None and "max_iter" not in known:
            raise InvalidInput(
                f"{estimator.__name__} makes no iterations",
                argument="max_iter",
                remedy="leave out {argument}",
            )
        announce_compilation()
        title = f"{estimator.__name__} on {printable(self.data.name)}"
        self.progress = Progress(title, steps=options.max_iter or known.get("max_iter", rank))
        with self._checkpoint(), _limits(), naming(self.data), self.progress:
            given: dict[str, Any] = {
                "callback": self.progress.row,
                "on_interrupt": "return",
                "random_state": options.random_state,
                "certify": not options.no_certify,
            }
            if self._identity["command"] != "fit":
                given["evidence"] = not options.no_evidence
            more = {} if options.max_iter is None else {"max_iter": options.max_iter}
            yield given | more

    def finish(self, result: Factorization | Answer) -> None:
        """Write the result, its report and its tables, and say what was found."""
        finish(result, self.target)

    def _checkpoint(self) -> AbstractContextManager[Any]:
        """Write checkpoints to a folder; refuse one of another command, data or options."""
        options = shared()
        if options.checkpoint is None:
            return nullcontext()
        import provenmf
        from provenmf.methods.checkpoint import Checkpoint, Keeper, checkpointing

        identity = self._identity | {
            "data": content_hash(self.data),
            "version": provenmf.__version__,
            "option random_state": str(options.random_state),
        }
        return checkpointing(Keeper(Checkpoint(options.checkpoint), identity))


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


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the file's name before a message about its contents that does not give it."""
    try:
        yield
    except InvalidInput as error:
        if printable(path.name) in str(error):
            raise
        raise error.at(str(path)) from error


def content_hash(path: Path) -> str:
    """Return a hash of the bytes of a file, or of the names and bytes of all files in a folder."""
    found = blake2b(digest_size=16)
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    for file in files:
        if not file.is_file():
            continue
        found.update(os.fsencode(file.relative_to(path)))  # a name may have no encoding
        with open(file, "rb") as stream:
            while piece := stream.read(1 << 20):
                found.update(piece)
    return found.hexdigest()


# Where the files of a fit go: never silently over another result, its report or its tables.

# Every report contains this, so that a report can be told from a page of the user's own.
GENERATOR = b'<meta name="generator" content="provenmf'


@dataclass(frozen=True)
class Target:
    """The files that a command writes: result, report and the folder for tables."""

    data: Path
    result: Path
    tables: Path | None = None

    @property
    def page(self) -> Path:
        """The report, beside the result."""
        return self.result.with_suffix(".html")


def plan(output: Path | None, tables: Path | None, data: Path, *inputs: Path | None) -> Target:
    """Choose the output files before the fit; refuse to overwrite results.

    Without `output` a name that is taken gets a number; a name that was asked for needs `--force`.
    """
    options = shared()
    if output is not None and output.suffix.lower() in (".html", ".htm"):
        raise InvalidInput(
            f"--output {output} names a page, but it is the result that is written there: "
            "end it in .npz, and the report gets the same name with .html"
        )
    result = output or Path(f"{data.resolve().name.split('.')[0] or 'data'}-result.npz")
    if output is None and not options.force:
        result = numbered(result, ".html")
    target = Target(data, result, tables)
    for path in (target.result, *([] if options.no_report else [target.page])):
        check_writable(path, data, *inputs)
    if output is not None:
        for path in (target.result, target.page):
            refuse_overwriting(path)
    if tables is not None:
        if importlib.util.find_spec("pandas") is None:
            raise MissingExtra("--tables", "files")
        make_folder(tables, "--tables")
    return target


def refuse_overwriting(path: Path, option: str = "--output") -> None:
    """Refuse to overwrite a file unless --force was given."""
    if path.exists() and not shared().force:
        raise InvalidInput(f"{path} exists: choose another name with {option}, or add --force")


def check_output(path: Path, endings: tuple[str, ...], option: str, *inputs: Path | None) -> None:
    """Refuse a name for another file before any time is spent."""
    if path.suffix.lower() not in endings:
        raise InvalidInput(f"{option} {path}: end it in {' or '.join(endings)}")
    check_writable(path, *inputs)
    refuse_overwriting(path, option)


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


# The end of every fit.


def finish(result: Factorization | Answer, target: Target) -> None:
    """Save, report, write tables, print."""
    from provenmf.io.records import strict_json

    result = with_origin(result, target.data)
    result.save(target.result)
    files = {"result": str(target.result)}
    try:
        files |= _write_report(result, target)
        if target.tables is not None:
            files["tables"] = ", ".join(map(str, write_tables(result, target.tables)))
    except KeyboardInterrupt:
        complain(f"Interrupted; complete so far: {', '.join(files.values())}")
        sys.exit(INTERRUPTED)
    if shared().json:
        say(strict_json(as_dict(result) | {"files": files}))
        return
    show(result)
    for kind, file in files.items():
        say_wrapped(f"{kind.capitalize()} written to {file}")


def origin_of(data: Path | None) -> Origin:
    """Return file, command and time of what is being made."""
    from provenmf.results.factorization import Origin

    file = "" if data is None else data.resolve().name
    program = Path(sys.argv[0]).name
    ours = program in ("provenmf", "provenmf.exe", "__main__.py")
    command = f"provenmf {shlex.join(sys.argv[1:])}" if ours else ""
    return Origin(file, command, f"{datetime.now():%Y-%m-%d %H:%M}")


def with_origin(result: Factorization | Answer, data: Path | None = None) -> Factorization | Answer:
    """Return the result, knowing file, command and time."""
    from provenmf.results import Answer

    origin = origin_of(data)
    if isinstance(result, Answer):
        return replace(result, factorization=replace(result.factorization, origin=origin))
    return replace(result, origin=origin)


def _write_report(result: Factorization | Answer, target: Target) -> dict[str, str]:
    """Write the report beside the result, and remove the report of an earlier result."""
    stale = is_report(target.page)
    if stale:
        target.page.unlink()
    if not shared().no_report:
        import provenmf.report

        provenmf.report.write(result, target.page)
        return {"report": str(target.page)}
    if stale:
        complain(f"Note: {target.page} was the report of an earlier result; removed")
    return {}


def write_tables(result: Factorization | Answer, folder: Path) -> list[Path]:
    """Write each table of an answer as a CSV file."""
    from provenmf.io import write_aside
    from provenmf.results import as_answer

    written = []
    for name, table in as_answer(result).tables().items():
        written.append(folder / f"{name}.csv")
        write_aside(written[-1], partial(_write_table, table))
    return written


def _write_table(table: pandas.DataFrame, file: IO[bytes]) -> None:
    """Write a table row by row: as one text, a million documents take a gigabyte."""
    texts = {name: table[name].map(_encodable) for name in table.select_dtypes("object")}
    table = table.assign(**texts).rename(index=_encodable, columns=_encodable)
    table.to_csv(file, mode="wb")


def _encodable(value: Any) -> Any:
    """Return text that can be written: names of files need not have an encoding."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def as_dict(result: Factorization | Answer) -> dict[str, Any]:
    """Return the outcome as JSON data."""
    from provenmf.results import as_answer

    answer = as_answer(result)
    fit = answer.factorization
    return {
        "kind": answer.kind,
        "method": fit.method,
        "n_components": answer.n_components,
        "n_rows": len(answer.weights),
        "n_columns": answer.components.shape[1],
        "factorized": {"n_rows": len(fit.weights), "n_columns": fit.components.shape[1]},
        "stop_reason": fit.stop_reason,
        "iterations": len(fit.trace),
        "anchors": None if fit.anchors is None else fit.anchors.tolist(),
        "components": [
            {"name": name, "share": share, "anchor": anchor, "largest": entries}
            for name, share, anchor, entries in _component_rows(answer)
        ],
        "scores": answer.scores(),
        "notes": list(answer.notes),
        "certificate": fit.certificate and fit.certificate.to_dict(),
    }


def show(result: Factorization | Answer) -> None:
    """Say what was found and what is guaranteed."""
    from provenmf.results import StopReason, as_answer

    answer = as_answer(result)
    say("\n".join(component_lines(answer, text_width())) + "\n")
    for meaning, value in answer.scores().items():
        say_wrapped(f"{meaning[:1].upper()}{meaning[1:]}: {value:.4g}")
    for note in answer.notes:
        say_wrapped(f"Note: {note}")
    reason = answer.factorization.stop_reason
    if reason in (StopReason.INTERRUPTED, StopReason.MAX_ITER):
        say_wrapped(reason.sentence)
    _show_guarantee(answer)


def _show_guarantee(answer: Answer) -> None:
    """Print the certificate in a few sentences."""
    from provenmf.report.certificate import headline

    if answer.certificate is None:
        say_wrapped("There is no certificate: you asked for none, or the method has none.")
        return
    matrix = answer.factorized()
    if matrix:
        say_wrapped(f"The guarantees are about the factorized matrix: {matrix}.")
    for sentence in headline(answer.certificate):
        say_wrapped(sentence)


def component_lines(answer: Answer, width: int) -> list[str]:
    """Return a table of the components: name, share, anchor, largest entries; cut at the width."""
    rows = _component_rows(answer)
    name_width = max(len(name) for name, *_ in rows)
    anchor_width = max(len(anchor) for _, _, anchor, _ in rows)
    anchor_width = anchor_width and min(max(anchor_width, len("anchor")), 18)

    def line(name: str, share: str, anchor: str, entries: str) -> str:
        text = f"{name:{name_width}}  {share:>6}  "
        if anchor_width:
            text += f"{cut(anchor, anchor_width):{anchor_width}}  "
        return cut(text + entries, width).rstrip()

    header = line("", "share", "anchor", answer.words.largest)
    return [header] + [
        line(name, f"{share:.1%}", anchor, "  ".join(entries))
        for name, share, anchor, entries in rows
    ]


def cut(text: str, width: int) -> str:
    """Cut to a width, on one line."""
    text = " ".join(text.split("\n"))
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def _component_rows(answer: Answer) -> list[tuple[str, float, str, list[str]]]:
    """Return name, share of everything, anchor, largest entries (or members) of each component."""
    shares, largest = answer.share, answer.largest()
    return [
        (name, float(shares[i]), answer.anchor_name(i), largest[i])
        for i, name in enumerate(answer.component_names)
    ]
