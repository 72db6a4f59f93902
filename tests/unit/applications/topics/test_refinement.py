"""Topics refined by crossed weights of documents."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import gammaln, psi
from scipy.stats import gamma

from provenmf import SPA
from provenmf.applications.topics.corpus import WordCounts
from provenmf.applications.topics.inference import (
    held_out_likelihood,
    infer_documents,
    mean_weights,
    topics_of,
)
from provenmf.applications.topics.refinement import (
    FOLDS,
    UNSEEN,
    CrossedCounts,
    CrossedWords,
    assigned_shares,
    documents_to_judge,
    folds_of,
    mean_of_likes,
    median_shares,
    shrunk_towards,
    words_of,
)
from provenmf.applications.topics.solver import count_problem, topics_at
from provenmf.data import as_blocks
from provenmf.datasets.corpora import topic_corpus
from provenmf.metrics.topics import match_topics


def a_corpus(n_documents=1500, **options):
    settings = {"word_concentration": 0.02, "zipf": 1.0, "random_state": 1, **options}
    return topic_corpus(n_documents, 4000, 12, **settings)


def topics_from_counts(matrix, k):
    counts = WordCounts(matrix)
    problem = count_problem(counts, k)
    anchors = problem.candidates[SPA(k, certify=False).fit(problem.points).anchors_]
    return topics_at(counts, problem.view, problem.words, anchors)


def crossed(corpus, left_out=(), counts=None):
    """The counts of a corpus in folds, and their weights as one array (documents, FOLDS, k)."""
    known = WordCounts(corpus.counts if counts is None else counts)
    left_out = np.array(left_out, dtype=int)
    found = CrossedCounts(known, corpus.topics, np.full(12, 0.1), left_out)
    return found, found._weights.array()


def test_refined_topics_are_closer_to_the_truth():
    corpus = a_corpus()
    found = topics_from_counts(corpus.counts, 12)
    assert found.refined
    read_off = topics_of(np.maximum(found.unbounded.T, 0), np.ones(4000))
    before = match_topics(read_off, corpus.topics).mean_distance
    assert match_topics(found.topics, corpus.topics).mean_distance < 0.85 * before
    np.testing.assert_allclose(found.topics.sum(axis=1), 1)


def test_weights_beside_a_word_do_not_know_it():
    corpus = a_corpus(60)
    _, weights = crossed(corpus)
    counts = corpus.counts
    folds = folds_of(counts, np.arange(60))
    for document in (0, 17, 59):
        entries = slice(counts.indptr[document], counts.indptr[document + 1])
        for fold in range(FOLDS):
            others = np.zeros((1, 4000))
            kept = folds[entries] != fold
            others[0, counts.indices[entries][kept]] = counts.data[entries][kept]
            expected = mean_weights(sp.csr_array(others), corpus.topics, np.full(12, 0.1))
            np.testing.assert_allclose(weights[document, fold], expected[0], atol=1e-6)


def test_folds_are_even_and_do_not_depend_on_the_blocks():
    corpus = a_corpus(300)
    counts = corpus.counts
    folds = folds_of(counts, np.arange(300))
    share = np.bincount(folds, minlength=FOLDS) / len(folds)
    np.testing.assert_allclose(
        share, 1 / FOLDS, atol=4 * np.sqrt((FOLDS - 1) / FOLDS**2 / len(folds))
    )
    part = folds_of(counts[100:200], np.arange(100, 200))
    np.testing.assert_array_equal(part, folds[counts.indptr[100] : counts.indptr[200]])


def test_shares_of_words_are_those_of_a_word_at_a_time():
    """Rounds over all documents at once end where inference word by word ends."""
    corpus = a_corpus(1000)
    found, _ = crossed(corpus, left_out=np.arange(20))
    frequencies = found.counts.frequencies
    first = np.full((4000, 12), 1 / 12)
    words = np.arange(0, 4000, 40)
    sample = words_of(found, words, frequencies, first)
    prior = np.repeat(30.0 * frequencies[:, None], 12, axis=1)
    together = found.shares(sample.how(0.9, 30.0), prior, first)[words]
    one_by_one = sample.shares(0.9, 30.0)
    seen = np.diff(sample.counts.indptr) > 0
    assert np.abs(together - one_by_one)[seen].sum(axis=1).mean() < 0.02


def test_blocks_of_any_size_give_the_same_refined_topics():
    corpus = a_corpus()
    whole = topics_from_counts(corpus.counts, 12)
    parts = topics_from_counts(as_blocks(corpus.counts, block_rows=170), 12)
    assert whole.refined and parts.refined
    np.testing.assert_allclose(parts.topics, whole.topics, atol=2e-6)


def test_bound_is_that_of_the_gamma_poisson_model():
    """The same as the expected log joint minus that of the approximation, written out."""
    rng = np.random.default_rng(2)
    n_words, n_columns, k = 5, 30, 3
    counts = sp.csr_array(rng.poisson(0.4, (n_words, n_columns)).astype(float))
    weights = rng.dirichlet(np.ones(k), n_columns).astype(np.float32)
    lengths = np.full(n_columns, 2.0)
    mean = lengths @ weights / lengths.sum()
    frequencies = np.full(n_words, 1 / n_words)
    model = CrossedWords(
        counts, weights, mean, lengths.sum(), frequencies, np.full((n_words, k), 1 / k)
    )
    dense = counts.toarray()

    def oracle(trust, strength):
        prior = strength * frequencies[:, None]
        shapes = model.shares(trust, strength) * (dense.sum(axis=1)[:, None] + k * prior)
        rates = strength + lengths.sum() * mean
        logs = psi(shapes) - np.log(rates)
        mixed = trust * weights + (1 - trust) * mean
        total = 0.0
        for w in range(n_words):
            for d in range(n_columns):
                parts = np.exp(logs[w]) * mixed[d]
                total += dense[w, d] * np.log(parts.sum())
            for t in range(k):
                g, a, r = shapes[w, t], prior[w, 0], rates[t]
                total -= g / r * lengths.sum() * mean[t]
                total += a * np.log(strength) - gammaln(a) + (a - 1) * logs[w, t] - strength * g / r
                total += g - np.log(r) + gammaln(g) + (1 - g) * psi(g)
        return total

    settings = [(0.9, 3.0), (0.6, 3.0), (0.9, 11.0)]
    ours = np.array([model.bound(*each) for each in settings])
    theirs = np.array([oracle(*each) for each in settings])
    np.testing.assert_allclose(ours - ours[0], theirs - theirs[0], rtol=1e-4, atol=1e-4)


def test_shares_follow_the_medians_of_their_gamma_distributions():
    means = np.array([[0.5, 0.3, 0.2], [0.9, 0.1, 0.0], [1.0, 0.0, 0.0], [0.2, 0.3, 0.5]])
    totals = np.array([5000.0, 3.0, 1.0, 1e-9])
    found = median_shares(means, totals)
    medians = gamma.median(means[1] * totals[1] + 1e-300)
    np.testing.assert_allclose(found[1], medians / medians.sum(), atol=1e-12)
    np.testing.assert_allclose(found[0], means[0], atol=1e-3)  # well known: no skew is left
    np.testing.assert_allclose(found[2:], means[2:])  # no median above zero: the means stay
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_well_known_words_stay_and_others_are_refined():
    rng = np.random.default_rng(3)
    shares, refined = rng.dirichlet(np.ones(4), 50), rng.dirichlet(np.ones(4), 50)
    variances = np.full(50, 1e-8)
    variances[40:] = np.inf
    found = shrunk_towards(refined, shares, variances, np.full(50, 0.02))
    np.testing.assert_allclose(found[:40], shares[:40], atol=1e-5)
    np.testing.assert_array_equal(found[40:], refined[40:])
    all_noise = shrunk_towards(refined, shares, np.full(50, 10.0), np.full(50, 0.02))
    np.testing.assert_array_equal(all_noise, refined)


def test_means_of_words_about_as_frequent():
    frequencies = np.array([0.5, 0.25, 0.125, 0.125])
    values = np.array([1.0, 2.0, 3.0, 5.0])
    np.testing.assert_allclose(mean_of_likes(values, frequencies), values)  # groups of one word
    equal = np.ones(16)
    np.testing.assert_allclose(
        mean_of_likes(np.arange(16.0), equal), np.repeat(np.arange(0.5, 16, 2), 2)
    )
    np.testing.assert_array_equal(mean_of_likes(np.ones(3), np.zeros(3)), 0.0)


def test_few_documents_are_not_refined():
    assert len(documents_to_judge(999)) == 0
    assert len(documents_to_judge(1000)) == 100
    assert len(documents_to_judge(50_000)) == 500
    assert not topics_from_counts(a_corpus(300).counts, 12).refined


def test_true_topics_make_held_out_words_likelier():
    corpus = a_corpus(200)
    prior = np.full(12, 0.1)
    true = held_out_likelihood(corpus.counts, corpus.topics, prior)
    wrong = held_out_likelihood(corpus.counts, np.roll(corpus.topics, 1, axis=1), prior)
    assert wrong < true < 0


@pytest.mark.parametrize("closer", [0.05, 0.1])
def test_topics_too_close_to_each_other_are_not_likelier_than_true_ones(closer):
    """Weights that are too sure of themselves favour them, where nothing makes up for it."""
    corpus = a_corpus(600)
    prior = np.full(12, 0.1)
    close = (1 - closer) * corpus.topics + closer * corpus.topics.mean(axis=0)
    likelihoods = [
        held_out_likelihood(corpus.counts, topics, prior) for topics in (close, corpus.topics)
    ]
    assert likelihoods[0] < likelihoods[1]


@pytest.mark.parametrize("block_rows", [40, 7])
def test_one_step_counts_what_each_occurrence_has_of_each_topic(block_rows):
    corpus, prior = topic_corpus(40, 60, 3, random_state=2), np.full(3, 0.1)
    counts, left_out = corpus.counts.toarray(), np.array([0, 7, 39])
    counts[:, 5] = 0
    weights = infer_documents(sp.csr_array(counts), corpus.topics, prior)
    weights[left_out] = 0
    expected = np.full((60, 3), UNSEEN)
    for document, word in zip(*np.nonzero(counts)):
        shares = weights[document] * corpus.topics[:, word]
        expected[word] += counts[document, word] * shares / max(shares.sum(), 1e-300)
    known = WordCounts(as_blocks(sp.csr_array(counts), block_rows=block_rows))
    found = assigned_shares(known, corpus.topics, prior, left_out)
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True), rtol=1e-4)
