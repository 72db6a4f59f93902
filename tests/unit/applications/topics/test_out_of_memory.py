"""Topics of counts that stay in Dask chunks are those of counts in memory."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import InvalidInput, find_topics, load
from provenmf.applications.topics.corpus import WordCounts
from provenmf.data import as_blocks
from provenmf.datasets.corpora import topic_corpus
from provenmf.errors import TooLarge

OPTIONS = {"random_state": 0, "certify": False, "evidence": False}


@pytest.fixture(scope="module")
def corpus():
    return topic_corpus(1200, 300, 4, word_concentration=0.05, zipf=1.0, random_state=0)


@pytest.fixture(scope="module")
def near(corpus):
    return find_topics(corpus.counts, 4, **OPTIONS)


def in_chunks(counts, chunks, *, sparse):
    da = pytest.importorskip("dask.array")
    rows = da.from_array(counts.toarray(), chunks=(chunks, counts.shape[1]))
    return rows.map_blocks(sp.csr_array, meta=sp.csr_array((0, 0))) if sparse else rows


def assert_same(far, near, *, rounding):
    assert far.anchor_words == near.anchor_words
    for name in ("topics", "npmi", "cv"):
        np.testing.assert_allclose(getattr(far, name), getattr(near, name), atol=rounding)
    for name in ("prior", "document_weights"):  # the prior is the end of a search
        np.testing.assert_allclose(getattr(far, name), getattr(near, name), atol=100 * rounding)
    assert far.notes == near.notes
    np.testing.assert_array_equal(far.example_documents, near.example_documents)


def test_sparse_chunks_give_a_result_that_is_saved(corpus, tmp_path):
    rows = in_chunks(corpus.counts, 450, sparse=True)
    far = find_topics(rows, 4, **OPTIONS)
    assert not far.corpus.matrix.in_memory
    chosen = find_topics(rows, **OPTIONS)
    assert len(chosen.topics) == 4
    here = find_topics(corpus.counts, **OPTIONS)
    assert chosen.notes == here.notes
    assert far.merge([1, 2]).n_components == 3
    far.save(tmp_path / "found.npz")
    np.testing.assert_array_equal(load(tmp_path / "found.npz").topics, far.topics)


@pytest.mark.parametrize("sparse", [True, False])
def test_dask_chunks_are_not_brought_here(corpus, near, sparse, monkeypatch):
    dask = pytest.importorskip("dask")
    rows = in_chunks(corpus.counts, 450, sparse=sparse)
    monkeypatch.setattr("provenmf.budget.MOST_GATHERED", 0.0)
    with warnings.catch_warnings(), dask.config.set(scheduler="synchronous"):
        warnings.simplefilter("error")
        far = find_topics(rows, 4, **OPTIONS)
    assert_same(far, near, rounding=1e-5)


def test_small_blocks_in_memory(corpus, near):
    far = find_topics(as_blocks(corpus.counts, block_rows=100), 4, **OPTIONS)
    assert_same(far, near, rounding=1e-5)


def test_words_that_are_left_out(corpus):
    matrix = corpus.counts.toarray()
    matrix[:, 7] = 1  # in all documents
    matrix[:, 9] = 0
    counts = sp.csr_array(matrix)
    near = find_topics(counts, 4, **OPTIONS)
    far = find_topics(in_chunks(counts, 450, sparse=True), 4, **OPTIONS)
    assert near.topics.shape[1] == len(near.word_columns) < 300
    assert not {7, 9} & set(near.word_columns.tolist())
    assert_same(far, near, rounding=1e-5)


def test_a_file_of_counts_and_its_vocabulary(corpus, near, tmp_path):
    sp.save_npz(tmp_path / "counts.npz", corpus.counts)
    given = find_topics(
        tmp_path / "counts.npz", 4, vocabulary=[f"v{n}" for n in range(300)], **OPTIONS
    )
    assert all(word.startswith("v") for word in given.vocabulary)
    np.testing.assert_array_equal(given.topics, near.topics)
    with pytest.raises(InvalidInput, match="vocabulary has 2 words"):
        find_topics(tmp_path / "counts.npz", 4, vocabulary=["a", "b"], **OPTIONS)


@pytest.mark.parametrize(("entry", "words"), [(np.nan, "row 1150"), (-1.0, "negative")])
def test_wrong_entries_are_named(corpus, entry, words):
    matrix = corpus.counts.toarray()
    matrix[1150, 3] = entry
    pytest.importorskip("dask")
    rows = in_chunks(sp.csr_array(matrix), 400, sparse=True)
    with pytest.raises(InvalidInput, match=words):
        find_topics(rows, 4, **OPTIONS)
    with pytest.raises(InvalidInput, match="array with 3 axes"):
        find_topics(in_chunks(corpus.counts, 400, sparse=False)[..., None], 2)


def test_documents_are_factorized_in_blocks_but_resampled_in_memory(corpus, monkeypatch):
    rows = in_chunks(corpus.counts, 450, sparse=True)
    near = find_topics(corpus.counts, 4, method="hals", **OPTIONS)
    monkeypatch.setattr("provenmf.budget.MOST_GATHERED", 1000.0)
    far = find_topics(rows, 4, method="hals", **OPTIONS)
    np.testing.assert_allclose(far.topics, near.topics, atol=1e-9)
    with pytest.raises(TooLarge, match="GB at once"):
        find_topics(rows, 4, n_resamples=10, **OPTIONS)


def test_summaries_are_those_of_the_matrix(corpus):
    counts = WordCounts(as_blocks(corpus.counts, block_rows=70))
    dense = corpus.counts.toarray()
    np.testing.assert_allclose(counts.lengths, dense.sum(axis=1))
    np.testing.assert_allclose(counts.squares, (dense**2).sum(axis=1))
    np.testing.assert_array_equal(counts.different, (dense > 0).sum(axis=1))
    np.testing.assert_allclose(counts.occurrences, dense.sum(axis=0))
    np.testing.assert_array_equal(counts.documents, (dense > 0).sum(axis=0))
    assert counts.whole
    assert not WordCounts(corpus.counts * 0.5).whole
    chosen = np.array([2, 5, 6, 250])
    np.testing.assert_array_equal(counts.of_words(chosen).matrix.toarray(), dense[:, chosen])
    np.testing.assert_array_equal(counts.capped(2.0).matrix.toarray(), np.minimum(dense, 2))
