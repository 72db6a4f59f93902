"""Properties of the methods that choose anchor rows."""

import pytest
from hypothesis import given, settings, strategies as st

from provenmf.data import as_blocks
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.methods.separable.fast_gradient import fast_gradient
from provenmf.methods.separable.spa import fast_anchor, spa
from provenmf.methods.separable.xray import xray

# All of them choose rows without chance; the names are for the reports.
METHODS = {
    "spa": spa,
    "fast_anchor": fast_anchor,
    "fast_anchor plain": lambda b, k: fast_anchor(b, k, refine=False),
    "xray": xray,
    "fast_gradient": lambda b, k: fast_gradient(b, k, max_iter=300),
}
# A finite number of gradient steps is not exact for every noiseless separable matrix.
EXACT = {name: method for name, method in METHODS.items() if name != "fast_gradient"}

seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("method", EXACT.values(), ids=EXACT.keys())
@settings(max_examples=25, deadline=None)
@given(seed=seeds, k=st.integers(2, 6), extra=st.integers(0, 30))
def test_noiseless_separable_data_are_solved(method, seed, k, extra):
    sample = dirichlet_mixtures(k + extra, k + 4, k, random_state=seed)
    found = method(as_blocks(sample.data), k)
    assert set(found.anchors.tolist()) == set(sample.anchors.tolist())
