"""What a method is like: the one place where its users look that up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Traits:
    """What a method is like, stated on its estimator as `traits`.

    Applications, the advisor and the command line choose methods by these; nobody keeps lists of
    names.

    Attributes
    ----------
    negative_data : bool, default=False
        Whether data may have negative entries.
    finds_number : bool, default=False
        Whether the method itself finds the number of components where it is not given. False
        leaves that to the start (`init`).
    anchors : bool, default=False
        Whether the components are rows of the data.
    missing_values : bool, default=False
        Whether data may have missing entries.
    random : {"never", "with options", "always"}, default="with options"
        Whether the method draws random numbers: never, with some of its options, or by default.
    block_by_block : bool, default=True
        Whether rows are read block by block, so that data on disk or in a Dask cluster are never
        gathered in memory.
    compares_rows : bool, default=False
        Whether rows are compared with one another and not with the components alone: more work
        than a few passes.
    advised : int or None, default=None
        Place among the methods that `provenmf.diagnose` tries; None is not tried.
    on_real_data : mapping, default={}
        Parameters for data that follow no model, where the defaults are not for these.

    Examples
    --------
    >>> from provenmf import SPA, HALS
    >>> SPA.traits.anchors, HALS.traits.anchors
    (True, False)
    """

    negative_data: bool = False
    finds_number: bool = False
    anchors: bool = False
    missing_values: bool = False
    random: Literal["never", "with options", "always"] = "with options"
    block_by_block: bool = True
    compares_rows: bool = False
    advised: int | None = None
    on_real_data: Mapping[str, object] = field(default_factory=dict)
