"""Read matrices, corpora, graphs, cubes and images; save and load results.

Names are resolved when first used: a mistake in a command is told before the libraries load.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from provenmf.io.files import unlimited, write_aside
    from provenmf.io.graphs import Graph, as_graph, read_graph
    from provenmf.io.images import Cube, Images, as_cube, read_cube, read_images
    from provenmf.io.matrices import Table, read_matrix, read_table
    from provenmf.io.records import load, save
    from provenmf.io.texts import Corpus, Counts, TextFile, read_counts, read_texts

_HOMES = {
    "files": ("unlimited", "write_aside"),
    "graphs": ("Graph", "as_graph", "read_graph"),
    "images": ("Cube", "Images", "as_cube", "read_cube", "read_images"),
    "matrices": ("Table", "read_matrix", "read_table"),
    "records": ("load", "save"),
    "texts": ("Corpus", "Counts", "TextFile", "read_counts", "read_texts"),
}

__all__ = [
    "Corpus",
    "Counts",
    "Cube",
    "Graph",
    "Images",
    "Table",
    "TextFile",
    "as_cube",
    "as_graph",
    "load",
    "read_counts",
    "read_cube",
    "read_graph",
    "read_images",
    "read_matrix",
    "read_table",
    "read_texts",
    "save",
    "unlimited",
    "write_aside",
]


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"provenmf.io.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
