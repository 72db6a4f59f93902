"""The size of the source tree: lines, functions without their docstrings, and uses of Any.

    python benchmarks/tree_figures.py [FOLDER ...]

Several folders are compared side by side, for instance two checkouts of `src`.
"""

from __future__ import annotations

import argparse
import ast
import re
from pathlib import Path

import numpy as np

HERE = Path(__file__).parents[1] / "src"


def function_lengths(tree: ast.AST) -> list[tuple[int, str]]:
    """Lines of each function, its docstring left out, with its name."""
    lengths = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            length = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node) is not None:
                docstring = node.body[0]
                assert docstring.end_lineno is not None
                length -= docstring.end_lineno - docstring.lineno + 1
            lengths.append((length, node.name))
    return lengths


def figures(folder: Path) -> dict[str, str]:
    """What there is to say about the Python files below a folder."""
    texts = {path: path.read_text("utf-8") for path in sorted(folder.rglob("*.py"))}
    lines = {path: text.count("\n") for path, text in texts.items()}
    functions = [
        (length, f"{path.relative_to(folder)}:{name}")
        for path, text in texts.items()
        for length, name in function_lengths(ast.parse(text))
    ]
    lengths = np.array([length for length, _ in functions])
    longest_file = max(lines, key=lambda path: lines[path])
    longest, where = max(functions)
    return {
        "files": str(len(texts)),
        "lines": str(sum(lines.values())),
        "lines of a file, median": f"{np.median(list(lines.values())):.0f}",
        "longest file": f"{lines[longest_file]} ({longest_file.relative_to(folder)})",
        "functions": str(len(functions)),
        "lines of a function, median": f"{np.median(lengths):.0f}",
        "lines of a function, p90": f"{np.percentile(lengths, 90):.0f}",
        "longest function": f"{longest} ({where})",
        "functions over 40 lines": str(int(np.count_nonzero(lengths > 40))),
        "lines with Any": str(
            sum(len(re.findall(r"(?m)^.*\bAny\b.*$", text)) for text in texts.values())
        ),
    }


def main() -> None:
    """Print a table with a column for each folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, default=[HERE])
    parser.add_argument("--quick", action="store_true", help="no difference: it is quick")
    columns = [figures(folder) for folder in parser.parse_args().folders]
    for name in columns[0]:
        print(f"{name:<28}", *(f"{column[name]:<50}" for column in columns))


if __name__ == "__main__":
    main()
