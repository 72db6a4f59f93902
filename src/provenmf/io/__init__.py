"""Read matrices, corpora, graphs, cubes and images; save and load a Factorization."""

from provenmf.io.cubes import Cube, read_cube
from provenmf.io.files import unlimited
from provenmf.io.graphs import Graph, as_graph, read_graph
from provenmf.io.images import Images, read_images
from provenmf.io.matrices import Table, read_matrix, read_table
from provenmf.io.output import write_aside
from provenmf.io.records import load, save
from provenmf.io.texts import Corpus, Counts, TextFile, read_counts, read_texts

__all__ = [
    "Corpus",
    "Counts",
    "Cube",
    "Graph",
    "Images",
    "Table",
    "TextFile",
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
