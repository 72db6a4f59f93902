"""Experiments on real data: clear errors without it, and the protocol on made-up data."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.errors import InvalidInput
from provenmf.reproduce import and_real, merit_real, published
from provenmf.reproduce.experiment import Settings
from provenmf.reproduce.memory import peak_megabytes
from provenmf.reproduce.real_data import Collection
from provenmf.reproduce.topic_protocol import Contender, measure_trial

EXPERIMENTS = merit_real.EXPERIMENTS + and_real.EXPERIMENTS


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_without_data_the_remedy_is_named(experiment, tmp_path):
    with pytest.raises(InvalidInput, match=f"{experiment.name} needs real data.*--data DIR"):
        experiment.run(Settings())
    with pytest.raises(InvalidInput, match="has no folder"):
        experiment.run(Settings(data=tmp_path))


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
        sample_diff_3_1=np.diff(rows, prepend=0),
        zero_diff_3_1=np.diff(rare, prepend=0),
    )
    return counts, labels, rows, rare


def test_trials_are_the_documents_and_words_of_the_split(tmp_path):
    counts, labels, rows, rare = made_up_collection(tmp_path / "c", np.random.default_rng(0))
    read, classes = Collection.read(tmp_path / "c").trial(3, 1)
    np.testing.assert_array_equal(read.toarray(), np.delete(counts[rows], rare, axis=1))
    np.testing.assert_array_equal(classes, labels[rows])
    assert np.count_nonzero(read.toarray(), axis=0).min() >= 2


def test_protocol_and_table(tmp_path):
    made_up_collection(tmp_path / "tdt2", np.random.default_rng(0))
    contenders = {
        "SPA": Contender("spa"),
        "LDA": Contender("lda"),
        "FastGradient": Contender("fast_gradient", {}, most_words=10),
        "find_topics": Contender("find_topics", {"method": "spa"}),
    }
    scores = merit_real.topic_scores(tmp_path / "tdt2", 3, [1], 0, contenders)
    assert scores.keys() == {"SPA", "LDA", "find_topics"}
    for rows in scores.values():
        coherence, shared, accuracy = rows[0]
        assert coherence < 0 and shared >= 0 and accuracy > 0.9
    scores |= {"MERIT": scores["SPA"], "our MERIT": scores["SPA"]}
    outcome = merit_real.topic_outcome({"tdt2": {3: scores}})
    table = outcome.tables["ClustAcc on tdt2: ours (paper's)"]
    spa = next(row for row in table if row["method"] == "SPA")
    assert spa["K=3"] == f"{scores['SPA'][0][2]:.2f} (0.87)"
    gradient = next(row for row in table if row["method"] == "FastGradient")
    assert gradient["K=3"] == "not run"
    assert outcome.holds is (scores["find_topics"][0][2] >= 0.88)


def test_a_trial_measures_what_it_says():
    counts = sp.csr_array(np.kron(np.eye(2), np.ones((10, 6))) * 3)
    noise = np.random.default_rng(0).random((20, 12)) < 0.1
    counts = sp.csr_array(counts.toarray() + noise)
    classes = np.repeat([0, 1], 10)
    result = measure_trial(counts, classes, 2, {"SPA": Contender("spa")}, k_means_runs=1)
    assert result["SPA"][2] == 1.0


def test_printed_tables_are_complete():
    for table in published.TOPIC_MEASURES.values():
        for corpus in merit_real.CORPORA:
            assert {len(row) for row in table[corpus].values()} == {8}
            assert len(table[corpus]) == 7


def hold_megabytes(size):
    return np.ones(size * 2**17).sum()


def test_peak_memory_sees_what_was_held():
    peak, before = peak_megabytes(hold_megabytes, 200)
    assert 150 < peak - before < 260
