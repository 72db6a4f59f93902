"""Results of all kinds in files: they come back as they were, or are refused in one line."""

import json
import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import provenmf
from provenmf.applications import Communities, Parts, Topics, Unmixing
from provenmf.cli.outcome import as_dict
from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.methods.certify import certify
from provenmf.report.convergence import convergence
from provenmf.report.page import found
from provenmf.results import Factorization, as_answer

OLD = Path(__file__).parent / "version_one"


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


def test_an_answer_of_a_plain_matrix_is_its_factorization(results, tmp_path):
    as_answer(results["matrix"]).save(tmp_path / "r.npz")
    assert provenmf.load(tmp_path / "r.npz") == results["matrix"]


CHANGES = {
    "a kind from elsewhere": lambda r, a: r.update(kind="os:system"),
    "a module as kind": lambda r, a: r.update(kind="subprocess"),
    "a kind that is no text": lambda r, a: r.update(kind=["topics"]),
    "no kind": lambda r, a: r.pop("kind"),
    "no content": lambda r, a: r.update(content=None),
    "a version that is no number": lambda r, a: r.update(format_version="2"),
    "a missing array": lambda r, a: a.pop("topics"),
    "a missing factor": lambda r, a: a.pop("factorization/weights"),
    "text for numbers": lambda r, a: a.update(topics=a["topics"].astype(str)),
    "numbers for text": lambda r, a: a.update(vocabulary=np.arange(60)),
    "too many words": lambda r, a: a.update(vocabulary=np.array(["a"] * 61)),
    "one axis too many": lambda r, a: a.update(vocabulary=np.array([["a"] * 60])),
    "an array as plain value": lambda r, a: r["content"].update(topics=[[1.0]]) or a.pop("topics"),
    "a number as notes": lambda r, a: r["content"].update(notes=3),
    "numbers as notes": lambda r, a: r["content"].update(notes=[1, 2]),
    "text as number": lambda r, a: r["content"].update(similarity_count="many"),
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
    assert set(sys.modules) == modules


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


def made_for_version_one():
    spec = spec_from_file_location("make_version_one", OLD / "make.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def old():
    return {path.stem: provenmf.load(path) for path in sorted(OLD.glob("*.npz"))}


def test_files_of_version_one_load_into_the_types_of_today(old, tmp_path):
    kinds = {
        "topics": Topics,
        "documents": Topics,
        "communities": Communities,
        "unmixing": Unmixing,
        "parts": Parts,
    }
    assert len(old) == 12
    for name, result in old.items():
        assert type(result) is kinds.get(name, Factorization), name
        result.save(tmp_path / "new.npz")
        assert provenmf.load(tmp_path / "new.npz") == result


def test_answers_of_version_one_are_whole(old):
    topics, communities, unmixing, parts = (
        old[kind] for kind in ("topics", "communities", "unmixing", "parts")
    )
    assert {len(words) for words in topics.top_words(6)} == {6}
    assert len(topics.anchor_words) == 2 and old["documents"].anchor_words == ()
    best = topics.document_weights.argmax(axis=0)
    assert topics.row_names[best[0]] == f"file {best[0]}"
    assert topics.settings.n_topics == 2
    assert communities.memberships.shape == (18, 2) and communities.settings.energy == 0.99
    assert unmixing.agreement.mean_angle < 0.2 and np.isnan(unmixing.maps()[:, 3, 4]).all()
    assert any("dead band" in note for note in unmixing.notes)
    assert parts.image_shape == (4, 5) and parts.names[0] == "image 0"
    assert parts.parts.shape == (3, 4, 5)
    assert old["merit"].column_names.tolist() == list("abcd")
    assert old["merit"].state.gap_searched is True and old["purification"].state.scaling > 0


def test_results_of_version_one_are_certified_from_their_data(old):
    data = made_for_version_one()
    sources = {
        "topics": data.corpus(),
        "documents": data.corpus(),
        "communities": data.adjacency(),
        "unmixing": data.scene()[0],
        "parts": data.images(),
    }
    for name, result in old.items():
        again = certify(sources.get(name, data.matrix()), result)
        stored = result.certificate.measures["relative_error"]
        assert again.measures["relative_error"] == pytest.approx(stored, abs=1e-9), name


def test_old_parts_want_new_images_in_their_units(old):
    images, parts = made_for_version_one().images(), old["parts"]
    with pytest.raises(InvalidInput, match="data has pixels above 1"):
        parts.transform(images)
    known = replace(parts, pixel_scale=float(images.max()))
    np.testing.assert_allclose(known.transform(images), parts.transform(images / images.max()))
