"""Experiments on real data: clear errors without it, and the protocol on made-up data."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.errors import InvalidInput
from provenmf.reproduce import claims, merit_real, rivals
from provenmf.reproduce.claims import Settings, contents
from provenmf.reproduce.merit import peak_megabytes
from provenmf.reproduce.merit_real import Contender, Trial, meet, topic_tables
from provenmf.reproduce.real_data import Collection

ON_DATA = ("and-table1", "and-fig5", *(f"merit-{n}" for n in ("table2", "table4", "fig6", "fig7")))


@pytest.mark.parametrize("name", ON_DATA)
def test_without_data_the_remedy_is_named(name, tmp_path):
    experiment = claims.experiment(name)
    with pytest.raises(InvalidInput, match=f"{name} needs real data.*--data DIR"):
        experiment.measure(Settings())
    with pytest.raises(InvalidInput, match="has no folder"):
        experiment.measure(Settings(data=tmp_path))


def made_up_collection(folder, rng, n_classes=4, n_words=60):
    """Documents of four classes with words of their own, and one trial with three classes."""
    topics = rng.dirichlet(0.1 * np.ones(n_words), n_classes)
    labels = np.repeat(np.arange(n_classes), 30)
    counts = np.array([rng.multinomial(60, 0.9 * topics[c] + 0.1 / n_words) for c in labels])
    rows = np.flatnonzero(labels < 3)
    rare = np.flatnonzero(np.count_nonzero(counts[rows], axis=0) <= 1)
    folder.mkdir()
    sp.save_npz(folder / "counts.npz", sp.csr_array(counts))
    np.savez(folder / "labels.npz", labels=labels)
    np.savez(
        folder / "splits.npz",
        sample_diff_3_9=np.diff(rows, prepend=0),
        zero_diff_3_9=np.diff(rare, prepend=0),
    )
    return counts, labels, rows, rare


def test_trials_are_the_documents_and_words_of_the_split(tmp_path):
    counts, labels, rows, rare = made_up_collection(tmp_path / "c", np.random.default_rng(0))
    read, classes = Collection.read(tmp_path / "c").trial(3, 9)
    np.testing.assert_array_equal(read.toarray(), np.delete(counts[rows], rare, axis=1))
    np.testing.assert_array_equal(classes, labels[rows])
    assert np.count_nonzero(read.toarray(), axis=0).min() >= 2


def test_protocol_and_table(tmp_path, monkeypatch):
    made_up_collection(tmp_path / "tdt2", np.random.default_rng(0))
    contenders = {
        "SPA": Contender("spa"),
        "LDA": Contender("gibbs"),
        "FastGradient": Contender("fast_gradient", most_words=10),
        "XRAY": Contender("xray", at_3=range(10, 11)),
        "find_topics": merit_real.CONTENDERS["find_topics"],
    }
    monkeypatch.setattr(merit_real, "CONTENDERS", contenders)
    found = meet(Collection.read(tmp_path / "tdt2"), 3, 9, Settings())
    assert [row["method"] for row in found] == ["SPA", "LDA", "find_topics"]
    rows = [{"corpus": "tdt2", **row} for row in found]
    for row in rows:
        assert row["Coherence"] < 0 and row["SimCount"] >= 0 and row["ClustAcc"] > 0.9
    tables = topic_tables(rows)
    spa = [row for row in tables["ClustAcc on tdt2"] if row["method"] == "SPA"]
    assert spa[0] == {
        "method": "SPA",
        "origin": "ours",
        "trials": 1,
        "K=3": rows[0]["ClustAcc"],
    }
    assert spa[1]["origin"] == "paper's print" and spa[1]["K=4"] == 0.83
    assert "ClustAcc on reuters21578" not in tables


def test_a_trial_measures_what_it_says():
    counts = sp.csr_array(np.kron(np.eye(2), np.ones((10, 6))) * 3)
    noise = np.random.default_rng(0).random((20, 12)) < 0.1
    counts = sp.csr_array(counts.toarray() + noise)
    trial = Trial(counts, np.repeat([0, 1], 10), 2, k_means_runs=1)
    assert trial.measure(Contender("spa"))["ClustAcc"] == 1.0
    assert trial.measure(Contender("gibbs"))["ClustAcc"] == 1.0


def test_of_several_options_the_best_counts(monkeypatch):
    def measured(self, method, options):
        return {"ClustAcc": 1 - abs(options["mu"] - 2), "mu": options["mu"]}

    monkeypatch.setattr(Trial, "measure_one", measured)
    options = [{"mu": mu} for mu in (1, 2, 3)]
    trial = Trial(sp.csr_array((2, 2)), np.zeros(2, dtype=int), 1)
    assert trial.measure(Contender("fast_gradient", options))["mu"] == 2


def test_words_are_points_of_the_scaled_cooccurrence():
    counts = sp.csr_array(np.random.default_rng(0).poisson(0.5, (40, 12)).astype(float))
    problem = merit_real.word_problem(counts, 3)
    features = problem.features.toarray()
    scaled = features.T @ features
    scaled = (scaled / np.maximum(scaled.sum(axis=1), 1e-300)[:, None])[problem.candidates]
    left, singular, _ = np.linalg.svd(scaled)
    best = (left[:, :6] * singular[:6] ** 2) @ left[:, :6].T
    np.testing.assert_allclose(problem.points @ problem.points.T, best, atol=1e-10)


def test_gibbs_sampling_finds_the_topics():
    rng = np.random.default_rng(0)
    topics = np.kron(np.eye(3), np.ones(5)) / 5
    weights = rng.dirichlet(np.full(3, 0.3), 200)
    counts = sp.csr_array(rng.poisson(60 * weights @ topics))
    found, shares = rivals.gibbs_lda(counts, 3, 0, sweeps=100)
    found = found / found.sum(axis=1, keepdims=True)
    order = np.argmax(found @ topics.T, axis=1)
    assert sorted(order) == [0, 1, 2]
    np.testing.assert_allclose(found, topics[order], atol=0.02)
    assert np.corrcoef(shares.ravel(), weights[:, order].ravel())[0, 1] > 0.95


def test_printed_tables_are_complete():
    for table in contents("published.toml")["table2"].values():
        for corpus in merit_real.CORPORA:
            assert {len(row) for row in table[corpus].values()} == {8}
            assert len(table[corpus]) == 7


def hold_megabytes(size):
    return np.ones(size * 2**17).sum()


def test_peak_memory_sees_what_was_held():
    peak, before = peak_megabytes(hold_megabytes, 200)
    assert 150 < peak - before < 260
