"""Real data that need no download: docstrings of the standard library, handwritten digits."""

from __future__ import annotations

import ast
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from provenmf.errors import InvalidInput

# Parts of the standard library that are tests, programs or copies of other projects.
LEFT_OUT = frozenset(
    {"test", "tests", "idlelib", "lib2to3", "ensurepip", "site-packages", "dist-packages"}
)
LEAST_WORDS = 20


def standard_library_docstrings(
    folder: str | Path | None = None,
) -> tuple[list[str], list[str]]:
    """Return the docstrings of Python's standard library with 20 words or more, one a document.

    Sources are parsed, never imported, so nothing runs. The texts depend on the version of
    Python, and so do the topics in them.

    Parameters
    ----------
    folder : str, Path or None
        Where the library is; by default that of the running Python.

    Returns
    -------
    texts, names : docstrings, and the dotted names of their objects, in the order of names.
    """
    root = Path(folder or sysconfig.get_path("stdlib"))
    found: dict[str, str] = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if LEFT_OUT.isdisjoint(parts) and not parts[0].startswith(("config-", "_sysconfigdata")):
            found |= _docstrings(path, parts)
    chosen = {name: text for name, text in found.items() if len(text.split()) >= LEAST_WORDS}
    if not chosen:
        raise InvalidInput(f"no docstrings in {root}: this Python comes without its sources")
    names = sorted(chosen)
    return [chosen[name] for name in names], names


def _docstrings(path: Path, parts: tuple[str, ...]) -> dict[str, str]:
    """Return the docstrings of a source file by dotted name; none if it cannot be parsed."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return {}
    module = ".".join(part for part in parts if part != "__init__")
    return {
        ".".join([module, *inside]): text
        for inside, node in _objects(tree, ())
        if (text := ast.get_docstring(node))
    }


def _objects(node: Any, inside: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the module, its classes and functions, and their methods."""
    yield inside, node
    for child in node.body:
        if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _objects(child, (*inside, child.name))


def digits() -> tuple[NDArray[Any], NDArray[Any]]:
    """Return handwritten digits (1797, 8, 8) with values in 0 … 1, and which digit each shows."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return bunch.images / 16.0, bunch.target
