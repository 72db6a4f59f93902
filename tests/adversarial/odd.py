"""The same numbers in odd containers, odd parameters, and what scikit-learn does to estimators."""

from __future__ import annotations

import copy
import io
import os
import pickle
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
import pandas as pd
import scipy.sparse as sp
from matrices import Rng, fingerprint, sane_or_not, unsorted
from options import FUNCTIONS, ODD
from oracles import answered, check_fit, hold

from estimators import estimator, fitted
from provenmf import SPA, certify, find_parts
from provenmf.methods import CATALOGUE, make_estimator

# Files that are mapped into memory: a fit looks whether they change, so they must outlive it.
MAPPED = tempfile.TemporaryDirectory()


class Subclass(np.ndarray):
    """An array of a class of its own."""


class OnlyArray:
    """What numpy can make an array of, and nothing more."""

    def __init__(self, X: np.ndarray) -> None:
        self.X, self.shape = X, X.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.X, dtype=dtype)


def frame(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])


def polars(X: np.ndarray) -> Any:
    import polars

    return polars.DataFrame({f"c{j}": X[:, j] for j in range(X.shape[1])})


def arrow(X: np.ndarray) -> Any:
    import pyarrow

    return pyarrow.table({f"c{j}": X[:, j] for j in range(X.shape[1])})


def xarray(X: np.ndarray) -> Any:
    import xarray

    return xarray.DataArray(X, dims=("row", "column"))


def dask(X: np.ndarray) -> Any:
    import dask.array

    return dask.array.from_array(X, chunks=(max(1, len(X) // 2), -1))


def memory_map(mode: str) -> Callable[[np.ndarray], Any]:
    def mapped(X: np.ndarray) -> Any:
        file, path = tempfile.mkstemp(suffix=".npy", dir=MAPPED.name)
        os.close(file)
        np.save(path, X)
        return np.load(path, mmap_mode=mode)  # type: ignore[call-overload]

    return mapped


def with_zeros_stored(X: np.ndarray) -> sp.csr_array:
    found = sp.csr_array(np.ones(X.shape))
    found.data[:] = X.ravel()
    return found


def backwards(X: np.ndarray) -> sp.csr_array:
    """Arrays that run backwards through their memory."""
    found = sp.csr_array(X)
    found.data, found.indices = found.data[::-1].copy()[::-1], found.indices[::-1].copy()[::-1]
    return found


def wide_indices(X: np.ndarray) -> sp.csr_array:
    found = sp.csr_array(X)
    found.indices, found.indptr = found.indices.astype(np.int64), found.indptr.astype(np.int64)
    return found


def columns(found: pd.DataFrame, names: Any) -> pd.DataFrame:
    return found.set_axis(names, axis=1)


SPARSE_FRAME = "frame, sparse"
CONTAINERS: dict[str, Callable[[np.ndarray], Any]] = {
    "frame": frame,
    "frame, numbered": pd.DataFrame,
    "frame, names twice": lambda X: columns(frame(X), ["a"] * X.shape[1]),
    "frame, mixed names": lambda X: columns(frame(X), [0, *map(str, range(1, X.shape[1]))]),
    "frame, names are pairs": lambda X: columns(frame(X), [("a", j) for j in range(X.shape[1])]),
    "frame, odd index": lambda X: frame(X).set_index(pd.Index(["r"] * len(X))),
    "frame, empty name": lambda X: columns(frame(X), ["", *frame(X).columns[1:]]),
    "frame, categories": lambda X: frame(X).astype("category"),
    "frame, one category": lambda X: frame(X).astype({"c0": "category"}),
    "frame, objects": lambda X: frame(X).astype(object),
    "frame, one object": lambda X: frame(X).astype({"c0": object}),
    "frame, nullable": lambda X: frame(X).astype("Float64"),
    "frame, arrow": lambda X: frame(X).astype("double[pyarrow]"),
    SPARSE_FRAME: lambda X: frame(X).astype(pd.SparseDtype(float, 0.0)),
    "frame, sparse, ones left out": lambda X: frame(X).astype(pd.SparseDtype(float, 1.0)),
    "frame, sparse, NaN left out": lambda X: frame(X).astype(pd.SparseDtype(float, np.nan)),
    "frame, one sparse": lambda X: frame(X).astype({"c0": pd.SparseDtype(float, 0.0)}),
    "frame, texts": lambda X: frame(X).astype(str),
    "polars": polars,
    "arrow": arrow,
    "xarray": xarray,
    "dask": dask,
    "map r": memory_map("r"),
    "map r+": memory_map("r+"),
    "map c": memory_map("c"),
    "subclass": lambda X: X.view(Subclass),
    "matrix": lambda X: np.asmatrix(X),
    "only an array": OnlyArray,
    "fortran": np.asfortranarray,
    "other bytes": lambda X: X.astype(">f8"),
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "objects": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
    "tuple of rows": lambda X: tuple(X),
    "memoryview": lambda X: memoryview(np.ascontiguousarray(X)),
    "texts": lambda X: X.astype(str),
    "complex": lambda X: X.astype(complex),
    "csr_matrix": sp.csr_matrix,
    "csc": sp.csc_array,
    "lil": sp.lil_array,
    "dok": sp.dok_array,
    "dia": sp.dia_array,
    "bsr": sp.bsr_array,
    "unsorted": unsorted,
    "zeros stored": with_zeros_stored,
    "arrays backwards": backwards,
    "wide indices": wide_indices,
}
IN_BLOCKS = ("dask", "map r", "map r+", "map c")  # where sums round otherwise
SEEDS = (np.random.RandomState(0), np.random.default_rng(0), np.random, np.uint32(2**32 - 1), 2**32)
SHAPES = ((0, 3), (3, 0), (0, 0), (1, 1), (1, 5), (5, 1), (2, 2), (5,), (), (2, 3, 4))


def contained(rng: Rng) -> str:
    """Numbers in an odd container give the answer of a plain array or are refused."""
    n, d = int(rng.integers(2, 20)), int(rng.integers(1, 8))
    X = sane_or_not(rng, n_rows=n, n_columns=d)
    name = list(CONTAINERS)[rng.integers(len(CONTAINERS))]
    data = CONTAINERS[name](X)
    before = fingerprint(data) if isinstance(data, np.ndarray) or sp.issparse(data) else ""
    model = estimator(rng, X.shape)
    plain = sp.csr_array(X) if sp.issparse(data) or name == SPARSE_FRAME else X
    expected = fitted(type(model)(**model.get_params()), plain)
    found = fitted(type(model)(**model.get_params()), data)
    if before:
        hold(fingerprint(data) == before, f"{name}: changed")
    if expected is None:
        hold(found is None, f"{name}: an array is refused, this is not: {model}")
    if found is None or expected is None:
        return f"{name} refused"
    check_fit(found, data if sp.issparse(data) else plain, single=False)
    certify(data, found.factorization_)
    if name not in (*IN_BLOCKS, "zeros stored"):  # a stored zero is an entry, too
        same = found.components_.tobytes() == expected.components_.tobytes()
        hold(same, f"{name}: another answer than for a plain array: {model}")
    return f"{name} fitted"


def shaped(rng: Rng) -> str:
    """Arrays without rows, without columns, with one of them, or that are no matrices."""
    shape = SHAPES[rng.integers(len(SHAPES))]
    X = rng.random(shape)
    data: Any = sp.csr_array(X) if len(shape) == 2 and rng.random() < 0.3 else X
    model = make_estimator(str(rng.choice(sorted(CATALOGUE))), 2, random_state=0)
    other = SPA(1).fit(rng.random((6, 3)))
    calls: list[Callable[[Any], Any]] = [model.fit, other.transform, other.score]
    calls += [other.inverse_transform, lambda X: find_parts(X, 1, shape=(1, 5))]
    calls += [lambda X, f=f: f(X, 1) for f in FUNCTIONS]
    return answered("shape", lambda: calls[rng.integers(len(calls))](data))


def parameters(rng: Rng) -> str:
    """Numbers of components and seeds of types that nobody expects, and copies of the estimator."""
    k: Any = ODD[rng.integers(len(ODD))] if rng.random() < 0.5 else 2
    seed: Any = (*ODD, *SEEDS)[rng.integers(len(ODD) + len(SEEDS))]
    model = make_estimator(str(rng.choice(sorted(CATALOGUE))), k, random_state=seed)
    return answered("parameters", lambda: _used(model, rng.random((12, 5))))


def _used(model: Any, X: np.ndarray) -> None:
    """Everything that follows a fit, also from a copy of any kind."""
    found = model.fit(X)
    check_fit(found, X, single=False)
    file = io.BytesIO()
    joblib.dump(found, file)
    file.seek(0)
    for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found), joblib.load(file)):
        same = again.transform(X).tobytes() == found.transform(X).tobytes()
        hold(same, "a copy of an estimator gives other weights")
        hold(again.factorization_ == found.factorization_, "a copy has another record")
    hold(np.isfinite(found.score(X)), "no score")
    certify(X, found.factorization_)
    repr(found), found._repr_html_(), str(found.factorization_), found.get_feature_names_out()


def in_scikit_learn(rng: Rng) -> str:
    """Pipelines, searches and frames as outputs."""
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler

    X = frame(rng.random((15, 5)))
    model = make_estimator(str(rng.choice(sorted(CATALOGUE))), 2, random_state=0)
    if "max_iter" in model.get_params():
        model.set_params(max_iter=10)

    def framed() -> None:
        out = clone(model).set_output(transform="pandas").fit_transform(X)
        hold(isinstance(out, pd.DataFrame) and out.shape == (15, 2), f"no frame: {type(out)}")
        hold(len(set(out.columns)) == 2 and (out.index == X.index).all(), "other names")
        polars_out = clone(model).set_output(transform="polars").fit_transform(X)
        hold(polars_out.shape == (15, 2), "no frame of polars")

    def renamed() -> None:
        found = clone(model).fit(X)
        found.transform(X[X.columns[::-1]])
        raise AssertionError("columns in another order are taken")

    def searched() -> None:
        search = GridSearchCV(clone(model), {"n_components": [1, np.int64(2)]}, cv=2)
        hold(np.isfinite(search.fit(X).best_score_), "no score")

    def piped() -> None:
        pipe = make_pipeline(MinMaxScaler(), clone(model)).fit(X)
        hold(pipe.transform(X).shape == (15, 2), "other shape")
        copied = pickle.loads(pickle.dumps(clone(pipe).set_params()))
        hold(copied.get_params().keys() == pipe.get_params().keys(), "parameters are lost")

    calls = [framed, renamed, searched, piped]
    return answered("scikit-learn", calls[rng.integers(len(calls))])


KINDS = (contained, contained, shaped, parameters, in_scikit_learn)


def case(rng: Rng) -> str:
    """One use."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return KINDS[rng.integers(len(KINDS))](rng)
