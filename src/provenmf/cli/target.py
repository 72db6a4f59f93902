"""Where the files of a fit go: never silently over another result, its report or its tables."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from provenmf.cli.options import shared
from provenmf.errors import InvalidInput, MissingExtra
from provenmf.io.files import check_writable

# Every report contains this, so that a report can be told from a page of the user's own.
GENERATOR = b'<meta name="generator" content="provenmf'
PAGE_ENDINGS = (".html", ".htm")


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
    """Choose the files before any time is spent; refuse what would be lost.

    Without `output` a name that is taken gets a number; a name that was asked for needs `--force`.
    """
    options = shared()
    if output is not None and output.suffix.lower() in PAGE_ENDINGS:
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
    """Let a file that exists stay as it is, unless --force was typed."""
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
    """Return the name, or with the first number that no file has, nor one that ends in `also`."""
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
