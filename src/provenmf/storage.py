"""Dense and sparse blocks alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


def as_dense(block: Any) -> NDArray[Any]:
    """A dense or sparse block as an array; a dense one is not copied."""
    return block.toarray() if sp.issparse(block) else np.asarray(block)


def stored_values(block: Any) -> NDArray[Any]:
    """The entries that are stored: all of a dense block, those of a sparse one."""
    return block.data if sp.issparse(block) else np.asarray(block)
