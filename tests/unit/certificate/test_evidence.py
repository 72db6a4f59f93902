"""Evidence on unseen rows: validity on null data, power on drawn data, bad input."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import HALS, PoissonNMF
from provenmf.certificate.evidence import Halves, combine, confirm_components, numbered_units
from provenmf.certificate.judging import (
    _batches,
    _log_evalue,
    _log_wealth,
    block_of_columns,
    improve_weights_in_place,
    subtract_likelihood_in_place,
)
from provenmf.errors import InvalidInput
from provenmf.results.estimates import Evidence


def drawn(seed, *, counts=True, n=300, d=40, k=4):
    rng = np.random.default_rng(seed)
    mean = rng.dirichlet(np.full(k, 0.5), n) @ rng.dirichlet(np.full(d, 0.3), k)
    if counts:
        return rng.poisson(100 * mean).astype(float)
    return np.maximum(10 * mean + 0.05 * rng.standard_normal((n, d)), 0)


def judged(X, k, *, counts=True, **options):
    method = PoissonNMF if counts else HALS

    def find(rows):
        return method(k, random_state=0, certify=False, max_iter=200).fit(X[rows]).components_

    return confirm_components(X, find, find(np.arange(X.shape[0])), counts=counts, **options)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("counts", [True, False])
def test_true_components_are_confirmed_and_too_many_are_not(counts):
    X = drawn(0, counts=counts)
    right, many = judged(X, 4, counts=counts), judged(X, 6, counts=counts)
    assert right.confirmed == (0, 1, 2, 3)
    assert right.confidence > 0.95
    assert len(many.confirmed) <= 4
    assert max(right.errors) < 5  # degrees


def test_components_of_large_counts_are_confirmed_though_they_vary_far_more_than_poisson():
    """A prior of 30 counts at most left one of three, and none of the leukemia samples'."""
    rng = np.random.default_rng(1)
    profiles = rng.dirichlet(np.full(40, 0.3), 3)
    mean = 3000 * rng.gamma(1, 1, (600, 1)) * (rng.dirichlet(np.full(3, 0.5), 600) @ profiles)
    X = rng.poisson(mean * rng.gamma(1, 1, mean.shape)).astype(float)
    assert judged(X, 3).confirmed == (0, 1, 2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nothing_is_confirmed_without_structure():
    false = 0
    for seed in range(10):
        X = np.random.default_rng(seed).poisson(3, (200, 30)).astype(float)
        false += len(judged(X, 3).confirmed) > 0
    assert false == 0


def test_a_duplicated_component_is_not_confirmed_twice():
    X = drawn(1)
    H = PoissonNMF(4, random_state=0, certify=False).fit(X).components_
    doubled = np.vstack([H, H[:1]])
    evidence = confirm_components(X, lambda rows: doubled, doubled, counts=True)
    assert not {0, 4} & set(evidence.confirmed)
    assert {1, 2, 3} <= set(evidence.confirmed)


@pytest.mark.parametrize("draw", ["gaussian", "cauchy", "skewed", "rare"])
def test_e_values_of_gains_without_mean_are_seldom_large(draw):
    rng = np.random.default_rng(3)
    large = 0
    for _ in range(400):
        gains = {
            "gaussian": lambda n: rng.standard_normal(n),
            "cauchy": lambda n: rng.standard_cauchy(n),
            "skewed": lambda n: 1.0 - rng.exponential(1.0, n),
            "rare": lambda n: np.where(rng.random(n) < 0.5, 1, -1) * (rng.random(n) < 0.01) * 50.0,
        }[draw]
        clip = np.quantile(np.abs(gains(200)), 0.98)
        large += _log_evalue(_log_wealth(gains(200)[:, None], np.array([clip]))) > np.log(20)
    assert large <= 400 * 0.05


def test_rows_of_a_group_count_once():
    X = np.repeat(drawn(2, n=15), 20, axis=0)  # 300 rows, 15 of them independent
    groups = np.repeat(np.arange(15), 20)
    evidence = judged(X, 3, groups=groups)
    assert set(evidence.judgements) == {"cannot be judged"}
    assert "15 groups of rows" in evidence.reason


@pytest.mark.parametrize(
    "X, k, reason",
    [
        (np.ones((30, 5)), 2, "there is 1 different row,"),
        (
            np.arange(90.0).reshape(30, 3),
            4,
            "4 components need at least 5 columns, and the data have 3",
        ),
        (np.ones((30, 1)) * np.arange(30.0)[:, None], 1, "1 component needs at least 3 columns"),
        (np.zeros((30, 8)), 2, "all entries are zero"),
        (np.full((30, 8), np.nan), 2, "missing entries"),
        (
            np.arange(1500.0).reshape(30, 50),
            20,
            "20 components need at least 40 rows, and there are 30",
        ),
    ],
)
def test_what_cannot_be_judged_says_why(X, k, reason):
    evidence = confirm_components(
        X, lambda rows: np.ones((k, X.shape[1])), np.ones((k, X.shape[1]))
    )
    assert set(evidence.judgements) == {"cannot be judged"}
    assert reason in evidence.reason
    assert reason in evidence.sentences()[0]


def test_copies_of_rows_stay_in_one_half():
    X = np.repeat(drawn(2, n=30), 10, axis=0)  # three components that would be the rows themselves

    def find(rows):
        assert all((X[rows] == row).all(axis=1).sum() == 10 for row in X[rows[:3]])
        return X[rows[:2]]

    for data in (X, sp.csr_array(X)):
        assert confirm_components(data, find, X[:2]).n_units == 30


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_neighboring_channels_do_not_predict_each_other():
    """Smooth noise was confirmed as components in 12 of 30 data sets like these."""
    channels, false = np.arange(40), 0
    kernel = np.exp(-0.5 * ((channels[:, None] - channels) / 2.5) ** 2)
    for seed in range(6):
        noise = np.random.default_rng(seed).standard_normal((1000, 40))
        X = np.maximum(5 + np.sin(channels / 6) + 0.2 * noise @ kernel, 0)
        false += len(judged(X, 3, counts=False).confirmed) > 1
    assert false == 0


def test_blocks_are_twice_as_long_as_columns_are_alike():
    noise = np.random.default_rng(0).standard_normal((200, 66))
    moving = sum(noise[:, lag : lag + 60] for lag in range(5))  # correlations .8, .6, .4, .2, 0
    assert block_of_columns(noise) == 1
    assert block_of_columns(moving) in (6, 8)
    assert block_of_columns(noise + 2 * noise[:, :1]) == 1  # all are alike
    assert block_of_columns(np.zeros((3, 4))) == 1


def test_more_rows_are_asked_where_some_do_not_suffice():
    """Texts of four words: a thousand of each half say little, four thousand enough."""
    mean = drawn(7, counts=False, n=8000)
    X = np.random.default_rng(0).poisson(4 * mean / mean.sum(axis=1, keepdims=True)).astype(float)
    H = PoissonNMF(4, random_state=0, certify=False).fit(mean).components_
    few = confirm_components(X[:2000], lambda rows: H, H, counts=True)
    many = confirm_components(X, lambda rows: H, H, counts=True)
    assert set(few.confirmed) < set(many.confirmed)


def test_sparse_and_dense_rows_agree():
    X = drawn(5)
    H = PoissonNMF(4, random_state=0, certify=False).fit(X).components_
    for counts in (True, False):
        dense = confirm_components(X, lambda rows: H, H, counts=counts)
        sparse = confirm_components(sp.csr_array(X), lambda rows: H, H, counts=counts)
        assert np.allclose(dense.error_probabilities, sparse.error_probabilities)


def test_weights_are_those_of_em_on_seen_columns_and_predict_unseen_ones():
    rng = np.random.default_rng(0)
    X, H = rng.poisson(2.0, (6, 12)).astype(float), rng.dirichlet(np.ones(12), 3)
    X[2] = 0
    seen = rng.random(12) < 0.6
    prior, strength, flat = np.array([0.5, 0.3, 1.2]), 2.0, np.full(6, 0.01)
    sums = H[:, seen].sum(axis=1)
    rows, found, loss = sp.csr_array(X), rng.random((6, 3)), np.zeros(6)
    start = found.copy()
    entries = rows.indptr, rows.indices, rows.data, seen, H
    improve_weights_in_place(*entries, prior, sums, strength, 25, found)
    subtract_likelihood_in_place(*entries, found, flat, loss)
    assert (found[2] == start[2]).all()
    for x, v, w, own in zip(X, start, found, loss):
        assert np.isclose(own, -(x * np.log(w @ H + 0.01))[~seen].sum())
        if not x.any():
            continue
        x, part = x[seen], H[:, seen]
        for _ in range(25):
            v = v * ((x / (v @ part)) @ part.T) + prior
            v /= sums * (1 + strength / x.sum())
        assert np.allclose(w, v)


def test_the_sentence_speaks_of_the_application():
    evidence = judged(drawn(6), 4, noun="topic", row="document")
    assert "All 4 topics are confirmed in documents" in evidence.sentences()[0]


SURE = "documents that were not used to find them (99.9 % sure if documents are independent)"
OFF = "off, rarely twice as much, as two halves of the documents show."


@pytest.mark.parametrize(
    "judgements, said",
    [
        (
            "ccdcc",
            f"4 of 5 topics are confirmed in {SURE}; topic 3 differs between halves of the "
            "documents: do not interpret it, or use 4 topics. The word probabilities of the "
            f"confirmed topics are about 1 % {OFF}",
        ),
        (
            "cdc",
            f"2 of 3 topics are confirmed in {SURE}; topic 2 differs between halves of the "
            "documents: do not interpret it, or try fewer topics or more documents. The word "
            f"probabilities of the confirmed topics are about 1 % {OFF}",
        ),
        (
            "cnnd",
            f"1 of 4 topics is confirmed in {SURE}; topic 4 differs between halves of the "
            "documents: do not interpret it, or use 3 topics; topics 2 and 3 are the same in both "
            "halves, but few documents need them: use more documents or fewer topics. The word "
            f"probabilities of the confirmed topic are about 1 % {OFF}",
        ),
        (
            "dd",
            "The 2 topics are not the same in two halves of the documents: do not interpret them; "
            "try fewer topics or more documents.",
        ),
        (
            "nn",
            "Neither topic is confirmed in documents that were not used to find them, though both "
            "halves show the same ones: do not interpret them; try fewer topics or more documents.",
        ),
        (
            "ndn",
            "None of the 3 topics is confirmed in documents that were not used to find them, "
            "though both halves show topics 1 and 3: do not interpret them; try fewer topics or "
            "more documents.",
        ),
        (
            "n",
            "The topic is not confirmed in documents that were not used to find it: do not "
            "interpret it; try more documents.",
        ),
        (
            "cc",
            f"Both topics are confirmed in {SURE}. The word probabilities of the topics are about "
            f"1 % {OFF}",
        ),
    ],
)
def test_sentences_say_which_are_real_and_what_to_do(judgements, said):
    words = tuple("confirmed" if word == "c" else "not confirmed" for word in judgements)
    wrong = tuple(0.001 if word == "c" else 0.9 for word in judgements)
    again = tuple(word != "d" for word in judgements)
    evidence = Evidence(words, wrong, (2.0,) * len(words), found_again=again, noun="topic")
    evidence = replace(evidence, row="document", entries="word probabilities", measure="%")
    assert " ".join(evidence.sentences()) == said
    assert [evidence.in_words(j) for j in range(len(words))].count(
        "differs between halves"
    ) == judgements.count("d")


def test_components_of_no_application_are_off_by_chance_and_bias():
    evidence = Evidence(("confirmed",) * 3, (0.01,) * 3, (2.0, 3.0, 8.0), found_again=(True,) * 3)
    assert evidence.sentences()[1] == (
        "The components are about 1.5 degrees off by chance (component 3: 4), as two halves of the "
        "rows show, plus any bias that both halves share."
    )


def test_what_depends_on_what_is_said():
    evidence = Evidence(("confirmed",) * 2, (0.01,) * 2, (2.0, 3.0), found_again=(True,) * 2)
    evidence = replace(evidence, units="tiles of pixels")
    evidence = replace(evidence, doubt="Neighboring rows have similar residuals (correlation 0.3)")
    assert "(99 % sure if tiles of pixels are independent)" in evidence.sentences()[0]
    assert evidence.sentences()[1] == (
        "Neighboring rows have similar residuals (correlation 0.3), so they may not be "
        "independent: name the groups that belong together."
    )


def halves_with(versions, *log_e):
    """Return halves in which each component of a side has the same log e-value."""

    def judge(side, loss, asked, enough):
        return np.full(len(asked), log_e[side % len(log_e)])

    return Halves(versions, judge)


def test_versions_nearer_to_other_components_are_not_the_same():
    """A mixture of two materials was confirmed: spectra have large cosines whatever they are of."""
    whole = np.array([[1, 0.1], [1, 0.4]])
    first = np.array([[1, 0.0], [1, 0.3]])
    apart = halves_with((first, np.array([[1, 0.32], [1, 0.5]])), 50.0)
    same = halves_with((first, first + 0.01), 50.0)
    assert combine(whole, [apart], 100).confirmed == ()
    assert combine(whole, [same], 100).confirmed == (0, 1)
    assert combine(whole, [apart, same, same], 100, n_bets=(3, 1)).confirmed == (0, 1)
    assert combine(whole, [apart, same], 100, n_bets=(2, 1)).confirmed == ()


def test_e_values_of_splits_are_averaged():
    whole = np.eye(2)
    sure, unsure = (halves_with((whole, whole), log) for log in (5.0, -9.0))
    once = combine(whole, [sure], 100)
    thrice = combine(whole, [sure, unsure, unsure], 100, n_bets=(3, 1))
    assert thrice.error_probabilities == pytest.approx(
        np.multiply(3, once.error_probabilities), rel=1e-5
    )


def test_a_choice_of_the_whole_data_counts():
    whole = np.eye(2)
    found = [halves_with((whole, whole), 5.0)]
    once = combine(whole, found, 100)
    assert combine(whole, found, 100, ways=3).error_probabilities == pytest.approx(
        np.multiply(3, once.error_probabilities)
    )


def test_what_is_beyond_doubt_or_differs_is_not_judged():
    whole, all_asked = np.eye(3), []

    def judge(side, loss, asked, enough):
        all_asked.append(asked)
        return np.array([50.0, 1.0, 1.0])[asked]

    turned = np.array([[1, 0, 0], [0, 1, 0], [0, 1.5, 1]])
    evidence = combine(whole, [Halves((whole, turned), judge)], 100)
    assert all_asked == [[0, 1], [1]]
    assert evidence.confirmed == (0,)
    assert evidence.error_probabilities[0] == pytest.approx(6 * np.exp(-50.0))  # half of e
    sure = halves_with((whole, whole), 50.0)
    assert combine(whole, iter([sure, None]), 100, n_bets=(2, 1)).confirmed == (0, 1, 2)


def test_units_that_judge_together_double_and_stay_whole():
    units = np.repeat(np.arange(700), 3)
    parts = list(_batches(np.arange(600, 2100), units, np.random.default_rng(0)))
    judges = [units[rows] for rows in parts]
    assert [len(np.unique(some)) for some in judges] == [125, 125, 250]
    assert len(np.unique(np.concatenate(judges))) == 500 == sum(map(len, parts)) / 2


def test_wrong_groups_are_named():
    with pytest.raises(InvalidInput, match="groups"):
        confirm_components(
            np.ones((30, 5)), lambda rows: np.ones((1, 5)), np.ones((1, 5)), groups=[1]
        )


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([None] * 30, "no name for 30 rows"),
        ([1.0, np.nan] * 15, "no name for 15 rows"),
        (["a", None] * 15, "no name for 15 rows"),
        ([[1], [1, 2]] * 15, "one group for each of 30 rows"),
    ],
)
def test_rows_without_a_group_are_refused(groups, message):
    with pytest.raises(InvalidInput, match=message):
        numbered_units(groups, 30)


def test_names_of_groups_may_be_of_several_types():
    mixed = np.array(["a", 1, 2.5, "a"], dtype=object)
    np.testing.assert_array_equal(numbered_units(mixed, 4), [2, 0, 1, 2])
