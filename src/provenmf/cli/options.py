"""Options of the commands, each defined once.

Options that several analyses share belong to the program and may stand in any place; a command
refuses those that it does not use. The rest are types for the parameters of the commands, named as
the arguments of the functions in Python.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer import Option

from provenmf import __version__
from provenmf.errors import InvalidInput
from provenmf.io.files import unlimited
from provenmf.methods import CATALOGUE


def show_version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        typer.echo(f"provenmf {__version__}")
        raise typer.Exit()


@dataclass(frozen=True)
class Shared:
    """The options of the program; a command names those that it uses."""

    json: Annotated[bool, Option("--json", help="Print the result as JSON.")] = False
    force: Annotated[bool, Option("--force", help="Overwrite existing output files.")] = False
    no_report: Annotated[bool, Option("--no-report", help="Do not write the HTML report.")] = False
    no_certify: Annotated[bool, Option("--no-certify", help="Do not compute the certificate.")] = (
        False
    )
    no_evidence: Annotated[
        bool, Option("--no-evidence", help="Do not judge components on unseen rows.")
    ] = False
    random_state: Annotated[
        int, Option("--random-state", min=0, metavar="NUMBER", help="Random seed.")
    ] = 0
    max_iter: Annotated[
        int | None, Option("--max-iter", metavar="N", help="Maximum number of iterations.")
    ] = None
    checkpoint: Annotated[
        Path | None,
        Option(
            "--checkpoint",
            metavar="DIR",
            help="Save the state to DIR; running the same command again resumes from there.",
        ),
    ] = None
    memory: Annotated[
        str | None,
        Option(
            "--memory",
            metavar="SIZE",
            help="Memory budget, such as 2GB. A fit that needs more is refused before it starts.",
        ),
    ] = None
    n_jobs: Annotated[
        int | None,
        Option(
            "--n-jobs",
            metavar="N",
            help="Threads, and processes that count words. Default: one per core (-1).",
        ),
    ] = None
    no_limits: Annotated[
        bool,
        Option(
            "--no-limits",
            help="Also read compressed files that expand to far more than their size.",
        ),
    ] = False
    debug: Annotated[bool, Option("--debug", help="Show the full traceback of an error.")] = False
    version: Annotated[
        bool,
        Option(
            "--version", help="Show the version and exit.", callback=show_version, is_eager=True
        ),
    ] = False


_present: ContextVar[Shared] = ContextVar("provenmf_shared", default=Shared())  # noqa: B039
# Every command understands these; an analysis understands all.
ALWAYS = ("no_limits", "debug", "version")
ANALYSIS = tuple(part.name for part in fields(Shared) if part.name not in ALWAYS)


def with_fields_of(kind: type[Any]) -> Callable[[Callable[[Any], None]], Callable[..., None]]:
    """Expose the fields of a record argument as options for typer."""

    def decorate(function: Callable[[Any], None]) -> Callable[..., None]:
        def flat(**given: Any) -> None:
            function(kind(**given))

        hints = get_type_hints(kind, include_extras=True)
        signature = inspect.signature(kind)
        parameters = [p.replace(annotation=hints[n]) for n, p in signature.parameters.items()]
        flat.__doc__, flat.__annotations__ = function.__doc__, hints
        flat.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return flat

    return decorate


def limits_of(arguments: list[str]) -> AbstractContextManager[None]:
    """Return a context without limits on files if the arguments contain --no-limits."""
    return unlimited() if "--no-limits" in arguments else nullcontext()


def set_shared(options: Shared) -> None:
    """Store the shared options of the current command."""
    _present.set(options)


def shared() -> Shared:
    """Return the shared options of the current command."""
    return _present.get()


def check_used(command: str, used: tuple[str, ...]) -> None:
    """Refuse a shared option that the command would ignore."""
    for part in fields(Shared):
        if part.name not in (*used, *ALWAYS) and getattr(shared(), part.name) != part.default:
            raise InvalidInput(f"{command} has no --{part.name.replace('_', '-')}: leave it out")


def at_least_one(number: int | None) -> int | None:
    """Refuse a number of components that is not positive."""
    if number is not None and number < 1:
        raise InvalidInput(f"-k {number} must be at least 1")
    return number


def number_of(what: str, *, chosen: bool = True) -> typer.models.OptionInfo:
    """Return the option -k under the name that the number has in Python."""
    told = " If omitted, chosen from the data." if chosen else ""
    option: typer.models.OptionInfo = Option(
        f"--n-{what}", "-k", metavar="K", callback=at_least_one, help=f"Number of {what}.{told}"
    )
    return option


def known_method(name: str) -> str:
    """Refuse an unknown method before any library is loaded."""
    if name not in (*CATALOGUE, "auto"):
        known = ", ".join(CATALOGUE)
        raise InvalidInput(f"--method {name} is not known: choose one of {known}")
    return name


def method_of(*extra: str) -> typer.models.OptionInfo:
    """Return the option --method for the methods of the catalogue and some more."""
    names = f"One of {', '.join((*extra, *CATALOGUE))}."
    option: typer.models.OptionInfo = Option(
        "--method", "-m", metavar="NAME", callback=known_method, help=names
    )
    return option


Method = Annotated[str, method_of()]
Output = Annotated[
    Path | None,
    Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Result file (.npz). The report gets the same name with .html.",
    ),
]
Tables = Annotated[
    Path | None,
    Option("--tables", metavar="DIR", help="Also write the result as CSV tables to DIR."),
]
Key = Annotated[
    str | None,
    Option(
        "--key",
        metavar="NAME",
        help="Name of the array, if the file holds several (npz, mat), or of a layer (h5ad).",
    ),
]
Transpose = Annotated[
    bool, Option("--transpose", metavar="", help="Data points are columns, not rows.")
]
Groups = Annotated[
    str | None,
    Option(
        "--groups",
        metavar="COLUMN|FILE",
        help="Rows that depend on each other (of a patient, an author): a column of the data, or a "
        "file with a group per line. Groups are judged, not rows.",
    ),
]
Vocabulary = Annotated[
    Path | None,
    Option("--vocabulary", metavar="FILE", help="The words of a count matrix, one per line."),
]
Field = Annotated[
    str,
    Option("--field", metavar="NAME", help="Field (json) or column (csv) that holds the text."),
]
Mail = Annotated[
    bool,
    Option(
        "--mail",
        metavar="",
        help="Texts are emails: remove headers, quotations, attachments and signatures.",
    ),
]
Encoding = Annotated[
    str,
    Option("--encoding", metavar="NAME", help="Character encoding of the text files."),
]
MinDocuments = Annotated[
    int,
    Option(
        "--min-documents",
        metavar="N",
        min=1,
        help="Ignore words that occur in fewer than N documents.",
    ),
]
MaxShare = Annotated[
    float,
    Option(
        "--max-share",
        metavar="SHARE",
        min=0.0,
        max=1.0,
        help="Ignore words that occur in more than this share of the documents.",
    ),
]
LANGUAGES = (
    *("english", "german", "french", "spanish", "italian", "portuguese", "dutch"),
    *("swedish", "polish", "russian"),
)


def known_stop_words(given: str) -> str:
    """Refuse stop words that name no language or file, before any library is loaded."""
    if given not in ("none", "auto", *LANGUAGES) and not Path(given).exists():
        raise InvalidInput(
            "is neither a language nor a file",
            argument="stop_words",
            value=given,
            remedy=f"choose auto, {', '.join(LANGUAGES)}, none, or a file with one word per line",
        )
    return given


StopWords = Annotated[
    str,
    Option(
        "--stop-words",
        metavar="WORDS",
        callback=known_stop_words,
        help="auto, a language such as german, none, or a file with one word per line.",
    ),
]
SkipUnreadable = Annotated[
    bool,
    Option("--skip-unreadable", metavar="", help="Skip files in a folder that are not text."),
]
NResamples = Annotated[
    int,
    Option(
        "--n-resamples",
        metavar="N",
        help="Compute standard errors from N resamples of the data. 0 means none.",
    ),
]
Result = Annotated[Path, typer.Argument(help="Result file written by another command.")]
Matrix = Annotated[Path, typer.Argument(help="Matrix: npy, npz, csv, tsv, mtx, mat, parquet, h5ad")]


def parse_shape(text: str | None) -> tuple[int, int] | None:
    """Return rows and columns from "95x95"."""
    if text is None:
        return None
    sides = text.lower().split("x")
    if len(sides) != 2 or not all(side.strip().isdecimal() and int(side) > 0 for side in sides):
        raise InvalidInput(f"--shape {text} is not rows x columns: write it like 95x95")
    return int(sides[0]), int(sides[1])


def checked_shape(text: str | None) -> str | None:
    """Refuse an invalid size before any library is loaded."""
    parse_shape(text)
    return text


Shape = Annotated[
    str | None,
    Option(
        "--shape",
        metavar="RxC",
        callback=checked_shape,
        help="Size of the image, such as 95x95.",
    ),
]
