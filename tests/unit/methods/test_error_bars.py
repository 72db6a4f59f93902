"""Error bars by resampling: what they say where it is known, and what they store."""

from dataclasses import replace

import numpy as np
import pytest

from provenmf import InvalidInput, factorize, load, with_error_bars
from provenmf.methods import error_bars
from provenmf.methods.error_bars import Spread, drawn_with_noise, intervals, resampled
from provenmf.metrics.matching import match_components
from provenmf.results import ErrorBars


def mean_of(data):
    """A fit whose standard error is known: the mean row, and its negative as a second component."""

    def refit(drawn):
        mean = data[drawn].mean(axis=0)
        both = np.array([mean, mean[::-1]])
        return both, both

    return refit


def test_the_spread_of_a_mean_is_its_standard_error():
    rng = np.random.default_rng(0)
    data = rng.normal([5.0, 1.0], [1.0, 2.0], (400, 2))
    mean = data.mean(axis=0)
    spread = resampled(
        mean_of(data), np.array([mean, mean[::-1]]), 400, 300, np.random.default_rng(1)
    )
    known = data.std(axis=0) / 20
    np.testing.assert_allclose(spread.errors[0], known, rtol=0.15)
    np.testing.assert_allclose(spread.errors[1], known[::-1], rtol=0.15)
    assert spread.returned.tolist() == [1.0, 1.0] and spread.counts.tolist() == [300, 300]


def test_resamples_in_which_nothing_can_be_found_count():
    def refit(drawn):
        raise InvalidInput("too few rows")

    spread = resampled(refit, np.ones((1, 2)), 5, 12, np.random.default_rng(0))
    assert spread.returned.tolist() == [0.0] and np.isinf(spread.errors).all()


def test_intervals_of_counts_have_room_above_zero():
    spread = Spread(np.array([[0.0, 0.1]]), np.zeros((1, 2)), np.array([1000]), np.ones(1), 1000)
    lower, upper = intervals(np.array([[0.0, 1.0]]), spread, unit=np.array([[0.01]]))
    # None seen: a Poisson mean below 1.96² is not refuted; many seen: 1.96 standard errors.
    np.testing.assert_allclose(upper, [[0.0385, 1.216]], rtol=5e-3)
    np.testing.assert_allclose(lower, [[0.0, 0.804]], rtol=5e-3)


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    truth = np.array([[4.0, 1.0, 0.0, 0.5], [0.0, 0.5, 2.0, 3.0]])
    data = rng.dirichlet([0.3, 0.3], 150) @ truth * rng.gamma(100, 0.01, (150, 1))
    result = factorize(data, 2, method="hals", random_state=0)
    return data, result, with_error_bars(data, result, 12)


def test_a_factorization_keeps_its_error_bars(fitted, tmp_path):
    _, result, barred = fitted
    bars = barred.error_bars
    assert bars.n_resamples == 12 and bars.unstable == ()
    assert (bars.lower <= result.components).all() and (result.components <= bars.upper).all()
    assert "12 resamples" in barred.notes[-1]
    size = np.linalg.norm(result.components)
    assert 0 < np.linalg.norm(bars.standard_errors) < 0.1 * size
    assert "independently" in bars.assumes
    barred.save(tmp_path / "barred.npz")
    assert load(tmp_path / "barred.npz") == barred


def test_error_bars_are_the_same_twice(fitted):
    data, result, barred = fitted
    again = with_error_bars(data, result, 12)
    np.testing.assert_array_equal(
        again.error_bars.standard_errors, barred.error_bars.standard_errors
    )


@pytest.mark.parametrize("number", [0, 3, 2.5, True])
def test_too_few_resamples_are_refused(fitted, number):
    with pytest.raises(InvalidInput, match="n_resamples"):
        with_error_bars(*fitted[:2], number)


def test_noise_drawn_anew_has_the_size_of_the_residuals(fitted):
    _, result, _ = fitted
    data = result.weights @ result.components * np.random.default_rng(0).gamma(100, 0.01, (150, 4))
    product = result.weights @ result.components
    draw = drawn_with_noise(data, result.weights, result.components)
    again = np.array([draw(np.random.default_rng(seed), len(data)) for seed in range(50)])
    assert again.min() >= 0
    longer = np.sqrt(1 / (1 - 2 / 4 - 2 / 150))
    np.testing.assert_allclose(
        again.std(axis=0), longer * np.abs(data - product), atol=0.2 * np.abs(data - product).max()
    )
    signed = drawn_with_noise(data - 1.0, result.weights, result.components)
    assert signed(np.random.default_rng(0), len(data)).min() < 0


def test_entries_that_noise_makes_too_small_have_room():
    """Rows must lie in the cone of the components, so that noise takes small entries to zero."""
    held = []
    for seed in range(9000, 9008):
        rng = np.random.default_rng(seed)
        truth = rng.gamma(1.0, 1.0, (3, 20)) * (rng.random((3, 20)) < 0.6)
        truth[:, :3] = 1.5 * np.eye(3)
        data = rng.dirichlet(np.full(3, 0.4), 300) @ truth * rng.gamma(100, 0.01, (300, 20))
        result = factorize(data, 3, method="hals", random_state=0, certify=False, max_iter=40)
        bars = with_error_bars(data, result, 12, random_state=seed).error_bars
        match = match_components(truth, result.components)
        known = np.asarray(match.components_like_truth(truth))
        small = (known > 0) & (known < 0.1)
        held.append(((bars.lower <= known) & (known <= bars.upper))[small])
    assert np.concatenate(held).mean() >= 0.9  # 0.78 without the estimate of the bias


def test_of_large_data_as_many_rows_show_the_bias_as_fit_or_it_is_said_to_be_missing(
    fitted, monkeypatch
):
    data, result, barred = fitted
    few = replace(error_bars.SETTINGS, most_entries=400)  # 100 of 150 rows
    monkeypatch.setattr(error_bars, "SETTINGS", few)
    rows = error_bars.rows_for_bias(data.shape, 2, np.random.default_rng(0))
    assert len(rows) == len(np.unique(rows)) == 100
    part = with_error_bars(data, result, 12)
    ratio = part.error_bars.standard_errors / barred.error_bars.standard_errors
    assert 0.4 < ratio.min() and ratio.max() < 2.5 and not (ratio == 1).all()
    assert not any("bias" in note for note in part.notes)
    monkeypatch.setattr(error_bars, "SETTINGS", replace(few, most_entries=30))
    without = with_error_bars(data, result, 12)
    assert any("bias that noise causes is not part" in note for note in without.notes)
    assert (without.error_bars.standard_errors <= barred.error_bars.standard_errors).all()


def test_a_component_matched_once_at_most_is_said_to_have_unknown_errors():
    errors = np.array([[0.1, 0.1], [np.inf, np.inf]])
    values = np.ones((2, 2))
    bars = ErrorBars(errors, values - errors, values + errors, "", 12, np.array([1.0, 0.0]))
    how, unstable, unknown = bars.notes(("A", "B"))
    assert "0.1 in the median" in how and "B is unstable" in unstable
    assert "errors of B are unknown and set to infinity" in unknown and "12 resamples" in unknown


def rows_in_groups(shared):
    """Thirty groups of ten rows; `shared` is the noise that the rows of a group have in common."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 10)
    rows = rng.dirichlet(np.full(3, 0.5), 300) @ rng.gamma(1.0, 1.0, (3, 20))
    rows += shared * rng.random((30, 20))[groups] + 0.02 * rng.random((300, 20))
    return rows, groups


@pytest.mark.parametrize("shared, doubted", [(0.0, False), (0.2, True)])
def test_neighbors_with_similar_residuals_are_doubted(shared, doubted):
    rows, groups = rows_in_groups(shared)
    found = factorize(rows, 3, method="hals", random_state=0, certify=False, max_iter=40)
    bars = with_error_bars(rows, found, 10).error_bars
    assert ("Neighboring rows have similar residuals" in bars.assumes) == doubted
    by_group = with_error_bars(rows, found, 10, groups=groups).error_bars
    assert "Neighboring" not in by_group.assumes


def test_components_that_unseen_rows_do_not_confirm_are_named():
    noise = np.random.default_rng(0).random((60, 12))
    found = factorize(noise, 2, method="hals", random_state=0, certify=False, max_iter=40)
    result = with_error_bars(noise, found, 10)
    assert "do not confirm component" in result.error_bars.assumes
    assert any("do not confirm component" in note for note in result.notes)


def test_few_groups_are_refused():
    rows, _ = rows_in_groups(0.0)
    found = factorize(rows, 3, method="hals", random_state=0, certify=False, max_iter=40)
    with pytest.raises(InvalidInput, match="9 groups"):
        with_error_bars(rows, found, 10, groups=np.arange(300) % 9)
