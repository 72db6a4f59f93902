"""Read the data behind a saved result again, as the command that made it did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from provenmf.records import Factorization


def read_again(
    result: Factorization,
    path: Path,
    *,
    key: str | None = None,
    transpose: bool = False,
    vocabulary: Path | None = None,
    field: str = "text",
    mail: bool = False,
) -> Any:
    """Corpus, counts, graph, cube, images or matrix: whatever the result is about."""
    from dataclasses import replace

    from provenmf import io
    from provenmf.cli.fit import read_data
    from provenmf.cli.topics import is_count_matrix
    from provenmf.io.mail import body_of

    kind = result.kind
    if kind == "topics" and is_count_matrix(path, vocabulary):
        return io.read_counts(path, vocabulary, key=key)
    if kind == "topics":
        corpus = io.read_texts(path, field=field)
        return replace(corpus, texts=[body_of(text) for text in corpus.texts]) if mail else corpus
    if kind == "communities":
        return io.read_graph(path, key=key)
    if kind in ("unmixing", "parts"):
        shape = tuple(int(side) for side in result.extras["image_shape"])
        read: Any = io.read_cube if kind == "unmixing" else io.read_images
        return read(path, key=key, shape=shape)
    return read_data(path, key=key, transpose=transpose).matrix
