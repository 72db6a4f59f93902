"""MATLAB files up to version 7.2; runs in the child of `guarded`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import scipy.sparse as sp

from provenmf.io import hdf5
from provenmf.io.limits import check_sparse_shape
from provenmf.linalg.storage import own_rows


def read_mat(path: Path) -> list[tuple[str, Any]]:
    """All variables: numbers as they are, other kinds as None."""
    import scipy.io

    try:
        variables = scipy.io.loadmat(path, squeeze_me=False)
    except NotImplementedError:  # version 7.3
        return hdf5.read_matlab(path)
    named = [(name, value) for name, value in variables.items() if not name.startswith("__")]
    for _, value in named:
        if sp.issparse(value):
            check_sparse_shape(path, value.shape, value.nnz)
    return [(n, own_rows(v, f"{path}:") if sp.issparse(v) else v) for n, v in named]
