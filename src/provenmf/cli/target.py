"""Where the files of a fit go: never silently over another result, its report or its tables."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from provenmf.errors import InvalidInput, MissingExtra

# Every report contains this, so that a report can be told from a page of the user's own.
GENERATOR = b'<meta name="generator" content="provenmf'
PAGE_ENDINGS = (".html", ".htm")


@dataclass(frozen=True)
class Target:
    """The files that a command writes: result, report and the folders for tables."""

    result: Path
    with_report: bool = True
    tables: Path | None = None
    data: Path | None = None
    frames: Path | None = None

    @property
    def page(self) -> Path:
        """The report, beside the result."""
        return self.result.with_suffix(".html")


def plan(
    output: Path | None,
    data: Path,
    *other_inputs: Path | None,
    with_report: bool,
    tables: Path | None = None,
    frames: Path | None = None,
    force: bool = False,
) -> Target:
    """Choose the files before any time is spent; refuse what would be lost.

    Without `output` a name that is taken gets a number; a name that was asked for needs `force`.
    """
    from provenmf.io.output import check_writable

    if output is not None and output.suffix.lower() in PAGE_ENDINGS:
        raise InvalidInput(
            f"--output {output} names a page, but it is the result that is written there: "
            "end it in .npz, and the report gets the same name with .html"
        )
    wanted = output or default_output(data)
    if output is None and not force:
        wanted = numbered(wanted, ".html")
    target = Target(wanted, with_report, tables, data, frames)
    for path in (target.result, *([target.page] if with_report else [])):
        check_writable(path, data, *other_inputs)
    if output is not None and not force:
        for path in (target.result, target.page):
            refuse_overwriting(path)
    for folder, option in ((tables, "--csv"), (frames, "--frame")):
        if folder is not None:
            _check_tables(folder, option, force)
    return target


def refuse_overwriting(path: Path, option: str = "--output") -> None:
    """A file that exists stays as it is."""
    if path.exists():
        raise InvalidInput(f"{path} exists: choose another name with {option}, or add --force")


def default_output(data: Path) -> Path:
    """The result file in the current folder, named after the data."""
    return Path(f"{data.resolve().name.split('.')[0] or 'data'}-result.npz")


def remove_stale_report(target: Target) -> bool:
    """Remove the report of an earlier result of the same name; a page of another kind stays."""
    if not is_report(target.page):
        return False
    target.page.unlink()
    return True


def is_report(page: Path) -> bool:
    """Whether a file is a report of provenmf."""
    if not page.is_file():
        return False
    with page.open("rb") as file:
        return GENERATOR in file.read(4096)


def numbered(path: Path, *also: str) -> Path:
    """The name itself, or with the first number that no file has, nor one that ends in `also`."""
    candidate, number = path, 1
    while any(taken.exists() for taken in (candidate, *map(candidate.with_suffix, also))):
        number += 1
        candidate = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return candidate


def _check_tables(folder: Path, option: str, force: bool) -> None:
    """Make the folder for tables, and ask for what they need now."""
    needed = ("pandas",) if option == "--csv" else ("pandas", "pyarrow")
    if any(importlib.util.find_spec(name) is None for name in needed):
        raise MissingExtra(option, "files")
    make_folder(folder, option, force=force)


def make_folder(folder: Path, option: str, *, force: bool) -> None:
    """Make a folder; refuse one with files in it unless `force`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = any(folder.iterdir())
    except OSError as error:
        raise InvalidInput(
            f"cannot make the folder {folder} ({error.strerror}): choose another with {option}"
        ) from error
    if taken and not force:
        raise InvalidInput(
            f"the folder {folder} is not empty: choose another with {option}, or add --force"
        )
