"""The evidence for the number of components: each witness, what they say together, all storage."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import choose_rank
from provenmf.advice.held_out import held_out_errors
from provenmf.advice.rank_table import RankTable
from provenmf.advice.spectrum import NoiseSpectrum, against_noise
from provenmf.advice.witnesses import Witness, together, witnesses_of
from provenmf.errors import InvalidInput


def planted(k=3, n=60, d=20, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    product = rng.gamma(0.5, size=(n, k)) @ rng.gamma(0.5, size=(k, d))
    return np.maximum(product + noise * rng.standard_normal((n, d)), 0)


@pytest.fixture(scope="module")
def found():
    return choose_rank(planted(), range(1, 7), n_resamples=4, repeats=2)


def test_the_planted_number_is_found_and_explained(found):
    assert found.n_components == 3 and found.range == (3, 3)
    assert {w.name for w in found.witnesses} == {"held-out error", "stability", "spectrum"}
    assert "agree on 3 components" in found.verdict


def test_errors_are_above_the_floor(found):
    assert (found.table.error >= found.table.floor - 1e-12).all()
    values = np.linalg.svd(planted(), compute_uv=False)
    expected = np.sqrt((values[2:] ** 2).sum() / (values**2).sum())
    assert found.table.floor[1] == pytest.approx(expected)


def test_it_prints_in_80_columns_and_goes_to_json(found):
    text = str(found)
    assert max(map(len, text.splitlines())) <= 80 and found.verdict.split()[0] in text
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["n_components"] == 3
    assert found.verdict in found._repr_html_()
    assert repr(found) == "RankChoice(n_components=3, range=(3, 3))"


def test_small_errors_are_not_shown_as_zero():
    X = np.random.default_rng(0).random((30, 2)) @ np.random.default_rng(1).random((2, 10))
    row = choose_rank(X, [2], n_resamples=2, repeats=1).rows()[0]
    assert 0 < float(row[1]) < 1e-4


@pytest.mark.parametrize("width", [40, 60, 80])
def test_nothing_is_cut_in_a_narrow_window(found, width):
    lines = found.text(width).splitlines()
    assert max(map(len, lines)) <= width
    assert all(name in " ".join(lines) for name in found.header())
    assert " ".join(found.verdict.split()) in " ".join(" ".join(lines).split())


def test_it_draws_itself(found):
    pytest.importorskip("plotly")
    names = {trace.name for trace in found.plot().data}
    assert {"error", "held-out error", "silhouette", "noise"} <= names
    plt = pytest.importorskip("matplotlib.pyplot")
    figure = found.plot(backend="matplotlib")
    assert [axes.get_yscale() for axes in figure.axes][:3] == ["linear", "linear", "log"]
    plt.close(figure)


def test_missing_entries_silence_the_spectrum():
    X = planted()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    found = choose_rank(X, range(1, 6), n_resamples=3, repeats=2)
    assert found.table.floor is None and found.n_components == 3
    assert dict((w.name, w.n_components) for w in found.witnesses)["spectrum"] is None


def test_counts_have_a_coherence_and_a_sample_is_said():
    rng = np.random.default_rng(0)
    counts = sp.csr_array(rng.poisson(planted(2, 90, 30, seed=2)))
    found = choose_rank(counts, [1, 2, 3], n_resamples=2, repeats=1, max_entries=1200)
    assert len(found.table.coherence) == 3 and "NPMI" in str(found)
    assert "of 90 rows" in found.notes[0]


def table(held, silhouettes, values, noise, ranks=(1, 2, 3, 4)):
    ones = np.ones(len(ranks))
    spectrum = NoiseSpectrum(np.array(values, float), np.array(noise, float))
    return RankTable(ranks, ones, ones, np.array(held), ones, ones, np.array(silhouettes), None,
                     spectrum)  # fmt: skip


def test_witnesses_by_hand():
    said = witnesses_of(
        table([[0.9, 0.5, 0.201, 0.2]] * 2, [np.nan, 0.95, 0.4, 0.94], [9, 3, 4, 1], [3, 3, 3, 3])
    )
    numbers = [w.n_components for w in said]
    assert numbers == [3, 4, 3]  # as good as the best; as clear as the best; the last above noise
    assert together(said) == (3, 3, 4)


def test_no_witness_no_number():
    said = witnesses_of(table([[0.4, 0.3, 0.2, 0.1]], [np.nan] + [0.1] * 3, [9] * 4, [1] * 4))
    assert [w.n_components for w in said] == [None, None, 4]
    assert together(said) == (None, 4, 4)
    assert together([Witness("coherence", 2, "")]) == (None, None, None)


def test_noise_has_no_component_beyond_its_mean():
    noise = np.random.default_rng(0).random((80, 30))
    assert against_noise(noise, 5, np.random.default_rng(1)).n_components <= 1


def test_held_out_entries_are_not_seen():
    """Spoiling the hidden entries changes their error and nothing else."""
    X = planted(2, 40, 12)
    options = {"share": 0.2, "repeats": 1, "max_iter": 50}
    hidden = np.random.default_rng(5).random(X.shape) < 0.2
    spoilt = np.where(hidden, X + 100, X)
    one = held_out_errors(X, [2], rng=np.random.default_rng(5), **options)
    two = held_out_errors(spoilt, [2], rng=np.random.default_rng(5), **options)
    assert one[0, 0] < 0.2 and two[0, 0] > 0.9  # the fit does not follow them


@pytest.mark.parametrize(
    "data, options, words",
    [
        (-np.ones((5, 4)), {}, "negative"),
        (np.zeros((5, 4)), {}, "no entry that is not zero"),
        (np.ones((5, 1)), {}, "nothing to be chosen"),
        (np.ones((5, 4)), {"ranks": [2, 9]}, "ranks=.* between 1 and 3"),
        (np.ones((5, 4)), {"ranks": np.array(2)}, "ranks=.* between 1 and 3"),
        (np.ones((5, 4)), {"ranks": 3}, "ranks=3 must be whole numbers"),
        (np.ones((5, 4)), {"ranks": [1.5]}, "ranks=.* must be whole numbers"),
        (np.ones((5, 4)), {"ranks": "12"}, "ranks='12' must be whole numbers"),
        (np.ones((5, 4)), {"held_out": 1.0}, "held_out=1.0 is out of range"),
    ],
)
def test_bad_input_is_named(data, options, words):
    with pytest.raises(InvalidInput, match=words):
        choose_rank(data, **options)
