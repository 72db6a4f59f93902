"""The package exports what its users need: lazily at run time, visibly to type checkers."""

import ast
from pathlib import Path

import pytest

import provenmf
from provenmf.methods import CATALOGUE

SOURCE = ast.parse(Path(provenmf.__file__).read_text())


def imported_for_type_checkers():
    block = next(node for node in SOURCE.body if isinstance(node, ast.If))
    return {alias.name: node.module for node in block.body for alias in node.names}


def test_type_checkers_see_what_is_found_at_run_time():
    seen = imported_for_type_checkers()
    resolved = {
        n: f"provenmf.{module}" for module, names in provenmf._PUBLIC.items() for n in names
    }
    assert seen == resolved
    assert set(provenmf.__all__) == {*seen, "__version__"} == set(dir(provenmf))


@pytest.mark.parametrize("name", provenmf.__all__)
def test_every_name_is_found(name):
    assert getattr(provenmf, name) is not None


def test_all_methods_are_public():
    assert set(CATALOGUE.values()) <= set(provenmf.__all__)


def test_the_public_face_stays_small():
    assert len(provenmf.__all__) <= 41  # 40 and the version


def test_an_unknown_name_is_an_error_of_the_module():
    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        provenmf.magic  # noqa: B018


def test_types_are_part_of_the_package():
    assert (Path(provenmf.__file__).parent / "py.typed").is_file()
