"""Every compiled function that Python calls has a test that names it."""

import ast
from pathlib import Path

import pytest

import provenmf

SOURCE = Path(provenmf.__file__).parent
TESTS = Path(__file__).parents[1]
COMPILERS = {"njit", "kernel", "reordering_kernel"}  # those that Python calls


def decorators(function):
    return {
        getattr(d, "id", getattr(getattr(d, "func", None), "id", None))
        for d in function.decorator_list
    }


def compiled_functions():
    for path in sorted(SOURCE.rglob("*.py")):
        if path.stem == "compiled":  # the compiler itself
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and decorators(node) & COMPILERS:
                yield pytest.param(node.name, id=f"{path.stem}.{node.name}")


@pytest.fixture(scope="module")
def named_in_tests():
    """Names that tests import or use as attributes."""
    found = set()
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
    return found


@pytest.mark.parametrize("name", list(compiled_functions()))
def test_every_kernel_has_a_test(name, named_in_tests):
    assert name in named_in_tests
