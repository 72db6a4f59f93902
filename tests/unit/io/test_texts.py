import json
import lzma
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.io import read_counts, read_texts
from provenmf.io.texts import read_column

TEXTS = ["one fish\x85two fish", "red fish", "blé"]


def test_files_of_a_folder_and_lines_of_a_file(tmp_path):
    for number, text in enumerate(TEXTS):
        (tmp_path / f"{number}.txt").write_text(text, encoding="utf-8")
    (tmp_path / ".hidden").write_bytes(b"\x00")
    corpus = read_texts(tmp_path)
    assert (corpus.texts, corpus.names) == (TEXTS, ["0.txt", "1.txt", "2.txt"])
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join([TEXTS[0], "", *TEXTS[1:]]), encoding="utf-8")
    corpus = read_texts(path)
    assert (corpus.texts, corpus.notes) == (TEXTS, ("1 empty line left out",))


def test_packed_jsonl_with_a_field(tmp_path):
    path = tmp_path / "corpus.jsonl.xz"
    lines = [
        json.dumps({"body": text, "id": n}, ensure_ascii=False) for n, text in enumerate(TEXTS)
    ]
    path.write_bytes(lzma.compress("\n".join(lines).encode()))
    corpus = read_texts(path, field="body")
    assert list(corpus.texts) == TEXTS
    assert list(corpus.names) == ["0", "1", "2"]
    with pytest.raises(InvalidInput, match="no text in field 'text': it has body, id"):
        read_texts(path)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_column_of_a_table(tmp_path, ending):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"n": [1, 2, 3], "text": TEXTS})
    path = tmp_path / f"corpus.{ending}"
    if ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    assert list(read_texts(path).texts) == TEXTS
    with pytest.raises(InvalidInput, match="has no column 'body': it has n, text"):
        read_texts(path, field="body")


def test_binary_file_among_the_texts(tmp_path):
    (tmp_path / "good.txt").write_text("words and words")
    (tmp_path / "picture.txt").write_bytes(b"abc\x00\x01\x02")
    with pytest.raises(UnreadableFile, match=r"picture\.txt is a binary file"):
        read_texts(tmp_path)
    corpus = read_texts(tmp_path, skip_unreadable=True)
    assert list(corpus.names) == ["good.txt"]
    assert len(corpus.notes) == 1 and "picture.txt" in corpus.notes[0]


def test_wrong_encoding_names_the_byte_and_the_remedy(tmp_path):
    (tmp_path / "old.txt").write_bytes("one\nblé".encode("latin-1"))
    with pytest.raises(UnreadableFile, match="the byte 0xe9.*encoding='latin-1'"):
        read_texts(tmp_path / "old.txt")
    assert list(read_texts(tmp_path / "old.txt", encoding="latin-1").texts) == ["one", "blé"]
    with pytest.raises(UnreadableFile, match="'utf-99' is unknown"):
        read_texts(tmp_path / "old.txt", encoding="utf-99")


def test_empty_corpora(tmp_path):
    with pytest.raises(InvalidInput, match="holds no text"):
        read_texts(tmp_path)
    (tmp_path / "blank.txt").write_text(" \n \n")
    with pytest.raises(InvalidInput, match="holds no text"):
        read_texts(tmp_path / "blank.txt")


def test_counts_with_vocabulary(tmp_path):
    counts = sp.csr_array(np.array([[1, 0], [2, 3]]))
    sp.save_npz(tmp_path / "counts.npz", counts)
    (tmp_path / "vocab.txt").write_text("fish\nbird\n")
    read = read_counts(tmp_path / "counts.npz", tmp_path / "vocab.txt")
    assert read.vocabulary.tolist() == ["fish", "bird"]
    np.testing.assert_array_equal(read.matrix.toarray(), counts.toarray())
    assert "no vocabulary" in read_counts(tmp_path / "counts.npz").notes[0]
    (tmp_path / "counts.csv").write_text("document,fish,bird\none,1,0\ntwo,2,3\n")
    named = read_counts(tmp_path / "counts.csv")
    assert (named.vocabulary.tolist(), named.names) == (["fish", "bird"], ["one", "two"])
    (tmp_path / "vocab.txt").write_text("fish\n")
    with pytest.raises(InvalidInput, match="has 1 words but .* has 2 columns"):
        read_counts(tmp_path / "counts.npz", tmp_path / "vocab.txt")


@pytest.mark.parametrize("bad, message", [(-1.0, "negative"), (np.nan, "not finite")])
def test_counts_that_are_none(tmp_path, bad, message):
    np.save(tmp_path / "counts.npy", np.array([[1.0, bad]]))
    with pytest.raises(InvalidInput, match=message):
        read_counts(tmp_path / "counts.npy")


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("by.jsonl", b'{"text": "a"}\n{"text": \n', "line 2 is not JSON"),
        ("by.jsonl", b"[" * 200_000, "line 1 is not JSON"),
        ("by.jsonl", b'{"text": ' + b"9" * 10_000 + b"}", "line 1 is not JSON"),
        ("by.parquet", b"PAR1 and no more PAR1", "not a readable Parquet file"),
    ],
)
def test_a_damaged_file_is_named_with_the_place(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    for read in (read_texts, lambda path: read_column(path, "text", [])):
        with pytest.raises(UnreadableFile, match=f"by.*{message}"):
            read(tmp_path / name)


def test_files_of_subfolders_are_read_in_order_and_hidden_folders_are_not(tmp_path):
    for name in ("b.txt", "a/z.txt", "a/b.txt", "a.txt", ".git/objects.txt", "a/.hidden"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    names = read_texts(tmp_path).names
    assert [Path(name).as_posix() for name in names] == ["a/b.txt", "a/z.txt", "a.txt", "b.txt"]
