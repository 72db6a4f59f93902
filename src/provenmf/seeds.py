"""numpy's generators from what users give as `random_state`."""

from __future__ import annotations

import numpy as np

from provenmf.errors import InvalidInput

RandomState = int | np.random.RandomState | np.random.Generator | None


def generator(random_state: RandomState) -> np.random.Generator:
    """The generator of a seed or of a RandomState; a Generator itself; None for a new one."""
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(np.iinfo(np.int32).max))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            "is no seed",
            argument="random_state",
            value=random_state,
            remedy="give {argument=0} or another whole number that is not negative, or None",
        ) from error
