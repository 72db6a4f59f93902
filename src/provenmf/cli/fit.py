"""`provenmf fit`, `rank` and `diagnose`: any matrix, and what to know before a fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from provenmf.cli import options
from provenmf.cli.analysis import Analysis, naming, read_column, say_found
from provenmf.errors import InvalidInput, printable
from provenmf.io.files import existing, without_compression
from provenmf.methods import CATALOGUE, estimator_class
from provenmf.progress import Progress

if TYPE_CHECKING:
    from provenmf.io.matrices import Table

LONGEST_RANK = 6  # digits
TEXT_ENDINGS = (".txt", ".jsonl", ".ndjson", ".json")


def fit(
    data: options.Matrix,
    n_components: Annotated[
        int | None, options.number_of("components", "chosen if the data are clear about it")
    ] = None,
    method: Annotated[str, options.method_of("auto", *CATALOGUE)] = "auto",
    known_components: Annotated[
        Path | None,
        options.option(
            "--known-components FILE",
            "Known components, one per row. They stay fixed (hals and anls only).",
        ),
    ] = None,
    clip_negative: Annotated[
        bool,
        options.option("--clip-negative", "Set negative entries to zero (hals and anls only)."),
    ] = False,
    groups: options.Groups = None,
    max_iter: Annotated[
        int | None, options.option("--max-iter N", "Maximum number of iterations.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        options.option(
            "--checkpoint DIR",
            "Save the state to DIR; running the same command again resumes from there.",
        ),
    ] = None,
) -> None:
    """Factorize any matrix: rows are data points, X ≈ weights × components.

    The method auto uses poisson for counts, otherwise hals, or cones or spa if all
    conditions of their theory hold and they fit as well. A note says why.
    Matrices in .npy files are read block by block, unless the method needs the
    whole matrix, as fast_gradient does.
    Empty cells of a table are missing entries (hals and anls only).
    Ctrl-C stops an iterative method early and keeps the best result so far. A
    second Ctrl-C skips the certificate.

    \b
    Examples:
      provenmf fit counts.csv -k 10
      provenmf fit genes.mtx -k 8 --method and_descent -o genes-8.npz
      provenmf fit spectra.mat --key Y --transpose -k 3 --method spa
      provenmf fit big.npy -k 20 --method spa --no-report --json
    """
    analysis = Analysis(data, known_components)
    from provenmf.io import read_matrix

    missing = method == "auto" or estimator_class(method).traits.missing_values
    with analysis.reading():  # the size of blocks follows from the memory budget
        table = read_data(data, missing=missing)
        known: dict[str, Any] = {}
        if known_components is not None:
            known["known_components"] = read_matrix(known_components)
    from provenmf import confirm, factorize
    from provenmf.advice.diagnose import turned_note
    from provenmf.data import Blocks

    with analysis.fitting(method, n_components) as more:
        if isinstance(table.matrix, Blocks):
            table.matrix.progress = analysis.progress.rows_read
        judged = more.pop("evidence") and not known
        if clip_negative:
            known["clip_negative"] = True
        if max_iter is not None:
            known["max_iter"] = analysis.progress.steps = max_iter
        result = factorize(
            table.matrix, n_components, method=method, checkpoint=checkpoint, **known, **more
        )
        if judged:
            units = None if groups is None else read_column(data, groups)
            result = confirm(table.matrix, result, groups=units)
    hint = "" if options.shared().transpose else turned_note(table.matrix.shape)
    names: dict[str, Any] = table.names
    analysis.finish(replace(result, **names, notes=(*result.notes, *[hint] * bool(hint))))


def read_data(path: Path, *, missing: bool = False) -> Table:
    """Read a matrix as --key and --transpose say; with `missing`, empty cells of a table are NaN.

    The rows of .npy stay on disk and are read block by block.
    """
    from provenmf.data.disk import open_npy
    from provenmf.io.matrices import Table, read_table

    key, transpose = options.shared().key, options.shared().transpose
    with naming(path):
        if path.suffix.lower() == ".npy" and key is None and not transpose:
            return Table(open_npy(path))
        table = read_table(path, key, missing=missing)
        return table.transposed if transpose else table


def diagnose(
    data: options.Matrix,
    n_components: Annotated[int | None, options.number_of("components")] = None,
    methods: Annotated[
        str | None, options.option("--methods NAMES", "Methods to try, separated by commas.")
    ] = None,
) -> None:
    """Show how many components the data support, and which method is backed by its theory.

    It tries every method, so it takes as long as all of them together.

    \b
    Examples:
      provenmf diagnose table.csv
      provenmf diagnose counts.npz -k 10 --methods spa,merit
    """
    data = existing(data)
    names = None if methods is None else methods.replace(",", " ").split()
    for name in names or ():
        options.known_method(name)
    from provenmf.advice.diagnose import advised_methods, diagnose as diagnose_matrix

    with Progress(f"Reading {printable(data.name)}"):
        matrix = read_data(data).matrix
    tried = ", ".join(names or advised_methods())
    with naming(data), Progress(f"Trying {tried} on {printable(data.name)}"):
        diagnosis = diagnose_matrix(matrix, n_components, methods=names)
    say_found(diagnosis)


def rank(
    data: options.Matrix,
    ranks: Annotated[
        str | None,
        options.option(
            "--ranks LIST", "Numbers to compare: 2-12, or 3,5,8. Default: 1-10 or more."
        ),
    ] = None,
    field: Annotated[
        str | None,
        options.option("--field NAME", "DATA holds texts, in this field or column."),
    ] = None,
) -> None:
    """Show the evidence for each number of components, and the range it supports.

    For each number: the error of a fit and the least possible error, the error
    on held-out entries, and how many components are confirmed by rows that did
    not help to find them. Singular values are compared with noise.
    Large data are judged on a sample. Empty cells of a table are missing entries.
    Numbers of topics of texts (a folder, txt, json, a table with a column "text",
    or with --field) are compared by held-out words and by coherence.

    \b
    Examples:
      provenmf rank table.csv
      provenmf rank counts.npz --ranks 2-20
      provenmf rank letters/                        topics of texts
      provenmf rank posts.csv --field body
      provenmf rank spectra.mat --key Y --transpose --json
    """  # fmt: skip
    data, shared = existing(data), options.shared()
    numbers = None if ranks is None else parse_ranks(ranks)
    from provenmf.io.texts import TextFile, has_text_column

    texts = field is not None or data.is_dir() or without_compression(data) in TEXT_ENDINGS
    texts = texts or has_text_column(data)
    with Progress(f"Reading {printable(data.name)}"):
        source: Any = TextFile(data, field or "text")
        if not texts:
            source = read_data(data, missing=True).matrix
    from provenmf import choose_rank
    from provenmf.applications.topics.groups import topic_numbers

    what = "topics" if texts else "components"
    with naming(data), Progress(f"Comparing numbers of {what} of {printable(data.name)}") as shown:
        if texts:
            found: Any = topic_numbers(source, numbers, progress=shown.part)
        else:
            seed = shared.random_state
            found = choose_rank(source, numbers, random_state=seed, progress=shown.part)
    say_found(found)


def parse_ranks(text: str) -> list[int]:
    """Return numbers from "2-12" or "3,5,8" or both."""
    numbers: list[int] = []
    for part in text.replace(" ", "").split(","):
        low, _, high = part.partition("-")
        if not low.isdecimal() or (high and not high.isdecimal()):
            raise InvalidInput(f"--ranks {text} is not a list of numbers: write 2-12 or 3,5,8")
        if max(len(low), len(high)) > LONGEST_RANK:
            raise InvalidInput(f"--ranks {text} has numbers that are too large: use smaller ones")
        numbers += range(int(low), int(high or low) + 1)
    if not numbers:
        raise InvalidInput(f"--ranks {text} has no numbers: write the lower one first, as in 2-12")
    return numbers
