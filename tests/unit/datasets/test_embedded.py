import sys

import numpy as np
import pytest

from provenmf.datasets.real import digits, standard_library_docstrings
from provenmf.errors import InvalidInput


@pytest.fixture
def library(tmp_path):
    words = " ".join(f"word{i}" for i in range(30))
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text(f'"""Module {words}"""\n')
    (tmp_path / "package" / "module.py").write_text(
        f'class A:\n    """Class {words}"""\n    def f(self):\n        """Method {words}"""\n'
        f'    def g(self):\n        """Short."""\n\nraise RuntimeError("must not run")\n'
    )
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "t.py").write_text(f'"""Test {words}"""\n')
    (tmp_path / "broken.py").write_text("def (:\n")
    return tmp_path


def test_one_document_an_object_and_nothing_runs(library):
    texts, names = standard_library_docstrings(library)
    assert names == ["package", "package.module.A", "package.module.A.f"]
    assert [text.split()[0] for text in texts] == ["Module", "Class", "Method"]
    assert "package" not in sys.modules


def test_a_python_without_sources_is_explained(tmp_path):
    with pytest.raises(InvalidInput, match="without its sources"):
        standard_library_docstrings(tmp_path)


def test_digits_are_images_between_zero_and_one():
    images, labels = digits()
    assert images.shape == (1797, 8, 8)
    assert images.min() == 0 and images.max() == 1
    assert np.unique(labels).tolist() == list(range(10))
