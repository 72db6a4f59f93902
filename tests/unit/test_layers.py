"""The layer diagram: upper parts import lower ones, never sideways or up."""

import ast
from pathlib import Path

import pytest

import provenmf

SOURCE = Path(provenmf.__file__).parent

LAYERS = [
    {"errors"},
    {"signals"},
    {"arguments", "budget", "progress"},
    {"linalg"},
    {"data", "io", "results"},
    {"datasets", "metrics"},
    {"methods", "certificate"},
    {"applications", "report", "advice"},
    {"cli", "reproduce", "tl"},
    {"__main__"},
]
RANK = {part: rank for rank, parts in enumerate(LAYERS) for part in parts}
# Parts of one layer that may look at each other: records know how they are saved, blocks read
# files, the report draws answers by their types, and applications ask the advisor for a number that
# is not given.
SAME_LAYER = {
    ("data", "io"),
    ("io", "results"),
    ("results", "io"),
    ("methods", "certificate"),
    ("report", "applications"),
    ("applications", "advice"),
    ("cli", "reproduce"),
}


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_parts(path: Path) -> set[str]:
    parts = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            names = names if node.module == "provenmf" else [node.module]
        parts |= {n.split(".")[1] for n in names if n.startswith("provenmf.")}
    return parts & RANK.keys()


FILES = [p for p in sorted(SOURCE.rglob("*.py")) if part_of(p) != "__init__"]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_down(path: Path) -> None:
    part = part_of(path)
    for other in imported_parts(path) - {part}:
        allowed = RANK[other] < RANK[part] or (part, other) in SAME_LAYER
        assert allowed, f"{part} must not import {other}"


def test_every_part_has_a_layer() -> None:
    unknown = {part_of(p) for p in SOURCE.rglob("*.py")} - RANK.keys() - {"__init__"}
    assert not unknown


SOLVERS = {"solver", "estimator", "run", "base", "anchors"}
SOLVERS |= {"spa", "xray", "fast_gradient", "hull", "mixture", "start"}


def test_a_guarantee_never_imports_a_solver() -> None:
    for path in FILES:
        if path.stem.endswith("guarantee") or part_of(path) == "certificate":
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                    "provenmf.methods"
                ):
                    assert node.module.split(".")[-1] not in SOLVERS, f"{path}: {node.module}"


def test_numba_is_imported_in_one_file() -> None:
    for path in FILES:
        if path.stem != "compiled":
            assert "numba" not in {
                name.split(".")[0]
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, (ast.Import, ast.ImportFrom))
                for name in (
                    [alias.name for alias in node.names]
                    if isinstance(node, ast.Import)
                    else [node.module or ""]
                )
            }, path
