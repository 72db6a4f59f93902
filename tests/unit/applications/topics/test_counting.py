"""Words counted in chunks against scikit-learn's counter, which holds all texts at once."""

import gzip
import json
import lzma
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

import provenmf.applications.topics.texts as counting
from provenmf.applications import count_words, find_topics as find_and_confirm
from provenmf.applications.topics.texts import LONGEST_WORD, stop_words_of, without_contractions
from provenmf.errors import InvalidInput
from provenmf.io import read_texts
from provenmf.io.texts import TextFile

find_topics = partial(find_and_confirm, evidence=False)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(counting, "CHUNK_CHARACTERS", 400)


@pytest.fixture
def texts():
    rng = np.random.default_rng(0)
    words = "ship Sail the don't l'été wave's naïve x a1 1a über-all".split()
    words += [f"w{chr(97 + i)}{chr(97 + j)}" for i in range(9) for j in range(9)]
    lines = [" ".join(rng.choice(words, rng.integers(1, 30))) for _ in range(120)]
    return [*lines, "the", "", "ship", " "]


def counted_at_once(texts, min_documents=2, max_share=0.5, vocabulary=None):
    counter = CountVectorizer(
        preprocessor=without_contractions,
        token_pattern=counting.WORD.pattern,
        stop_words=None if vocabulary else sorted(stop_words_of("english")),
        min_df=min_documents,
        max_df=max_share,
        vocabulary=vocabulary,
    )
    return counter.fit_transform(texts), counter.get_feature_names_out().tolist()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_documents": 1, "max_share": 1.0},
        {"min_documents": 20, "max_share": 0.25},
        {"vocabulary": ["wave", "ship", "nowhere", "naïve"]},
    ],
)
def test_chunks_give_the_counts_of_all_texts_at_once(texts, options):
    matrix, words = counted_at_once(texts, **options)
    found = count_words(texts, **options)
    assert found.vocabulary.tolist() == words
    assert found.matrix.dtype == np.float64 and found.matrix.has_canonical_format
    assert (found.matrix != sp.csr_array(matrix)).nnz == 0


def test_processes_give_the_same_counts_and_end_with_an_error(texts, tmp_path):
    expected, found = count_words(texts), count_words(texts, n_jobs=2)
    assert found.vocabulary.tolist() == expected.vocabulary.tolist()
    assert (found.matrix != expected.matrix).nnz == 0

    def broken():
        yield from texts
        raise InvalidInput("line 3 is not JSON")

    with pytest.raises(InvalidInput, match="line 3"):
        counting.WordCounter(counting.Splitting()).add(broken(), n_jobs=2)


def written(folder, texts):
    """The same texts in every form that can be read."""
    lines = [json.dumps({"id": f"n{i}", "body": text}) for i, text in enumerate(texts)]
    content = "\n".join(lines).encode()
    (folder / "t.jsonl").write_bytes(content)
    (folder / "t.jsonl.gz").write_bytes(gzip.compress(content))
    (folder / "t.jsonl.xz").write_bytes(lzma.compress(content))
    table = "body\n" + "\n".join(f'"{text}"' for text in texts)
    (folder / "t.csv").write_text(table, encoding="utf-8")
    (folder / "folder").mkdir()
    for number, text in enumerate(texts):
        (folder / "folder" / f"{number:04}.txt").write_text(text or " ", encoding="utf-8")
    return [folder / name for name in ("t.jsonl", "t.jsonl.gz", "t.jsonl.xz", "t.csv", "folder")]


def test_a_file_is_counted_as_it_is_read_and_gives_the_same_topics(tmp_path, texts):
    expected = find_topics(count_words(texts), 3, random_state=0)
    for path in written(tmp_path, texts):
        seen = []
        counts = count_words(TextFile(path, "body"), progress=seen.append)
        assert seen == sorted(seen) and len(seen) > 3 and seen[-1] == len(texts)
        assert len(counts.names) == len(texts)
        found = find_topics(counts, 3, random_state=0)
        np.testing.assert_array_equal(found.topics, expected.topics)
        np.testing.assert_array_equal(found.document_weights, expected.document_weights)
        np.testing.assert_array_equal(found.example_texts, expected.example_texts)
        whole = find_topics(read_texts(path, field="body"), 3, random_state=0)
        np.testing.assert_array_equal(whole.topics, expected.topics)
        np.testing.assert_array_equal(whole.document_names, found.document_names)
    file = TextFile(path, "body")
    np.testing.assert_allclose(found.transform(file), found.document_weights)
    merged = found.merge([1, 2], file)
    np.testing.assert_array_equal(merged.topics, found.merge([1, 2]).topics)
    np.testing.assert_array_equal(merged.example_texts, found.merge([1, 2]).example_texts)


def test_words_of_mails(tmp_path):
    mail = "From: a\nSubject: b\n\n> quoted words\nship sail wave\n-- \nsignature here"
    (tmp_path / "m.jsonl").write_text("\n".join([json.dumps({"text": mail})] * 5))
    counts = count_words(TextFile(tmp_path / "m.jsonl", mail=True), max_share=1.0)
    assert counts.vocabulary.tolist() == ["sail", "ship", "wave"]
    assert not any("mail" in note for note in counts.notes)
    assert counts.texts.at([2]) == {2: "ship sail wave"}
    assert any("mail" in n for n in count_words(TextFile(tmp_path / "m.jsonl"), max_share=1).notes)


def test_long_codes_and_bad_options(texts):
    counts = count_words([f"ship {'a' * (LONGEST_WORD + 1)} sail"] * 3, max_share=1.0)
    assert counts.vocabulary.tolist() == ["sail", "ship"]
    with pytest.raises(InvalidInput, match="max_share"):
        count_words(texts, max_share=1.5)
    with pytest.raises(InvalidInput, match="'ship' twice"):
        count_words(texts, vocabulary=["ship", "sail", "ship"])


def test_documents_without_words_and_of_one_word(tmp_path):
    lines = ["ship sail wave", "", "bread oven", "ship", "the of", "oven bread yeast", "sail ship"]
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps({"text": line}) for line in lines))
    found = find_topics(TextFile(tmp_path / "t.jsonl"), 2)
    assert found.document_weights.shape == (7, 2)
    sums = found.document_weights.sum(axis=1)
    np.testing.assert_allclose(sums, [1, 0, 1, 1, 0, 1, 1])
    assert "2 documents have no words left, and so no weights" in found.notes
