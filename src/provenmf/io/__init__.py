"""Read matrices, corpora, graphs, cubes and images.

Names are resolved when first used: a mistake in a command is told before the libraries load.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from provenmf.io.files import unlimited as unlimited
    from provenmf.io.graphs import read_graph as read_graph
    from provenmf.io.images import read_cube as read_cube, read_images as read_images
    from provenmf.io.matrices import read_matrix as read_matrix, read_table as read_table
    from provenmf.io.texts import (
        Corpus as Corpus,
        read_counts as read_counts,
        read_texts as read_texts,
    )

_HOMES = {
    "files": ("unlimited",),
    "graphs": ("read_graph",),
    "images": ("read_cube", "read_images"),
    "matrices": ("read_matrix", "read_table"),
    "texts": ("Corpus", "read_counts", "read_texts"),
}


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"provenmf.io.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
