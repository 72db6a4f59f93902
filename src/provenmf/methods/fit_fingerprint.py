"""What a fit is recognized by when it goes on from a checkpoint."""

from __future__ import annotations

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

import provenmf
from provenmf.data import Blocks
from provenmf.data.door import fingerprint_of
from provenmf.errors import InvalidInput
from provenmf.methods.checkpoint import Checkpoint, Keeper

# Parameters that change neither the iterations nor what they compute; one may ask for more of them.
FREE = ("max_iter", "certify", "verbose", "callback", "on_interrupt")


def keeper_of(
    estimator: Any, blocks: Blocks, checkpoint: str | Path | Checkpoint | None
) -> Keeper | None:
    """The checkpoint of this fit, or a refusal if the folder belongs to another one."""
    if checkpoint is None:
        return None
    if isinstance(checkpoint, (str, Path)):
        checkpoint = Checkpoint(checkpoint)
    if not isinstance(checkpoint, Checkpoint):
        raise InvalidInput(
            "is not a folder", argument="checkpoint", value=checkpoint, remedy="give a path"
        )
    parameters = estimator.get_params(deep=False)
    identity = {
        "method": type(estimator).__name__,
        "data": fingerprint_of(blocks),
        "version": provenmf.__version__,
    }
    for name, value in parameters.items():
        if name not in FREE:
            identity[f"parameter {name}"] = recognizable(value)
    return Keeper(checkpoint, identity)


def recognizable(value: object) -> str:
    """A short text that differs where the value does; arrays by a hash of their bytes."""
    if isinstance(value, np.ndarray):
        digest = blake2b(np.ascontiguousarray(value).tobytes(), digest_size=8).hexdigest()
        return f"array {value.shape} {value.dtype} {digest}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(recognizable(item) for item in value)}]"
    if isinstance(value, np.random.RandomState):
        return "RandomState"  # the seed that it gave is kept
    if isinstance(value, np.generic):
        value = value.item()
    try:
        return json.dumps(value)
    except TypeError:
        return type(value).__name__ + " " + str(value)
