"""Answers in the containers of other packages, which are imported only here and only when asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from provenmf.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    import anndata
    import xarray

    from provenmf.results.answers import Answer


KEY = "provenmf"


def to_anndata(answer: Answer, data: anndata.AnnData | None = None) -> anndata.AnnData:
    """Return an AnnData with weights and components; see `Answer.to_anndata`."""
    try:
        from anndata import AnnData
    except ImportError as error:
        raise MissingExtra("to_anndata", "export") from error
    n, d = len(answer.weights), answer.components.shape[1]
    if data is None:
        data = AnnData(shape=(n, d))
        data.obs_names = unique_names(answer.row_names)
        data.var_names = unique_names(answer.column_names)
    elif data.shape != (n, d):
        raise InvalidInput(
            f"the AnnData has shape {data.shape}, the answer {(n, d)}: give the one that was "
            "factorized, or none"
        )
    else:
        data = data.copy()
    data.obsm[f"X_{KEY}"] = np.asarray(answer.weights)
    data.varm[KEY] = np.asarray(answer.components).T
    data.uns[KEY] = summary(answer)
    return data


def to_xarray(answer: Answer) -> xarray.Dataset:
    """Return a Dataset of weights and components with names; see `Answer.to_xarray`."""
    try:
        import xarray
    except ImportError as error:
        raise MissingExtra("to_xarray", "export") from error
    component, row, column = answer.words.component, answer.words.row, answer.words.column
    return xarray.Dataset(
        {
            "weights": ((row, component), np.asarray(answer.weights)),
            "components": ((component, column), np.asarray(answer.components)),
            "share": (component, answer.share),
        },
        coords={
            component: list(answer.component_names),
            row: list(answer.row_names),
            column: list(answer.column_names),
        },
        attrs={name: value for name, value in summary(answer).items() if isinstance(value, str)},
    )


def summary(answer: Answer) -> dict[str, Any]:
    """Return what any container can hold about an answer besides its arrays."""
    verdict = answer.certificate.verdict if answer.certificate else ""
    version = answer.factorization.versions.get("provenmf", "")
    return {
        "kind": answer.kind,
        "method": answer.factorization.method,
        "version": str(version),
        "verdict": verdict,
        "component_names": np.array(answer.component_names, dtype=object),
    }


def unique_names(names: Any) -> list[str]:
    """Make names unique; later ones get a number."""
    seen: dict[str, int] = {}
    unique = []
    for name in map(str, names):
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return unique
