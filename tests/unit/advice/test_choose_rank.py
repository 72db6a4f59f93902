"""The evidence for the number of components: each criterion, and all together."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import NMF

from provenmf import choose_rank
from provenmf.advice.choose_rank import (
    Criterion,
    RankChoice,
    _by_held_out,
    _by_spectrum,
    _by_unseen_rows,
    judge,
)
from provenmf.advice.nested_fits import _loss, nested_fits
from provenmf.advice.number import Spectrum
from provenmf.errors import InvalidInput


def planted(k=3, n=60, d=20, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    product = rng.gamma(0.5, size=(n, k)) @ rng.gamma(0.5, size=(k, d))
    return np.maximum(product + noise * rng.standard_normal((n, d)), 0)


@pytest.fixture(scope="module")
def found():
    return choose_rank(planted(), range(1, 7))


def test_the_planted_number_is_found_and_explained(found):
    assert found.n_components == 3 and found.range == (3, 3)
    assert {c.name for c in found.criteria} == {"held-out error", "unseen rows", "spectrum"}
    assert "agree on 3 components" in found.verdict
    large = choose_rank(planted(3, 300, 30), range(1, 6))
    assert found.at_least <= 3 and "confirm at least 3 components" in large.verdict


def test_errors_are_above_the_floor(found):
    assert (found.columns["error"] >= found.columns["floor"] - 1e-12).all()
    values = np.linalg.svd(planted(), compute_uv=False)
    expected = np.sqrt((values[2:] ** 2).sum() / (values**2).sum())
    assert found.columns["floor"][1] == pytest.approx(expected)


def test_it_prints_in_80_columns_and_goes_to_json(found):
    text = str(found)
    assert max(map(len, text.splitlines())) <= 80 and found.verdict.split()[0] in text
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["n_components"] == 3
    assert found.verdict in found._repr_html_()
    assert repr(found) == "RankChoice(n_components=3, range=(3, 3))"


def test_small_errors_are_not_shown_as_zero():
    found = RankChoice((9, 9), (1,), {"error": np.array([2e-5])}, ())
    assert "2.0e-05" in str(found)


def test_it_draws_itself(found):
    plt = pytest.importorskip("matplotlib.pyplot")
    figure = found.plot()
    names = {line.get_label() for axes in figure.axes for line in axes.lines}
    assert {"error", "held out", "confirmed", "value/noise"} <= names
    plt.close(figure)


def test_missing_entries_leave_the_held_out_error():
    X = planted()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    found = choose_rank(X, range(1, 6))
    assert [(c.name, c.n_components) for c in found.criteria] == [("held-out error", 3)]


def test_a_sample_and_counts_are_said():
    counts = sp.csr_array(np.random.default_rng(0).poisson(planted(2, 900, 300, seed=2)))
    found = choose_rank(counts, [1, 2])
    assert "of 900 rows" in found.notes[0] and "counts" in found.notes[1]


def choice(errors, confirmed, over_noise, ranks=(1, 2, 3, 4)):
    above = Spectrum(np.ones(9), np.array(over_noise, float)).above
    column, unseen, at_least = _by_unseen_rows(ranks, 2, lambda place: (confirmed[place], 1))
    criteria = (_by_held_out(ranks, np.array(errors)), unseen, _by_spectrum(ranks, above))
    return RankChoice((9, 9), ranks, {"confirmed": column}, criteria, at_least=at_least)


HELD_OUT = [[0.9, 0.5, 0.201, 0.2]] * 2
FALLING = [[0.4, 0.3, 0.2, 0.1]] * 2


@pytest.mark.parametrize(
    ("errors", "confirmed", "over_noise", "numbers"),
    [
        # as good as the best; the largest number with all confirmed; the last above noise
        (HELD_OUT, [1, 2, 3, 2], [3, 1, 1.3, 0.3], [3, 3, 3]),
        (FALLING, [1, 1, 3, 4], [9] * 4, [None, 1, 4]),  # the search goes down to what is confirmed
        (FALLING, [0] * 4, [9] * 4, [None, None, 4]),
    ],
)
def test_criteria_by_hand(errors, confirmed, over_noise, numbers):
    found = choice(errors, confirmed, over_noise)
    assert [criterion.n_components for criterion in found.criteria] == numbers
    assert (found.n_components == 3) == (numbers == [3, 3, 3])
    assert RankChoice((9, 9), (1,), {}, ()).range is None


def test_the_bound_is_not_above_what_the_data_need(monkeypatch):
    """Of noise-free tumors of three signatures four were confirmed, each beside the others."""
    four = np.full(6, 4.0), Criterion("unseen rows", 4, ""), 4
    monkeypatch.setitem(judge.__globals__, "_by_unseen_rows", lambda *given: four)
    rng = np.random.default_rng(1)
    counts = np.round(rng.gamma(1.0, 2000.0, (200, 3)) @ rng.dirichlet(np.full(40, 0.5), 3))
    found = choose_rank(counts, range(1, 7), random_state=0)
    assert found.range == (3, 3) and found.at_least == 3


@pytest.mark.parametrize("loss", ["least-squares", "poisson"])
def test_nested_fits_lower_the_loss_and_do_not_see_hidden_entries(loss):
    X = np.rint(9 * planted(2, 40, 12))
    seen = np.random.default_rng(5).random(X.shape) >= 0.2
    fits = list(nested_fits(X, seen, [1, 2, 4], loss))
    levels = [_loss(X, w @ c, seen, loss) for w, c in fits]
    assert levels == sorted(levels, reverse=True)
    spoilt = list(nested_fits(np.where(seen, X, 1000.0), seen, [1, 2, 4], loss))
    for one, two in zip(fits, spoilt):
        np.testing.assert_array_equal(one[1], two[1])


@pytest.mark.parametrize("loss", ["least-squares", "poisson"])
def test_nested_fits_are_as_good_as_a_peer(loss):
    X = np.rint(50 * planted(3, 60, 20))
    seen = np.ones(X.shape, bool)
    ours = [_loss(X, w @ c, seen, loss) for w, c in nested_fits(X, seen, [3], loss)]
    beta = "frobenius" if loss == "least-squares" else "kullback-leibler"
    peer = NMF(3, beta_loss=beta, solver="mu", init="nndsvda", max_iter=200)
    theirs = _loss(X, peer.fit_transform(X) @ peer.components_, seen, loss)
    assert ours[0] <= 1.1 * theirs


def test_overdispersed_signatures_are_counted():
    """Held-out least squares stopped too early on such counts, and its error rose above one."""
    rng = np.random.default_rng(0)
    active = rng.random((300, 6)) < rng.uniform(0.2, 0.8, 6)
    mean = (rng.lognormal(4.5, 1.2, (300, 6)) * active) @ rng.dirichlet(np.full(60, 0.15), 6)
    counts = rng.poisson(mean * rng.gamma(10, 0.1, mean.shape))
    found = choose_rank(counts, range(1, 10))
    assert found.n_components == 6
    assert found.columns["held out"].max() < 1.5


@pytest.mark.parametrize(
    "data, options, words",
    [
        (-np.ones((5, 4)), {}, "negative"),
        (np.zeros((5, 4)), {}, "no entry that is not zero"),
        (np.ones((5, 1)), {}, "nothing to be chosen"),
        (np.ones((5, 4)), {"ranks": [2, 9]}, "ranks=.* between 1 and 3"),
        (np.ones((5, 4)), {"ranks": 3}, "ranks=3 must be whole numbers"),
        (np.ones((5, 4)), {"ranks": [1.5]}, "ranks=.* must be whole numbers"),
        (np.ones((5, 4)), {"ranks": "12"}, "ranks='12' must be whole numbers"),
        (np.ones((5, 4)), {"loss": "l1"}, "loss='l1' must be 'least-squares'"),
    ],
)
def test_bad_input_is_named(data, options, words):
    with pytest.raises(InvalidInput, match=words):
        choose_rank(data, **options)


def test_equal_rows_have_no_halves():
    counts = np.tile(np.arange(1.0, 9.0), (30, 1))
    assert "unseen rows" not in {name for name, *_ in choose_rank(counts, [1, 2]).criteria}


def test_more_than_ten_components_are_found_by_default():
    """Ten was the most, and two were called supported where nine were confirmed."""
    rng = np.random.default_rng(47)
    signatures = rng.dirichlet([0.15] * 60, 12)
    exposures = rng.gamma(0.5, 1, (300, 12)) * (rng.random((300, 12)) < 0.4)
    found = choose_rank(rng.poisson(300 * exposures @ signatures))
    assert found.ranks[-1] == 15
    assert found.n_components == 12, found
    few = choose_rank(rng.poisson(300 * exposures @ signatures), range(1, 9))
    assert few.range is None or few.range[0] >= few.at_least
