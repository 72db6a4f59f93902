"""The promise of CONTRIBUTING.md: each compiled function has a plain twin in this folder."""

import ast
from pathlib import Path

import pytest

import provenmf.kernels

KERNELS = Path(provenmf.kernels.__file__).parent
COMPILERS = {"njit", "kernel", "inner", "inlined", "reordering_kernel", "reordering"}


def compiled_functions():
    for path in sorted(KERNELS.rglob("*.py")):
        if path.stem == "compiled":  # the compiler itself
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                yield pytest.param(path, node, id=f"{path.stem}.{node.name}")


def named_in_tests():
    """Names that tests use: attributes of the module `kernels`, and imported functions."""
    found = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("provenmf"):
                found |= {(node.module.split(".")[-1], alias.name) for alias in node.names}
                for alias in node.names:
                    if alias.asname == "kernels":
                        module = alias.name
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if node.value.id == "kernels":
                    found.add((module, node.attr))
    return found


@pytest.mark.parametrize("path, function", list(compiled_functions()))
def test_every_kernel_is_compiled_and_has_a_test(path, function):
    decorators = {getattr(d, "id", getattr(getattr(d, "func", None), "id", None))
                  for d in function.decorator_list}  # fmt: skip
    assert decorators & COMPILERS, "not compiled: it belongs to linalg"
    assert (path.stem, function.name) in named_in_tests()
