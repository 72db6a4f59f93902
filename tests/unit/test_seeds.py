"""What may be a seed, and what is refused by name."""

import numpy as np
import pytest

from provenmf import HALS, choose_rank, stability
from provenmf.budget import generator
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.errors import InvalidInput

X = np.random.default_rng(0).random((12, 4))
USES = {
    "choose_rank": lambda seed: choose_rank(X, [1, 2], random_state=seed),
    "stability": lambda seed: stability(HALS(2), X, n_resamples=2, random_state=seed),
    "datasets": lambda seed: dirichlet_mixtures(random_state=seed),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("seed", ["a", -1, 1.5, {}, float("nan")])
def test_what_is_no_seed_is_refused_by_name(use, seed):
    with pytest.raises(InvalidInput, match="random_state=.* (is not|must be) a seed"):
        USES[use](seed)


def test_a_generator_stays_and_a_random_state_is_drawn_from():
    rng = np.random.default_rng(0)
    assert generator(rng) is rng
    drawn = [generator(np.random.RandomState(3)).random() for _ in range(2)]
    assert drawn[0] == drawn[1] != generator(0).random()
    assert generator(np.int64(3)).random() == np.random.default_rng(3).random()
