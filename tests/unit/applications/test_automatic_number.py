"""A number that is not given is settled by the data and announced, or refused."""

import numpy as np
import pytest

from provenmf.applications import find_topics, unmix
from provenmf.errors import InvalidInput


def test_noise_has_no_number_of_topics():
    counts = np.random.default_rng(0).poisson(1.0, (60, 40))
    with pytest.raises(InvalidInput, match="do not determine"):
        find_topics(counts, None, method="hals")


def test_a_clear_number_of_materials_is_announced():
    rng = np.random.default_rng(0)
    abundances = np.vstack([np.eye(3), rng.dirichlet(np.ones(3), 61)])
    cube = (abundances @ rng.random((3, 20))).reshape(8, 8, 20)
    found = unmix(cube, None)
    assert found.n_components == 3
    assert any("chosen automatically: 3" in note for note in found.notes)
