"""An answer in the terms of an application; what its `find_*` function returns, saved whole.

An application factorizes a derived matrix (words in projected coordinates, groups of
pixels, …). Its answer derives from `Answer`: a frozen record whose fields are arrays and plain
values, so that saving, loading, comparing, tables and reports need to know no more than the
fields and the few properties here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import InvalidInput, optional
from provenmf.results.certificate import Certificate
from provenmf.results.display import Record, component_lines, summary
from provenmf.results.estimates import ErrorBars, plural
from provenmf.results.factorization import Factorization

if TYPE_CHECKING:
    import anndata
    import pandas
    import xarray

Bounds = Literal["standard_errors", "lower", "upper"]

# Names of components, rows and columns: stored, or made from a word and a number.


def names_of_largest(entries: NDArray[Any], names: Sequence[str], n: int) -> list[list[str]]:
    """Return the names of the n largest columns of each row, largest first."""
    order = np.argsort(-entries, axis=1, kind="stable")[:, :n]
    return [[names[column] for column in row] for row in order]


def numbered(word: str, length: int) -> tuple[str, ...]:
    """Return the names `word 1`, `word 2`, …"""
    return tuple(f"{word} {number}" for number in range(1, length + 1))


def stored_or_numbered(
    stored: NDArray[np.str_] | Sequence[str] | None, word: str, length: int
) -> Sequence[str]:
    """Return the stored names, or numbered ones where there are none."""
    return numbered(word, length) if stored is None else [str(name) for name in stored]


# The one registry over the kinds of answer: each class enters itself under its `kind`.
ANSWERS: dict[str, type[Answer]] = {}

PART = 2**17  # rows that are added up together


@dataclass(frozen=True)
class Words:
    """Names for readers: heading, component, row, column, largest entries."""

    title: str
    component: str
    row: str
    column: str
    largest: str = "largest entries"


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading the data of an answer from a file; an application uses what it needs."""

    key: str | None = None
    vocabulary: Path | None = None
    field: str = "text"
    mail: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Record):
    """Base of all answers; by itself the answer of a plain matrix, which is its factorization.

    Parameters
    ----------
    factorization : Factorization
        Of the matrix that the application made; its certificate is about that matrix.
    notes : tuple of str
        What was done to the data, one sentence each.
    component_names : tuple of str
        Numbered by default ("Topic 1", …).
    error_bars : ErrorBars or None
        How far off the entries of the components, or of the weights, may be: estimated; None if
        they were not asked for.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import numpy as np
    >>> from provenmf.results import Answer, Factorization
    >>> answer = Answer(Factorization("spa", np.ones((5, 2)), np.ones((2, 3))))
    >>> answer.component_names
    ('Component 1', 'Component 2')
    >>> replace(answer, component_names=("day", "night")).share.tolist()
    [0.5, 0.5]
    """

    kind: ClassVar[str] = "matrix"
    words: ClassVar[Words] = Words("Factorization", "component", "row", "column")

    factorization: Factorization
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    component_names: tuple[str, ...] = field(default=(), kw_only=True)
    error_bars: ErrorBars | None = field(default=None, kw_only=True)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.kind == Answer.kind:
            raise TypeError(f"{cls.__name__} needs its own kind")
        ANSWERS[cls.kind] = cls

    def __post_init__(self) -> None:
        k = self.n_components
        if not self.component_names:
            word = self.words.component.capitalize()
            given = self.factorization.component_names
            names = numbered(word, k) if given is None else tuple(map(str, given))
            object.__setattr__(self, "component_names", names)
        if len(self.component_names) != k:
            raise InvalidInput(f"{len(self.component_names)} component_names for {k} components")
        evidence = None if self.certificate is None else self.certificate.evidence
        if evidence is not None and len(evidence.judgements) != k:
            raise InvalidInput(f"evidence for {len(evidence.judgements)} of {k} components")

    @property
    def weights(self) -> NDArray[Any]:
        """Amount of each component (columns) in each row: (rows, k)."""
        return self.factorization.weights

    @property
    def components(self) -> NDArray[Any]:
        """Each component (rows) in the columns of the data: (k, columns)."""
        return self.factorization.components

    @property
    def row_names(self) -> Sequence[str]:
        """A name for each row of `weights`."""
        return stored_or_numbered(
            self.factorization.row_names, self.words.row, self.weights.shape[0]
        )

    @property
    def column_names(self) -> Sequence[str]:
        """A name for each column of `components`."""
        return stored_or_numbered(
            self.factorization.column_names, self.words.column, self.components.shape[1]
        )

    @property
    def n_components(self) -> int:
        """Number of components."""
        return int(self.weights.shape[1])

    @property
    def certificate(self) -> Certificate | None:
        """Certificate of the factorization behind the answer."""
        return self.factorization.certificate

    @property
    def standard_errors(self) -> NDArray[np.float64] | None:
        """Standard errors of the components, or of the weights; None if not asked for."""
        return None if self.error_bars is None else self.error_bars.standard_errors

    @property
    def share(self) -> NDArray[np.float64]:
        """Share of all entries (of all counts, say) that each component makes; sums to 1."""
        return shares(self.weights * np.abs(self.components).sum(axis=1))

    @property
    def found_by(self) -> str:
        """Source of the components: the method, unless the answer names another."""
        return self.factorization.method

    def anchor_name(self, component: int) -> str:
        """Return the name of the anchor of a component; empty if there is none."""
        anchors = self.factorization.anchors
        return "" if anchors is None else self.row_names[int(anchors[self._place(component)])]

    def _place(self, component: int) -> int:
        """Return the index of a component; raise an error if there is none."""
        if not 0 <= component < self.n_components:
            last = self.n_components - 1
            raise InvalidInput(f"must be from 0 to {last}", argument="component", value=component)
        return component

    def largest(self, n: int = 10) -> list[list[str]]:
        """Return the names of the largest entries of each component, largest first."""
        return names_of_largest(self.components, self.column_names, n)

    def scores(self) -> dict[str, float]:
        """Return measures of how good the answer is, by their meaning; empty if there are none."""
        return {}

    def row_facts(self) -> dict[str, NDArray[np.float64]]:
        """Return further numbers about each row, by their heading; empty if there are none."""
        return {}

    def factorized(self) -> str:
        """Describe the matrix that the certificate is about; empty if it is the user's own."""
        return ""

    def matrix_of(self, data: object) -> Any:
        """Build the matrix that was factorized from the data that the answer is about."""
        return data

    def read(self, path: Path, options: ReadOptions) -> Any:
        """Read the data behind the answer from a file, as `matrix_of` takes them."""
        from provenmf.io import read_matrix

        return read_matrix(path, options.key)

    def transform(self, data: object) -> NDArray[Any]:
        """Return the weights of new data for the components found."""
        raise InvalidInput(f"{type(self).__name__} has no transform: fit the new data too")

    def table(
        self,
        of: Literal["weights", "components"] | Bounds = "weights",
    ) -> pandas.DataFrame:
        """Return the weights, the components, or their error bars as a data frame with names.

        Parameters
        ----------
        of : {"weights", "components", "standard_errors", "lower", "upper"}, default="weights"
            "weights" has a line for each row of the data and a column for each component;
            "components" a line for each component. The others are the standard errors and both
            ends of the intervals of `error_bars`, in the form of that of the components.
        """
        pandas = optional("pandas", "a table", "files")
        names = list(self.component_names)
        if of == "weights":
            return pandas.DataFrame(self.weights, index=list(self.row_names), columns=names)
        if of == "components":
            return pandas.DataFrame(self.components, index=names, columns=list(self.column_names))
        if self.error_bars is None:
            raise InvalidInput(f"of={of!r} is not known: this answer has no error bars")
        frame = self.table("components")
        values = getattr(self.error_bars, of)
        return pandas.DataFrame(values, index=frame.index, columns=frame.columns)

    def tables(self) -> dict[str, pandas.DataFrame]:
        """Return the whole answer as tables: an overview, the weights and the components.

        Returns
        -------
        dict of str to pandas.DataFrame
            By a name in the words of the application, such as "document_weights" and "topics".
        """
        weights, components = self.table("weights"), self.table("components")
        weights.index.name, components.index.name = self.words.row, self.words.component
        largest = self.largest()
        overview = components.iloc[:, :0].assign(
            share=self.share,
            anchor=[self.anchor_name(number) for number in range(self.n_components)],
            largest=["; ".join(map(str, names)) for names in largest],
        )
        named = {"overview": overview, f"{self.words.row}_weights": weights}
        named |= {plural(self.words.component): components}
        if self.error_bars is not None:
            bars: tuple[Bounds, ...] = ("standard_errors", "lower", "upper")
            named |= {name: self.table(name) for name in bars}
        return named

    def to_anndata(self, data: anndata.AnnData | None = None) -> anndata.AnnData:
        """Return the answer as an AnnData: weights in `obsm`, components in `varm`.

        Parameters
        ----------
        data : AnnData, optional
            What was factorized; the answer is added to a copy of it. Without it the AnnData has
            names only.

        Returns
        -------
        AnnData
            With `obsm["X_provenmf"]`, `varm["provenmf"]` and, in `uns["provenmf"]`, the method, the
            verdict and the names of the components. Needs the extra `export`.
        """
        AnnData = optional("anndata", "to_anndata", "export").AnnData
        n, d = len(self.weights), self.components.shape[1]
        if data is None:
            data = AnnData(shape=(n, d))
            data.obs_names = list(map(str, self.row_names))
            data.var_names = list(map(str, self.column_names))
            data.obs_names_make_unique()
            data.var_names_make_unique()
        elif not isinstance(data, AnnData) or data.shape != (n, d):
            raise InvalidInput(
                f"is not an AnnData of shape {(n, d)}: give the one that was factorized, or none",
                argument="data",
                value=data,
            )
        else:
            data = data.copy()
        data.obsm["X_provenmf"] = np.asarray(self.weights)
        data.varm["provenmf"] = np.asarray(self.components).T
        data.uns["provenmf"] = summary(self)
        return data

    def to_xarray(self) -> xarray.Dataset:
        """Return the answer as an xarray Dataset with names; needs the extra `export`.

        Returns
        -------
        Dataset
            With `weights`, `components` and `share`, in the words of the application ("topic",
            "document", "word").
        """
        library = optional("xarray", "to_xarray", "export")
        component, row, column = self.words.component, self.words.row, self.words.column
        dataset: xarray.Dataset = library.Dataset(
            {
                "weights": ((row, component), np.asarray(self.weights)),
                "components": ((component, column), np.asarray(self.components)),
                "share": (component, self.share),
            },
            coords={
                component: list(self.component_names),
                row: list(self.row_names),
                column: list(self.column_names),
            },
            attrs={name: value for name, value in summary(self).items() if isinstance(value, str)},
        )
        return dataset

    def labelled(self, names: Mapping[int, str]) -> Self:
        """Return the answer with other names for some of its components.

        Parameters
        ----------
        names : mapping of int to str
            By the number of the component, counted from 1 as in "Topic 1".

        Examples
        --------
        >>> import numpy as np
        >>> from provenmf.results import Answer, Factorization
        >>> answer = Answer(Factorization("spa", np.ones((5, 2)), np.ones((2, 3))))
        >>> answer.labelled({2: "Sport"}).component_names
        ('Component 1', 'Sport')
        """
        new = list(self.component_names)
        for number, name in names.items():
            if not 1 <= number <= len(new):
                raise InvalidInput(
                    f"there is no {self.words.component} {number}: they are 1 to {len(new)}"
                )
            if not name.strip():
                raise InvalidInput(f"{self.words.component} {number} has an empty name: give one")
            new[number - 1] = name.strip()
        twice = next((name for name in new if new.count(name) > 1), None)
        if twice is not None:
            raise InvalidInput(f"two {plural(self.words.component)} would be called {twice!r}")
        fit = self.factorization
        if type(self) is Answer:  # a plain matrix is saved as its factorization
            fit = replace(fit, component_names=np.array(new, dtype=np.str_))
        return replace(self, component_names=tuple(new), factorization=fit)

    def __str__(self) -> str:
        """Return the components with their sizes and largest entries."""
        return "\n".join([repr(self), *component_lines(self)])

    def __repr__(self) -> str:
        word, row = self.words.component, self.words.row
        return (
            f"{type(self).__name__}({self.n_components} {plural(word)} of "
            f"{len(self.weights):,} {row}s, method={self.found_by!r})"
        )


def as_answer(result: Factorization | Answer) -> Answer:
    """Return the answer itself, or the plain answer of a factorization."""
    if isinstance(result, Answer):
        return result
    return Answer(result, notes=result.notes, error_bars=result.error_bars)


def shares(weights: NDArray[Any]) -> NDArray[np.float64]:
    """Return column sums of nonnegative weights as parts of one; missing weights count as zero."""
    parts = np.array_split(weights, 1 + len(weights) // PART)
    totals = sum(np.maximum(np.nan_to_num(part), 0).sum(axis=0, dtype=np.float64) for part in parts)
    return np.asarray(totals / max(totals.sum(), np.finfo(np.float64).tiny))
