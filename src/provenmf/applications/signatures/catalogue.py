"""Tables of counts and signatures by channel, and a catalogue of known signatures to compare with.

Channels are mutation types. Their names are matched, never their order (`channels.py`). Tables come
in two layouts: channels as rows, as SigProfiler and COSMIC write them, or as columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.signatures.channels import cosmic_names, is_heading
from provenmf.errors import InvalidInput, as_written
from provenmf.linalg.storage import check_scale

Floats = NDArray[np.float64]

CATALOGUE = "the catalogue"
MOST_PARTS = 3  # known signatures that a new one is decomposed into
WORTH = 0.01  # cosine that one more part must gain


class Labelled(NamedTuple):
    """A matrix with names of its rows and of its channels, which are the columns."""

    values: Floats
    names: tuple[str, ...]
    channels: tuple[str, ...]

    @property
    def named(self) -> bool:
        """Whether the channels have names, by which they are matched."""
        return self.channels[:1] != ("channel 1",)

    def ordered(self, channels: tuple[str, ...], what: str) -> Labelled:
        """Return the rows with these channels in this order; others are left out."""
        place = {name: j for j, name in enumerate(self.channels)}
        missing = [name for name in channels if name not in place]
        if not missing:
            values = self.values[:, [place[c] for c in channels]]
            return self._replace(values=values, channels=channels)
        unnamed = "channel 1" in (channels[0], self.channels[0])
        if unnamed and len(channels) == len(self.channels):
            return self  # the order must be the same
        raise InvalidInput(
            f"{what} lacks {len(missing)} of {len(channels)} channels, such as {missing[0]!r}; it "
            f"has {len(self.channels)} columns, such as {self.channels[0]!r}, and rows such as "
            f"{self.names[0]!r}: give a table for the same kind of mutations, named alike"
        )

    def checked(self, what: str) -> Labelled:
        """Return the table, or raise an error if its values cannot be counts or probabilities."""
        for wrong, kind in (
            (~np.isfinite(self.values), "missing or infinite"),
            (self.values < 0, "negative"),
        ):
            if wrong.any():
                i, j = (int(places[0]) for places in np.nonzero(wrong))
                raise InvalidInput(
                    f"{what} has {kind} entries: {self.values[i, j]:g} in {self.names[i]}, "
                    f"{self.channels[j]}, the first of {int(wrong.sum())}; correct or remove them"
                )
        if not self.values.any():
            raise InvalidInput(f"{what} has no mutation at all")
        check_scale(float(self.values.max()), what)
        return self


def labelled(table: Any, row: str) -> Labelled:
    """Return rows × channels with names, from an array, frame, AnnData, table or path.

    Parameters
    ----------
    table : array, frame, AnnData, Table, str or Path
        Without names of mutation types, rows stay rows.
    row : str
        What a row is, for names that are missing.
    """
    if isinstance(table, Labelled):
        return table
    if isinstance(table, (str, Path)):
        from provenmf.io.matrices import read_table

        table = read_table(Path(table), is_name=is_heading)
    values, rows, columns = _parts(table)
    types = cosmic_names(columns)
    if not types and (types := cosmic_names(rows)):
        values, rows, columns = values.T, columns, rows
    if None in types and columns:
        raise InvalidInput(
            f"{columns[types.index(None)]!r} is no mutation type, as the other channels such as "
            f"{columns[types[0] is None]!r} are: leave it out or correct its name"
        )
    n, d = values.shape
    names = tuple(rows) if rows else tuple(f"{row} {i + 1}" for i in range(n))
    channels = tuple(map(str, types or columns or (f"channel {j + 1}" for j in range(d))))
    twice = next((c for c in channels if channels.count(c) > 1), None)
    if twice is not None:
        raise InvalidInput(f"channel {twice!r} occurs more than once: join or rename its columns")
    return Labelled(np.ascontiguousarray(values), names, channels)


def _parts(table: Any) -> tuple[Floats, list[str] | None, list[str] | None]:
    rows = columns = None
    values = table
    if hasattr(table, "obs_names"):  # AnnData
        values, rows, columns = table.X, list(table.obs_names), list(table.var_names)
    elif hasattr(table, "iloc") and hasattr(table, "columns"):  # a frame
        rows = list(table.index)
        naming = len(list(takewhile(is_heading, map(str, table.columns))))
        if not naming and len(table.columns):
            naming = int(_is_text(table.iloc[:, 0]))
        if naming:
            parts = table.iloc[:, :naming].astype(str)
            rows, table = list(parts.agg(":".join, axis=1)), table.iloc[:, naming:]
        values, columns = table.to_numpy(), list(table.columns)
    elif hasattr(table, "matrix"):
        values, rows, columns = table.matrix, table.row_names, table.column_names
    values = values.toarray() if sp.issparse(values) else values
    try:
        values = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"the table does not hold numbers{_first_text(values)}") from error
    if values.ndim != 2:
        raise InvalidInput(f"the table has {values.ndim} axes: give tumors × channels")
    return values, _names(rows), _names(columns)


def _is_text(column: Any) -> bool:
    """Return whether a column holds names, not numbers, whatever its type."""
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return isinstance(column.iloc[0], str)
    return False


def _first_text(values: Any) -> str:
    """Name the first entry that is no number, its row and its column, counted from 1."""
    for place, value in np.ndenumerate(np.asarray(values, dtype=object)):
        try:
            float(value)
        except (TypeError, ValueError, OverflowError):
            where = ", ".join(f"{axis} {p + 1}" for axis, p in zip(("row", "column"), place))
            return f": {as_written(value):.40} in {where}"
    return ""


def _names(given: Any) -> list[str] | None:
    """Return names as text, or None if they are plain numbers."""
    names = [] if given is None else [_joined(name) for name in given]
    return names if names and not all(name.isdigit() for name in names) else None


def _joined(name: Any) -> str:
    """Return a name, or the parts of one, such as the levels of an index, joined by colons."""
    return ":".join(map(str, name)) if isinstance(name, tuple) else str(name)


@dataclass(frozen=True)
class Match:
    """The known signature nearest to a found one, and a mixture of known ones near to it."""

    name: str
    cosine: float
    parts: tuple[tuple[str, float], ...]
    parts_cosine: float


def compare(signatures: Floats, channels: tuple[str, ...], reference: Any) -> tuple[Match, ...]:
    """Compare signatures with those of a catalogue, such as a file of COSMIC.

    Parameters
    ----------
    signatures : array (k, channels)
    channels : names of the channels
    reference : path, frame, table or array with the same channels in any order
    """
    known = labelled(reference, "signature").checked(CATALOGUE)
    values, names, _ = known.ordered(channels, CATALOGUE)
    unit = values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-300)
    return tuple(_match(signature, unit, values, names) for signature in signatures)


def _match(signature: Floats, unit: Floats, values: Floats, names: tuple[str, ...]) -> Match:
    from scipy.optimize import nnls

    length = np.linalg.norm(signature)
    cosines = unit @ signature / max(float(length), 1e-300)
    best = int(np.argmax(cosines))
    chosen, reached = [best], float(cosines[best])
    weights = np.ones(1)
    for _ in range(MOST_PARTS - 1):
        trials = []
        for j in range(len(unit)):
            if j not in chosen:
                mixed, _ = nnls(unit[[*chosen, j]].T, signature)
                made = mixed @ unit[[*chosen, j]]
                cosine = made @ signature / max(float(np.linalg.norm(made) * length), 1e-300)
                trials.append((float(cosine), j, mixed))
        if not trials or max(t[0] for t in trials) < reached + WORTH:
            break
        reached, j, weights = max(trials, key=lambda t: t[0])
        chosen.append(j)
    sums = weights * np.maximum(unit[chosen].sum(axis=1), 1e-300)
    shares = sums / max(sums.sum(), 1e-300)
    parts = tuple((names[j], float(s)) for j, s in zip(chosen, shares) if s > 0)
    return Match(names[best], float(cosines[best]), parts, reached)
