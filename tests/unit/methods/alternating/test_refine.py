import numpy as np
import pytest

from provenmf.data import as_blocks
from provenmf.methods.alternating.refine import refine, without_zeros
from provenmf.methods.cones.solver import cones, nearest_component_weights


@pytest.fixture(scope="module")
def started():
    blocks = as_blocks(np.random.default_rng(0).random((50, 12)) ** 2)
    return blocks, cones(blocks, 4)


@pytest.mark.parametrize("method", ["hals", "anls", "mu", "kl"])
def test_clusters_and_state_stay_and_components_move(started, method):
    blocks, start = started
    refined = refine(blocks, start, method)
    assert refined.components.shape == start.components.shape
    assert refined.components.min() >= 0
    assert not np.allclose(refined.components, start.components)
    assert refined.labels is start.labels and refined.state is start.state
    assert len(refined.trace) >= 1 and refined.stop_reason


@pytest.mark.parametrize("method", ["hals", "anls", "kl"])
def test_callback_and_iterations_reach_the_solver(started, method):
    blocks, start = started
    seen = []
    refine(blocks, start, method, max_iter=3, tol=0.0, callback=seen.append)
    assert len(seen) == 3


def test_the_start_is_not_modified(started):
    blocks, start = started
    before = start.components.copy()
    for method in ("hals", "anls", "mu", "kl"):
        refine(blocks, start, method)
    np.testing.assert_array_equal(start.components, before)


def test_zeros_are_raised_so_that_multiplicative_updates_can_move(started):
    blocks, start = started
    weights = nearest_component_weights(blocks, start.components)
    raised = without_zeros(weights)
    assert (weights == 0).any() and raised.min() > 0
    np.testing.assert_array_equal(raised[weights > 0], weights[weights > 0])
