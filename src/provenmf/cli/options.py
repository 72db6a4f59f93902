"""Options of the commands, each defined once.

Those of `Shared` are added to every command that uses them. The rest are types for the parameters
of the commands, named as the arguments of the functions in Python.
"""

from __future__ import annotations

import os
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from provenmf import __version__
from provenmf.errors import InvalidInput
from provenmf.methods import CATALOGUE


def option(usage: str, told: str, **more: Any) -> Any:
    """Return an option from its usage, such as "--output -o FILE"; a flag has no value."""
    names = [word for word in usage.split() if word.startswith("-")]
    value = usage.split()[-1] if len(names) < len(usage.split()) else ""
    return typer.Option(*names, metavar=value, help=told, **more)


def show_version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        typer.echo(f"provenmf {__version__}")
        raise typer.Exit()


Version = Annotated[
    bool,
    option("--version", "Show the version and exit.", callback=show_version, is_eager=True),
]


@dataclass(frozen=True)
class Shared:
    """Options of several commands, each of which names those that it has."""

    key: Annotated[
        str | None,
        option(
            "--key NAME",
            "Name of the array, if the file holds several (npz, mat), or of a layer (h5ad).",
        ),
    ] = None
    transpose: Annotated[bool, option("--transpose", "Data points are columns, not rows.")] = False
    output: Annotated[
        Path | None,
        option("--output -o FILE", "Result file (.npz). The report gets the same name with .html."),
    ] = None
    tables: Annotated[
        Path | None, option("--tables DIR", "Also write the result as CSV tables to DIR.")
    ] = None
    json: Annotated[bool, option("--json", "Print the result as JSON.")] = False
    force: Annotated[bool, option("--force", "Overwrite existing output files.")] = False
    no_report: Annotated[bool, option("--no-report", "Do not write the HTML report.")] = False
    no_evidence: Annotated[
        bool, option("--no-evidence", "Leave out the evidence on unseen rows.")
    ] = False
    no_certify: Annotated[
        bool, option("--no-certify", "Leave out the certificate and the evidence.")
    ] = False
    random_state: Annotated[int, option("--random-state NUMBER", "Random seed.", min=0)] = 0
    memory: Annotated[
        str | None,
        option(
            "--memory SIZE",
            "Memory budget, such as 2GB. A fit that needs more is refused before it starts.",
        ),
    ] = None
    n_jobs: Annotated[
        int | None,
        option(
            "--n-jobs N", "Threads, and processes that count words. Default: one per core (-1)."
        ),
    ] = None


_present: ContextVar[Shared] = ContextVar("provenmf_shared", default=Shared())  # noqa: B039
HINTS = get_type_hints(Shared, include_extras=True)
# Options of how data are read; an analysis has all others.
READING = ("key", "transpose")
ANALYSIS = tuple(name for name in HINTS if name not in READING)


def set_shared(**given: Any) -> None:
    """Store the shared options of the current command."""
    _present.set(Shared(**given))


def shared() -> Shared:
    """Return the shared options of the current command."""
    return _present.get()


# Arguments that are refused before any library is loaded.


def known_method(name: str) -> str:
    """Refuse an unknown method."""
    if name not in (*CATALOGUE, "auto"):
        known = ", ".join(CATALOGUE)
        raise InvalidInput(f"--method {name} is not known: choose one of {known}")
    return name


def parse_shape(text: str | None) -> tuple[int, int] | None:
    """Return rows and columns from "95x95"."""
    if text is None:
        return None
    sides = text.lower().split("x")
    if len(sides) != 2 or not all(side.strip().isdecimal() and int(side) > 0 for side in sides):
        raise InvalidInput(f"--shape {text} is not rows x columns: write it like 95x95")
    return int(sides[0]), int(sides[1])


LANGUAGES = (
    *("english", "german", "french", "spanish", "italian", "portuguese", "dutch"),
    *("swedish", "polish", "russian"),
)


def _known_stop_words(given: str) -> str:
    if given not in ("none", "auto", *LANGUAGES) and not os.path.exists(given):
        raise InvalidInput(
            "is neither a language nor a file",
            argument="stop_words",
            value=given,
            remedy=f"choose auto, {', '.join(LANGUAGES)}, none, or a file with one word per line",
        )
    return given


def number_of(what: str, chosen: str = "chosen from the data") -> Any:
    """Return the option -k under the name that the number has in Python."""
    told = f"Number of {what}. If omitted, {chosen}."
    return option(f"--n-{what} -k K", told, min=1)


def method_of(*names: str) -> Any:
    """Return the option --method for these methods, by default all."""
    listed = f"One of {', '.join(names or CATALOGUE)}."
    return option("--method -m NAME", listed, callback=known_method)


Method = Annotated[str, method_of()]
Groups = Annotated[
    str | None,
    option(
        "--groups COLUMN|FILE",
        "Rows that depend on each other (of a patient, an author): a column of the data, or a "
        "file with a group per line. Groups are judged, not rows.",
    ),
]
Vocabulary = Annotated[
    Path | None, option("--vocabulary FILE", "The words of a count matrix, one per line.")
]
Field = Annotated[str, option("--field NAME", "Field (json) or column (csv) that holds the text.")]
Mail = Annotated[
    bool,
    option("--mail", "Texts are emails: remove headers, quotations, attachments and signatures."),
]
StopWords = Annotated[
    str,
    option(
        "--stop-words WORDS",
        "auto, a language such as german, none, or a file with one word per line.",
        callback=_known_stop_words,
    ),
]
Shape = Annotated[
    str | None,
    option(
        "--shape RxC",
        "Size of the image, such as 95x95.",
        callback=lambda text: text if parse_shape(text) else None,
    ),
]
Result = Annotated[Path, typer.Argument(help="Result file written by another command.")]
Matrix = Annotated[Path, typer.Argument(help="Matrix: npy, npz, csv, tsv, mtx, mat, parquet, h5ad")]
