"""Factorize the cells of an AnnData object, in the manner of scanpy's tools.

    provenmf.tl.nmf(adata, 10)

writes usages to `obsm`, programs and marker scores to `varm`, and the verdict to `uns`.

Preparation and marker scores follow the practice of consensus NMF (Kotliar et al. 2019): variable
genes are scaled to unit variance, programs are found in them, and all genes are then regressed on
the usages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.advice.automatic import factorize
from provenmf.applications.confirm import confirm
from provenmf.arguments import Within, checked
from provenmf.errors import InvalidInput
from provenmf.linalg.nnls import nonnegative_least_squares
from provenmf.linalg.norms import entry_range
from provenmf.linalg.storage import check_scale, float_type
from provenmf.results import as_answer
from provenmf.results.display import summary

if TYPE_CHECKING:
    from anndata import AnnData

    from provenmf.methods import RandomState

__all__ = ["nmf"]

Floats = NDArray[np.float64]
CHUNK = 4096  # rows that are worked on together
MARKERS = 30  # names of genes listed for each program


@checked()
def nmf(
    adata: AnnData,
    n_components: int | str | None = None,
    *,
    n_genes: Annotated[int, Within(1)] | None = 2000,
    layer: str | None = None,
    method: str = "hals",
    evidence: bool = True,
    key_added: str = "provenmf",
    random_state: RandomState = None,
) -> None:
    """Find gene programs of cells and write them into the AnnData object.

    Parameters
    ----------
    adata : AnnData
        Cells in rows, genes in columns; nonnegative counts or expression. In memory, backed by a
        file, or with Dask arrays.
    n_components : int, "auto" or None, default=None
        Number of programs; chosen from the data if it is omitted, see `choose_rank`.
    n_genes : int or None, default=2000
        Find programs in this many of the most variable genes, scaled to unit variance. None uses
        all genes as they are.
    layer : str or None, default=None
        Layer to use instead of `adata.X`.
    method : str, default="hals"
        Method of `factorize`.
    evidence : bool, default=True
        Judge every program on cells that were not used to find it, see `confirm`.
    key_added : str, default="provenmf"
        Name of the entries in `obsm`, `varm` and `uns`.
    random_state : int, RandomState or None, default=None
        Random seed.

    Notes
    -----
    The entries are `varm["<key>"]`, the programs over all genes, each with a sum of one;
    `obsm["X_<key>"]`, how much of each cell's expression belongs to each program;
    `varm["<key>_markers"]`, how specific each gene is for each program: the coefficients of the
    standardized gene on the usages; `uns["<key>"]`, the verdict, the marker genes of each program
    and what was done to the data.

    Examples
    --------
    >>> import numpy as np
    >>> import provenmf
    >>> from anndata import AnnData
    >>> rng = np.random.default_rng(0)
    >>> programs = rng.gamma(0.3, size=(3, 50))
    >>> cells = AnnData(rng.poisson(rng.dirichlet([0.2] * 3, 120) @ programs * 20).astype(float))
    >>> provenmf.tl.nmf(cells, 3, n_genes=30, random_state=0)
    >>> cells.obsm["X_provenmf"].shape, cells.varm["provenmf"].shape
    ((120, 3), (50, 3))
    """
    if not hasattr(adata, "obsm"):
        raise InvalidInput(f"adata is of type {type(adata).__name__}: give an AnnData object")
    if layer is not None and layer not in adata.layers:
        known = f"must be one of {sorted(adata.layers)}"
        raise InvalidInput(known, argument="layer", value=layer)
    matrix = adata.X if layer is None else adata.layers[layer]
    if matrix is None:
        raise InvalidInput("adata.X is empty: name a layer", argument="layer", value=None)
    if 0 in matrix.shape:
        raise InvalidInput(f"adata has shape {matrix.shape}: cells and genes are needed")
    genes, deviations, notes = _variable_genes(matrix, n_genes)
    chosen = matrix
    if n_genes is not None or not (_in_memory(matrix) or hasattr(matrix, "compute")):
        chosen = _gather(matrix, genes, 1.0 if n_genes is None else deviations[genes])
    result = factorize(chosen, n_components, method=method, random_state=random_state)
    if evidence:
        result = confirm(chosen, result)
    answer = as_answer(result)
    usages = np.asarray(answer.weights, dtype=np.float64)
    programs, markers = _all_genes(matrix, usages, deviations)
    totals = np.maximum(programs.sum(axis=1), np.finfo(float).tiny)
    usages, programs = usages * totals, programs / totals[:, None]
    names = np.asarray(adata.var_names, dtype=object)
    adata.obsm[f"X_{key_added}"] = usages
    adata.varm[key_added] = programs.T
    adata.varm[f"{key_added}_markers"] = markers.T
    adata.uns[key_added] = summary(answer) | {
        "markers": np.array([names[np.argsort(-row)[:MARKERS]] for row in markers], dtype=object),
        "notes": np.array([*notes, *answer.notes], dtype=object),
    }


def _in_memory(matrix: Any) -> bool:
    return isinstance(matrix, np.ndarray) or sp.issparse(matrix)


def _chunks(matrix: Any) -> Iterator[tuple[slice, Any]]:
    """Yield slices of rows with their entries in double precision, as a dense array or CSR."""
    matrix = sp.csr_array(matrix) if sp.issparse(matrix) else matrix
    for start in range(0, matrix.shape[0], CHUNK):
        rows = slice(start, min(start + CHUNK, matrix.shape[0]))
        part = matrix[rows]
        part = part.compute() if hasattr(part, "compute") else part
        part = sp.csr_array(part) if sp.issparse(part) else np.asarray(part)
        float_type(part.dtype, "adata")  # refuses what is no number
        yield rows, part.astype(np.float64, copy=False)


def _variable_genes(matrix: Any, n_genes: int | None) -> tuple[Any, Floats, list[str]]:
    """Return the most variable genes, the standard deviation of all genes, and notes.

    Genes are ranked by the variance of their share in the cells relative to that of genes with a
    similar mean: the ratio of variance and mean, standardized in 20 bins of the mean.
    """
    n, sums, squares, shares, share_squares = 0, 0.0, 0.0, 0.0, 0.0
    for _, part in _chunks(matrix):
        _check_entries(part)
        totals = np.asarray(part.sum(axis=1)).ravel()
        scaled = sp.diags_array(1 / np.maximum(totals, np.finfo(float).tiny)) @ part
        n, sums, squares = n + part.shape[0], sums + part.sum(axis=0), squares + _squared(part)
        shares, share_squares = shares + scaled.sum(axis=0), share_squares + _squared(scaled)
    deviations = np.sqrt(np.maximum(np.asarray(squares / n - (sums / n) ** 2), 0)).ravel()
    if n_genes is None:
        return slice(None), deviations, []
    mean = np.asarray(shares / n).ravel()
    varied = np.flatnonzero((deviations > 0) & (mean > 0))
    if not len(varied):
        raise InvalidInput("no gene varies over the cells: nothing can be found")
    mean_square = np.asarray(share_squares / n).ravel()
    ratio = mean_square[varied] / mean[varied] - mean[varied]
    ratio = np.log(np.maximum(ratio, 1e-300))  # of equal shares it may round below zero
    order = np.argsort(mean[varied], kind="stable")
    score = np.empty(len(varied))
    for members in np.array_split(order, min(20, max(1, len(varied) // 10))):
        off = ratio[members] - np.median(ratio[members])
        score[members] = off / (np.median(np.abs(off)) or 1.0)
    genes = np.sort(varied[np.argsort(-score, kind="stable")[:n_genes]])
    note = (
        f"Programs were found in the {len(genes):,} most variable of {len(mean):,} genes, each "
        "scaled to unit variance; all genes were then regressed on the usages."
    )
    return genes, deviations, [note]


def _check_entries(part: Any) -> None:
    """Refuse entries that are negative, missing, infinite or of a size whose squares overflow."""
    least, largest = entry_range(part)
    if not np.isfinite(largest - least):
        raise InvalidInput("adata has entries that are not finite numbers: fill or remove them")
    if least < 0:
        raise InvalidInput(
            "adata has negative entries: use counts or expression before centering, such as a "
            "layer or adata.raw.to_adata()"
        )
    check_scale(largest, "adata")


def _squared(part: Any) -> Any:
    """Return the column sums of the squared entries."""
    return (part.multiply(part) if sp.issparse(part) else part**2).sum(axis=0)


def _gather(matrix: Any, genes: Any, deviations: Floats | float) -> Any:
    """Return some columns in memory, divided by their standard deviations."""
    parts = [part[:, genes] / deviations for _, part in _chunks(matrix)]
    return sp.csr_array(sp.vstack(parts)) if sp.issparse(parts[0]) else np.vstack(parts)


def _all_genes(matrix: Any, usages: Floats, deviations: Floats) -> tuple[Floats, Floats]:
    """Regress all genes on the usages: nonnegative programs, and coefficients of z-scores."""
    cross, sums = np.zeros((matrix.shape[1], usages.shape[1])), np.zeros(matrix.shape[1])
    for rows, part in _chunks(matrix):
        cross += part.T @ usages[rows]
        sums += np.asarray(part.sum(axis=0)).ravel()
    programs = nonnegative_least_squares(usages.T @ usages, cross).T
    centered = usages - usages.mean(axis=0)
    spread = centered.std(axis=0)
    spread[spread <= 1e-12 * usages.max(axis=0)] = np.inf  # the same in all cells: no markers
    scale = np.where(deviations > 0, deviations, 1.0)
    moments = (cross.T - np.outer(usages.mean(axis=0), sums)) / np.outer(spread, scale)
    gram = centered.T @ centered / np.outer(spread, spread)
    markers = np.linalg.lstsq(gram, moments, rcond=None)[0]
    return programs.astype(np.float64), markers.astype(np.float64)
