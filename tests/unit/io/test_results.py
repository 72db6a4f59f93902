"""Results of all kinds in files: they come back as they were, or are refused in one line."""

import json
import sys

import numpy as np
import pytest

import provenmf
from provenmf.cli.analysis import as_dict
from provenmf.errors import UnreadableFile
from provenmf.report.matrix import convergence
from provenmf.report.page import found
from provenmf.results import as_answer


def as_stored(path):
    """The record and the arrays of a file."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    return json.loads(arrays.pop("record").tobytes()), arrays


def store(path, record, arrays):
    np.savez(path, record=np.frombuffer(json.dumps(record).encode(), np.uint8), **arrays)


def test_every_kind_comes_back_as_it_was(result, tmp_path):
    result.save(tmp_path / "r.npz")
    loaded = provenmf.load(tmp_path / "r.npz")
    assert type(loaded) is type(result) and loaded == result
    loaded.weights[0, 0] += 1
    assert loaded != result


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_single_precision_comes_back_without_a_warning(tmp_path):
    result = provenmf.SPA(2).fit(np.eye(5, 3, dtype=np.float32) + 1).factorization_
    assert result.components.dtype == np.float32
    result.save(tmp_path / "single.npz")
    assert provenmf.load(tmp_path / "single.npz") == result


def test_an_answer_of_a_plain_matrix_is_its_factorization(results, tmp_path):
    as_answer(results["matrix"]).save(tmp_path / "r.npz")
    assert provenmf.load(tmp_path / "r.npz") == results["matrix"]


CHANGES = {
    "a kind from elsewhere": lambda r, a: r.update(kind="os:system"),
    "a module as kind": lambda r, a: r.update(kind="subprocess"),
    "a kind that is no text": lambda r, a: r.update(kind=["topics"]),
    "no kind": lambda r, a: r.pop("kind"),
    "no content": lambda r, a: r.update(content=None),
    "a version that is no number": lambda r, a: r.update(format_version="3"),
    "a missing array": lambda r, a: a.pop("topics"),
    "an infinite factor": lambda r, a: a["factorization/weights"].fill(np.inf),
    "a factor that overflows": lambda r, a: a["factorization/weights"].fill(1e300),
    "topics that overflow": lambda r, a: a["topics"].fill(1e308),
    "half precision": lambda r, a: a.update(
        {"factorization/weights": a["factorization/weights"].astype(np.float16)}
    ),
    "whole numbers": lambda r, a: a.update(
        {"factorization/weights": np.ones(a["factorization/weights"].shape, dtype=int)}
    ),
    "a version of yesterday": lambda r, a: r.update(format_version=1),
    "a missing factor": lambda r, a: a.pop("factorization/weights"),
    "an array as plain value": lambda r, a: r["content"].update(topics=[[1.0]]) or a.pop("topics"),
    "a number as notes": lambda r, a: r["content"].update(notes=3),
    "numbers as notes": lambda r, a: r["content"].update(notes=[1, 2]),
    "text as number": lambda r, a: r["content"]["settings"].update(n_topics="many"),
    "no settings": lambda r, a: r["content"].update(settings=[]),
    "a wrong number of names": lambda r, a: r["content"].update(component_names=["one"]),
    "a foreign state": lambda r, a: r["content"]["factorization"].update(state={"type": "object"}),
    "a broken certificate": lambda r, a: r["content"]["factorization"].update(certificate={}),
    "a check without a name": lambda r, a: r["content"]["factorization"]["certificate"]["checks"][
        0
    ].update(name=None),
    "a measure that is text": lambda r, a: r["content"]["factorization"]["certificate"][
        "measures"
    ].update(relative_error="small"),
    "parameters that are none": lambda r, a: r["content"]["factorization"].update(parameters=1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_file_cannot_hold_is_refused_in_one_line(results, tmp_path, change):
    path = tmp_path / "changed.npz"
    results["topics"].save(path)
    record, arrays = as_stored(path)
    CHANGES[change](record, arrays)
    store(path, record, arrays)
    modules = set(sys.modules)
    with pytest.raises(UnreadableFile, match="changed.npz") as refused:
        provenmf.load(path)
    assert "\n" not in str(refused.value)
    # Our own kinds may be loaded to tell which there are, nothing that the file names.
    assert all(name.startswith("provenmf.") for name in set(sys.modules) - modules)


def test_what_a_file_may_hold_besides_is_left_alone(results, tmp_path):
    path = tmp_path / "more.npz"
    results["topics"].save(path)
    record, arrays = as_stored(path)
    record["content"]["later"] = {"a": 1}
    store(path, record, arrays | {"later/b": np.ones(3)})
    assert provenmf.load(path) == results["topics"]


def changed(array):
    """The same array with something wrong in it, or at least odd."""
    yield array[:-1]
    yield array[None]
    yield array.T[:0]
    yield array.astype(str)
    odd = {"f": np.nan, "i": -1, "u": 255, "U": "\n<b>", "b": True}
    yield np.full_like(array, odd[array.dtype.kind])
    if array.dtype.kind in "fi":
        yield np.full_like(array, 10**9)
    if array.dtype.kind != "U":
        yield array.astype(float)


def test_a_file_with_one_array_changed_is_refused_or_drawn(result, tmp_path):
    path = tmp_path / "changed.npz"
    result.save(path)
    record, arrays = as_stored(path)
    refused = 0
    for name, array in arrays.items():
        for odd in changed(array):
            store(path, record, arrays | {name: odd})
            try:
                answer = as_answer(provenmf.load(path))
            except UnreadableFile as error:
                refused += 1
                assert "\n" not in str(error)
            else:
                found(answer), convergence(answer.factorization), as_dict(answer)
    assert refused > 3 * len(arrays)
