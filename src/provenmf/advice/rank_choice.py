"""The evidence for the number of components as a record that prints, draws and goes to JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.advice.rank_table import RankTable
from provenmf.advice.text_table import WIDTH, table_lines
from provenmf.advice.witnesses import Witness, together
from provenmf.results.certificate import finite_or_none
from provenmf.results.display import Backend, plot_curves

FLOOR = "floor: no factorization is below"

Floats = NDArray[np.float64]
Curve = tuple[str, Sequence[int], Sequence[float | None]]


@dataclass(frozen=True, eq=False, repr=False)
class RankChoice:
    """The evidence for each number of components; made by `choose_rank`.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns of the data.
    table : RankTable
        The evidence for each number, as arrays.
    witnesses : tuple of Witness
        What each kind of evidence says: its number, or None, and the reason.
    notes : tuple of str
        What was done to the data.
    n_components : int or None
        The number that at least two of held-out error, stability and spectrum share.
    range : tuple of int or None
        The lowest and the highest number that one of them has; None if they have none.

    See Also
    --------
    choose_rank : makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import choose_rank
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(5 * rng.gamma(0.5, size=(40, 2)) @ rng.gamma(0.5, size=(2, 15)))
    >>> found = choose_rank(X, range(1, 5), n_resamples=3, repeats=2)
    >>> [witness.name for witness in found.witnesses]
    ['held-out error', 'stability', 'spectrum']
    """

    shape: tuple[int, int]
    table: RankTable
    witnesses: tuple[Witness, ...]
    notes: tuple[str, ...] = ()

    @property
    def n_components(self) -> int | None:
        """The number that two witnesses share, or None."""
        return together(self.witnesses)[0]

    @property
    def range(self) -> tuple[int, int] | None:
        """From the lowest to the highest number that a witness has."""
        _, low, high = together(self.witnesses)
        return None if low is None or high is None else (low, high)

    @property
    def verdict(self) -> str:
        """The answer in a sentence or two."""
        agreeing = [w.name for w in self.witnesses if w.n_components == self.n_components]
        agreeing = [name for name in agreeing if name != "coherence"]
        if self.range is None:
            return "The evidence supports no number of components among those tried."
        low, high = self.range
        spread = f"{low}" if low == high else f"{low} to {high}"
        if self.n_components is None:
            return (
                f"The evidence does not settle the number of components: it supports {spread}. "
                "Look at the components of several numbers, and choose by what they are for."
            )
        said = f"{_listed(agreeing)} agree on {self.n_components} components."
        said = said[:1].upper() + said[1:]
        return said if low == high else f"{said} All witnesses together support {spread}."

    def curves(self) -> dict[str, list[Curve]]:
        """What the picture shows: curves by the label of their axis."""
        table, ranks = self.table, self.table.ranks
        means = table.held_out.mean(axis=0)
        errors: list[Curve] = [
            ("error", ranks, _plain(table.error)),
            ("held-out error", ranks, _plain(means)),
        ]
        if table.floor is not None:
            errors.append((FLOOR, ranks, _plain(table.floor)))
        found: dict[str, list[Curve]] = {
            "relative error": errors,
            "agreement over resamples": [
                ("mean cosine", ranks, _plain(table.agreement)),
                ("least cosine", ranks, _plain(table.least_agreement)),
                ("silhouette", ranks, _plain(table.silhouette)),
            ],
        }
        if table.spectrum is not None:
            shown = range(1, min(max(ranks) + 3, len(table.spectrum.values)) + 1)
            noise = table.spectrum.noise
            found["singular value"] = [
                ("data", shown, _plain(table.spectrum.values[: len(shown)])),
                ("noise", range(1, len(noise) + 1), _plain(noise)),
            ]
        if table.coherence is not None:
            found["coherence (NPMI)"] = [("coherence", ranks, _plain(table.coherence))]
        return found

    def plot(self, backend: Backend = "plotly") -> Any:
        """All curves over the number of components as one figure.

        Parameters
        ----------
        backend : {"plotly", "matplotlib"}, default "plotly"
            Which package draws (extra `plot`).

        Returns
        -------
        plotly.graph_objects.Figure or matplotlib.figure.Figure
            The chosen number is marked by a line.
        """
        return plot_curves(
            self.curves(),
            "number of components",
            self.verdict,
            backend,
            mark=self.n_components,
            log=("singular value",),
        )

    def header(self) -> list[str]:
        """The columns of the table."""
        names = ["K", "error", "floor", "held out", "+/-", "agreement", "silhouette"]
        names += ["value/noise"] if self.table.spectrum is not None else []
        return names + (["NPMI"] if self.table.coherence is not None else [])

    def rows(self) -> list[list[str]]:
        """The table as texts, a line for each number."""
        table = self.table
        means = table.held_out.mean(axis=0)
        spread = table.held_out.std(axis=0)
        lines = []
        for place, k in enumerate(table.ranks):
            line = [str(k), _error(table.error[place])]
            line.append("-" if table.floor is None else _error(table.floor[place]))
            line += [_error(means[place]), f"{spread[place]:.2g}", f"{table.agreement[place]:.2f}"]
            silhouette = table.silhouette[place]
            line.append("-" if np.isnan(silhouette) else f"{silhouette:.2f}")
            if table.spectrum is not None:
                noise = table.spectrum.noise
                inside = k <= len(noise) and noise[k - 1] > 0
                line.append(f"{table.spectrum.values[k - 1] / noise[k - 1]:.2f}" if inside else "-")
            if table.coherence is not None:
                line.append(f"{table.coherence[place]:.2f}")
            lines.append(line)
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        table = self.table
        spectrum = table.spectrum
        return {
            "shape": list(self.shape),
            "n_components": self.n_components,
            "range": None if self.range is None else list(self.range),
            "verdict": self.verdict,
            "witnesses": [vars(witness).copy() for witness in self.witnesses],
            "ranks": list(table.ranks),
            "error": _plain(table.error),
            "floor": None if table.floor is None else _plain(table.floor),
            "held_out": [_plain(row) for row in table.held_out],
            "agreement": _plain(table.agreement),
            "least_agreement": _plain(table.least_agreement),
            "silhouette": _plain(table.silhouette),
            "coherence": None if table.coherence is None else _plain(table.coherence),
            "singular_values": None if spectrum is None else _plain(spectrum.values),
            "noise": None if spectrum is None else _plain(spectrum.noise),
            "notes": list(self.notes),
        }

    def text(self, width: int = WIDTH) -> str:
        """The table, what each witness says and the verdict, in lines of at most this width."""
        lines = [*table_lines(self.header(), self.rows(), width), ""]
        hanging = " " * min(21, width // 4)
        for witness in self.witnesses:
            number = "-" if witness.n_components is None else str(witness.n_components)
            said = f"{witness.name:16}{number:>3}  {witness.reason}"
            lines += wrap(said, width, subsequent_indent=hanging)
        lines += ["", *wrap(self.verdict, width)]
        return "\n".join(lines + [line for note in self.notes for line in wrap(note, width)])

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"RankChoice(n_components={self.n_components}, range={self.range})"

    def _repr_html_(self) -> str:
        """The verdict first, then the witnesses and the table."""
        said = "".join(
            f"<li>{escape(w.name)}: {'-' if w.n_components is None else w.n_components}, "
            f"{escape(w.reason)}</li>"
            for w in self.witnesses
        )
        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.header())
        body = "".join(
            f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in self.rows()
        )
        return (
            f"<div><p>{escape(self.verdict)}</p><ul>{said}</ul>"
            f"<table><tr>{head}</tr>{body}</table></div>"
        )


def _plain(values: Floats) -> list[float | None]:
    return [finite_or_none(float(value)) for value in values]


def _error(value: float) -> str:
    """Four decimals, or two digits where those would be zeros."""
    return f"{value:.4f}" if value == 0 or not value < 1e-3 else f"{value:.1e}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
