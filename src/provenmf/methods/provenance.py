"""How a result was made, for its record: parameters and versions."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy
import sklearn

import provenmf

# Names that parameters had in records of version 0.1.
RENAMED = {"weights": "constraint", "normalize": "scale_rows", "warm_start_from": "init"}
NOT_RECORDED = ("callback", "on_interrupt")


def current_names(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a record, whatever version wrote it, by the names of this one."""
    return {RENAMED.get(name, name): value for name, value in parameters.items()}


def plain_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as JSON can hold them, arrays by a short description."""

    def plain(value: object) -> Any:
        if isinstance(value, np.ndarray):
            return f"array of shape {value.shape}"
        if isinstance(value, np.generic):  # as a search over np.arange(2, 9) gives them
            value = value.item()
        try:
            return json.loads(json.dumps(value))
        except TypeError:
            return repr(value)

    return {name: plain(value) for name, value in parameters.items() if name not in NOT_RECORDED}


def versions() -> dict[str, str]:
    """Of everything whose release may change a result."""
    return {
        "provenmf": provenmf.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
