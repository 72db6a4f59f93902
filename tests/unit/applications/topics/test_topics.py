import importlib
import re
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import load
from provenmf.applications import Topics, count_words, find_topics as find_and_confirm
from provenmf.applications.topics.corpus import WordCounts, tf_idf
from provenmf.applications.topics.find import pooled_shares
from provenmf.applications.topics.inference import topics_of
from provenmf.budget import blas_controller
from provenmf.data import as_blocks
from provenmf.datasets.corpora import topic_corpus
from provenmf.errors import DegenerateData, InvalidInput
from provenmf.io import Corpus
from provenmf.metrics.matching import clustering_accuracy
from provenmf.metrics.topics import match_topics, relevance, top_words

find_topics = partial(find_and_confirm, evidence=False)

SUBJECTS = {
    "sea": "fish boat water wave sailor harbour net storm".split(),
    "sky": "bird wing cloud star feather wind nest flight".split(),
    "kitchen": "bread oven butter flour sugar spoon pan recipe".split(),
}
SHARED = "day people small large house time".split()


def small_corpus(n_documents=150, length=30):
    rng = np.random.default_rng(0)
    texts, classes = [], []
    for number in range(n_documents):
        name = list(SUBJECTS)[number % 3]
        words = rng.choice(SUBJECTS[name], length).tolist() + rng.choice(SHARED, 10).tolist()
        texts.append(" ".join(words))
        classes.append(name)
    return texts, classes


@pytest.mark.parametrize("method", ["spa", "xray"])
def test_topics_are_the_subjects(method):
    texts, classes = small_corpus()
    result = find_topics(count_words(texts), 3, method=method)
    found = {frozenset(words) for words in result.top_words(8)}
    assert found == {frozenset(words) for words in SUBJECTS.values()}
    assert clustering_accuracy(result.document_weights.argmax(axis=1), classes) == 1.0
    for anchor, words in zip(result.anchor_words, result.top_words(8)):
        assert anchor in words
    others = {word for words in SUBJECTS.values() for word in words}
    for words in result.top_words(20):  # words that a topic does not have are left out
        assert len(others & set(words)) == 8
    np.testing.assert_allclose(result.topics.sum(axis=1), 1)
    np.testing.assert_allclose(result.document_weights.sum(axis=1), 1)


def test_tf_idf_is_the_papers():
    counts = sp.csr_array(np.array([[2.0, 1, 0], [1, 0, 0], [0, 4, 0]]))
    dense = tf_idf(counts).toarray()
    assert dense[0, 0] == pytest.approx((1 + np.log(2)) * np.log(3 / 2))
    assert dense[2, 1] == pytest.approx((1 + np.log(4)) * np.log(3 / 2))
    assert counts.toarray()[0, 0] == 2.0


def test_the_record_holds_all_that_a_report_needs(tmp_path):
    texts, _ = small_corpus()
    texts[5] = "<script>alert(1)</script> " * 3 + texts[5]
    texts[8] = "unique"
    corpus = Corpus(texts, [f"file {n}" for n in range(len(texts))])
    result = find_topics(count_words(corpus), 3, method="spa")
    result.save(tmp_path / "r.npz")
    loaded = load(tmp_path / "r.npz")
    assert loaded == result and isinstance(loaded, Topics)
    assert loaded.topics.shape == (3, len(loaded.vocabulary))
    assert loaded.vocabulary[loaded.anchor_columns].tolist() == list(result.anchor_words)
    best = loaded.document_weights.argmax(axis=0)
    assert loaded.example_documents[:, 0].tolist() == best.tolist()
    assert loaded.row_names[best[0]] == f"file {best[0]}"
    assert loaded.example_texts[1, 0] == texts[best[1]][:400]
    assert "1 document has no words left, and so no weights" in loaded.notes
    assert loaded.document_weights[8].tolist() == [0, 0, 0]
    given = count_words(corpus, min_documents=1).vocabulary
    everything = find_topics(count_words(corpus, min_documents=1), 3, method="spa")
    assert "unique" in given and "unique" not in everything.vocabulary
    assert given[everything.word_columns].tolist() == everything.vocabulary.tolist()


@pytest.mark.parametrize("kind", [list, np.array, lambda texts: Corpus(texts, texts)])
def test_texts_are_counted(kind):
    texts = small_corpus(60)[0]
    expected = find_topics(count_words(texts), 3)
    np.testing.assert_array_equal(find_topics(kind(texts), 3).topics, expected.topics)
    chosen = [*SUBJECTS["sea"], *SUBJECTS["sky"]]
    found = find_topics(kind(texts), 2, vocabulary=chosen)
    assert set(found.vocabulary) == set(chosen)


def test_counts_with_the_names_of_their_words():
    frames = pytest.importorskip("pandas")
    counts = count_words(small_corpus(60)[0])
    expected = find_topics(counts, 3)
    frame = frames.DataFrame(counts.matrix.toarray(), columns=counts.vocabulary)
    assert find_topics(frame, 3).anchor_words == expected.anchor_words
    columns = {str(word): number for number, word in enumerate(counts.vocabulary)}
    found = find_topics(counts.matrix, 3, vocabulary=columns)
    assert found.anchor_words == expected.anchor_words
    assert len(found) == 3 and list(found) == found.top_words()
    assert found.top_words()[0][0] in str(found)
    table = found.topic_info()
    assert table["topic"].tolist() == [1, 2, 3] and table["share"].is_monotonic_decreasing
    assert table["documents"].sum() == 60


def test_options_about_texts_are_refused_for_counts():
    with pytest.raises(InvalidInput, match="stop_words is about texts"):
        find_topics(np.ones((5, 5)), 2, stop_words="german")
    with pytest.raises(InvalidInput, match="stop_words"):
        find_topics(np.ones((5, 5)), 2, stop_words=np.array(["the", "of"]))


def test_texts_of_a_series_generator_or_table():
    frames = pytest.importorskip("pandas")
    texts = small_corpus(60)[0]
    series = frames.Series(texts).sample(frac=1.0, random_state=0)
    found = find_topics(series[series.str.len() > 0], 3)
    for place, text in zip(found.example_documents.ravel(), found.example_texts.ravel()):
        assert series.iloc[place].startswith(text)
    again = find_topics((text for text in series), 3)
    np.testing.assert_array_equal(again.topics, found.topics)
    with pytest.raises(InvalidInput, match=r"give one column, as in documents\['body'\]"):
        find_topics(frames.DataFrame({"year": 1, "body": texts}), 3)
    with pytest.raises(InvalidInput, match=r"documents\[1\] is missing, not a text \(<NA>\)"):
        find_topics(frames.Series(["ship sail", frames.NA]), 2)


def test_several_words_or_a_tokenizer():
    texts = ["red ship sails", "red ship rows", "blue sky", "blue sky shines"] * 3
    pairs = count_words(texts, ngram_range=(1, 2))
    assert {"red ship", "blue sky", "ship"} <= set(pairs.vocabulary)
    found = find_topics(texts, 2, ngram_range=(2, 2))
    assert set(found.vocabulary) <= {
        "red ship",
        "blue sky",
        "ship sails",
        "ship rows",
        "sky shines",
    }
    np.testing.assert_allclose(found.transform(texts), found.document_weights)
    marked = find_topics(texts, 2, tokenizer=lambda text: [f"<{w}>" for w in text.split()])
    assert "<ship>" in marked.vocabulary
    np.testing.assert_allclose(marked.transform(texts), marked.document_weights)


@pytest.mark.parametrize(
    "documents, message",
    [
        ("one text", "documents is one text"),
        ([["a b"], ["c d"]], "documents .* <U3 entries"),
        (None, "documents .* object entries"),
        (["ship sail", None], r"documents\[1\] is missing"),
        (["ship sail", float("nan")], "put '' in their place"),
        (["ship sail", 3], r"documents\[1\] is int"),
        ([], "documents is empty"),
        (np.ones(5), r"documents has shape \(5,\)"),
        ([[1, 2], [3]], "documents has rows of different lengths"),
        ([[1, np.nan], [1, 2]], "documents has entries that are not finite"),
    ],
)
def test_what_documents_cannot_be(documents, message):
    with pytest.raises(InvalidInput, match=message):
        find_topics(documents, 2)


def test_topics_from_documents():
    result = find_topics(count_words(small_corpus()[0]), 3, method="hals", random_state=0)
    found = {frozenset(words) for words in result.top_words(8)}
    assert found == {frozenset(words) for words in SUBJECTS.values()}
    assert result.anchor_words == ()
    assert result.anchor_columns is None
    as_in_the_paper = find_topics(small_corpus()[0], 3, method="and_descent", random_state=0)
    parameters = as_in_the_paper.factorization.parameters
    assert (parameters["init"], parameters["schedule"]) == ("random-rows", "paper")
    assert len(find_topics(small_corpus()[0], None, method="and_descent").topics) > 1


def test_numbers_of_topics():
    counts = count_words(small_corpus(12)[0])
    for wrong in (0, 13):
        with pytest.raises(InvalidInput, match=f"n_topics={wrong} must be .* 12 documents"):
            find_topics(counts, wrong)
    for wrong in (2.5, "3"):
        with pytest.raises(InvalidInput, match="whole number"):
            find_topics(counts, wrong)
    twice = sp.vstack([sp.csr_array(np.eye(2, 6, 0) + np.eye(2, 6, 2) + np.eye(2, 6, 4))] * 4)
    with pytest.warns(DegenerateData, match="2 anchors explain every row"):
        result = find_topics(twice, 4)
    assert len(result.topics) == 2
    assert any(note.startswith("2 topics were found instead of 4") for note in result.notes)


def error_of(corpus, **options):
    found = find_topics(corpus.counts, 5, certify=False, **options)
    topics = np.zeros_like(corpus.topics)
    topics[:, found.word_columns] = found.topics
    match = match_topics(topics, corpus.topics)
    return match.mean_distance, match.weight_distance(found.document_weights, corpus.weights)


@pytest.mark.parametrize("method", ["spa", "merit", "xray", "fast_anchor"])
def test_anchors_of_every_method_lead_to_the_same_topics(method):
    corpus = topic_corpus(1500, 400, 5, word_concentration=0.05, random_state=0)
    assert error_of(corpus, method=method)[0] < 0.2


def test_the_number_of_topics_is_found_and_said():
    corpus = topic_corpus(2000, 400, 7, word_concentration=0.05, random_state=0)
    found = find_topics(corpus.counts, certify=False)
    assert len(found.topics) == found.settings.n_topics == 7
    assert any(note.startswith("number of topics chosen automatically: 7;") for note in found.notes)
    again = found.matrix_of(corpus.counts)
    rows = again[found.factorization.anchors]
    np.testing.assert_allclose(rows, found.factorization.components, atol=1e-9)


def test_top_words_are_relevant_not_only_frequent():
    texts = [f"{text} the the the the" for text in small_corpus()[0]]
    texts[0] = texts[0].replace(" the", "")
    counts = count_words(texts, stop_words=None, max_share=1.0)
    result = find_topics(counts, 3)
    assert result.topics[:, list(result.vocabulary).index("the")].min() > 0.05
    assert not any("the" in words for words in result.top_words(8))


def test_examples_are_long_documents_and_coherence_is_npmi():
    """Many short documents have a weight of one; the longest among them shows a topic best."""
    sea, kitchen = ["ship", "sail", "wave", "mast"], ["bread", "oven", "flour", "yeast"]
    texts = [" ".join(words[:3]) for words in (sea, kitchen)] * 20
    texts += [" ".join(words * 5) for words in (sea, kitchen)]
    found = find_topics(texts, 2)
    assert sorted(found.example_documents[:, 0].tolist()) == [40, 41]
    assert np.all((found.npmi >= -1) & (found.npmi <= 1))
    assert np.all((found.cv >= 0) & (found.cv <= 1))
    assert any("c_v" in name for name in found.scores())
    assert any("NPMI" in meaning for meaning in found.scores())


def test_pooled_shares_are_the_mean_of_company_and_documents():
    corpus = topic_corpus(300, 90, 3, word_concentration=0.05, random_state=5)
    rng = np.random.default_rng(0)
    by_points, weights = rng.dirichlet(np.ones(3), 90), rng.dirichlet(np.ones(3), 300)
    counts = corpus.counts.toarray()
    counts[:, 7] = 0
    there = counts > 0
    expected = np.zeros((3, 90))
    for word in np.flatnonzero(there.any(axis=0)):
        expected[:, word] = np.sqrt(by_points[word] * weights[there[:, word]].mean(axis=0))
    for given in (counts, as_blocks(counts, block_rows=70)):
        found = pooled_shares(by_points, weights, WordCounts(given))
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_top_words_are_ranked_by_word_shares(tmp_path):
    corpus = topic_corpus(300, 90, 3, word_concentration=0.05, random_state=5)
    found = find_topics(corpus.counts, 3, certify=False)
    shares, frequency = found.word_shares.astype(float), found.word_frequency
    scores = relevance(
        topics_of(shares.T, frequency), frequency, mix=0.1, documents=shares * found.word_documents
    )
    np.testing.assert_array_equal(found.top_columns(8), top_words(scores, 8))
    found.save(tmp_path / "topics.npz")
    again = load(tmp_path / "topics.npz")
    np.testing.assert_array_equal(again.word_shares, found.word_shares)
    assert again.word_shares.dtype == np.float32
    assert again.top_words(8) == found.top_words(8)
    found = find_topics(corpus.counts, 3, certify=False, random_state=0, method="hals")
    assert found.word_shares is None  # ranked by the topics themselves
    joint = found.topics * found.share[:, None]
    documents = joint / np.maximum(joint.sum(axis=0), 1e-300) * found.word_documents
    scores = relevance(found.topics, found.word_frequency, mix=0.1, documents=documents)
    np.testing.assert_array_equal(found.top_columns(3), top_words(scores, 3))


@pytest.mark.parametrize(
    "step",
    [
        "provenmf.applications.topics.find.from_counts",
        "provenmf.applications.topics.find.topics_again",
    ],
)
def test_small_corpora_take_one_blas_thread(monkeypatch, step):
    """Threads of BLAS wait by spinning: on a busy machine they took four times the processor."""
    module, name = step.rsplit(".", 1)
    original, seen = getattr(importlib.import_module(module), name), []

    def threads():
        return [e["num_threads"] for e in blas_controller().info() if e["user_api"] == "blas"]

    def watched(*arguments):
        seen.extend(threads())
        return original(*arguments)

    monkeypatch.setattr(step, watched)
    before = threads()
    find_and_confirm(small_corpus()[0], 3)
    assert seen and set(seen) == {1}
    assert threads() == before


def test_families_of_near_copies_are_named():
    """Package descriptions and form letters differ in a word or two."""
    counts = topic_corpus(300, 400, 3, words_per_document=60, random_state=0).counts
    family = sp.vstack([counts[[0]]] * 60, format="lil")
    for copy in range(60):
        family[copy, copy] += 1
    found = find_topics(sp.vstack([counts, family], format="csr"), 3)
    (note,) = (each for each in found.notes if "nearly repeat" in each)
    number, of = map(int, re.match(r"(\d+) of the (\d+) documents", note).groups())
    assert of == 360 and 43 <= number <= 60  # those whose own word is very rare are not alike
    assert "document 302 (of document 1)" in note and "set aside" in note
    assert not any("nearly repeat" in each for each in find_topics(counts, 3).notes)
