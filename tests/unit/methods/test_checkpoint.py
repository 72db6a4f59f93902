"""A fit that was killed goes on from its checkpoint and ends with the same bits."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

import provenmf
from provenmf import (
    AND,
    ANLS,
    HALS,
    MERIT,
    SPA,
    XRAY,
    Checkpoint,
    FastAnchor,
    FastGradient,
    InvalidInput,
    PoissonNMF,
    Purification,
    factorize,
)
from provenmf.errors import UnreadableFile

RNG = np.random.default_rng(0)
X = RNG.random((80, 4)) @ RNG.random((4, 12)) + 0.01 * RNG.random((80, 12))
MODELS = {
    "hals": HALS(4, max_iter=25, tol=0.0, random_state=0),
    "anls": ANLS(4, max_iter=15, tol=0.0, init="random", random_state=0),
    "and": AND(4, max_iter=20),
    "purification": Purification(4, max_iter=15),
    "poisson": PoissonNMF(4, max_iter=20, tol=0.0, random_state=0),
    "merit": MERIT(4, max_iter=40, random_state=0),
    "fast_gradient": FastGradient(4, max_iter=20, random_state=0),
    "spa": SPA(4),
    "xray": XRAY(4),
    "fast_anchor": FastAnchor(4),
}


class Killed(Exception):
    pass


def killed_at(*moments):
    """A callback that ends the fit at those of its calls."""
    calls = iter(range(1, 10_000))

    def callback(row):
        if next(calls) in moments:
            raise Killed

    return callback


def fitted(model, data=X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(data, **options).factorization_


def same(one, other):
    return (
        one.weights.tobytes() == other.weights.tobytes()
        and one.components.tobytes() == other.components.tobytes()
        and one.stop_reason is other.stop_reason
        and len(one.trace) == len(other.trace)
    )


@pytest.mark.parametrize("name", MODELS)
def test_a_resumed_fit_ends_with_the_same_bits(name, tmp_path):
    model = MODELS[name]
    expected = fitted(model)
    model.set_params(callback=killed_at(3, 5))
    try:
        for _ in range(2):
            with pytest.raises(Killed):
                fitted(model, checkpoint=Checkpoint(tmp_path, seconds=0))
        assert same(fitted(model, checkpoint=tmp_path), expected)
    finally:
        model.set_params(callback=None)


def test_iterations_are_not_repeated_and_more_may_be_asked_for(tmp_path):
    rows = []
    model = HALS(4, max_iter=5, tol=0.0, init="spa", random_state=0, callback=rows.append)
    fitted(model, checkpoint=tmp_path)
    assert len(rows) == 5
    more = fitted(model.set_params(max_iter=9), checkpoint=tmp_path)
    assert len(rows) == 9
    assert same(more, fitted(model))
    with pytest.raises(InvalidInput, match="max_iter=4 is less than the 9 iterations"):
        fitted(model.set_params(max_iter=4), checkpoint=tmp_path)


def test_a_fit_without_a_seed_keeps_the_one_with_which_it_began(tmp_path):
    model = HALS(4, init="random", max_iter=10, tol=0.0)
    one, other = (fitted(model, checkpoint=tmp_path) for _ in range(2))
    assert same(one, other)
    assert not same(one, fitted(model))


@pytest.mark.parametrize(
    ("model", "data", "named"),
    [
        (HALS(4, max_iter=3), X + (np.arange(80) == 7)[:, None] * 1e-9, "its data is"),
        (HALS(3, max_iter=3), X, "its parameter n_components is 4, not 3"),
        (ANLS(4, max_iter=3), X, "its method is HALS"),
        (HALS(4, max_iter=3, init=X[:4].copy()), X, "its parameter init is null, not .array"),
    ],
)
def test_another_fit_is_refused(model, data, named, tmp_path):
    fitted(HALS(4, max_iter=3), checkpoint=tmp_path)
    with pytest.raises(InvalidInput, match=named):
        fitted(model, data, checkpoint=tmp_path)


def test_another_version_is_refused(tmp_path, monkeypatch):
    fitted(HALS(4, max_iter=3), checkpoint=tmp_path)
    monkeypatch.setattr(provenmf, "__version__", "0.0.9")
    with pytest.raises(InvalidInput, match=r"its version is .*, not 0\.0\.9"):
        fitted(HALS(4, max_iter=3), checkpoint=tmp_path)


@pytest.mark.parametrize("part", ["record", "state", "digest", "other", ""])
def test_a_state_that_is_not_what_was_written_is_refused(part, tmp_path):
    """Compiled loops trust the shapes and row numbers of a state."""
    fitted(SPA(4), checkpoint=tmp_path)
    [file] = tmp_path.glob("*.npz")
    with np.load(file) as stored:
        arrays = dict(stored)
    name = next((name for name in arrays if name.startswith(part)), part)
    arrays[name] = arrays.get(name, np.zeros(3))[:-1]
    np.savez(file, **arrays)
    if not part:
        file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(UnreadableFile, match=f"{file.name} is not a checkpoint, or damaged"):
        fitted(SPA(4), checkpoint=tmp_path)


def test_a_run_of_another_fit_or_another_place_is_refused(tmp_path):
    for name, data in (("one", X), ("other", X[:50])):
        fitted(HALS(4, init="spa", max_iter=3), data, checkpoint=tmp_path / name)
    [foreign] = (tmp_path / "other").glob("*-hals.npz")
    (tmp_path / "new").mkdir()
    foreign.rename(tmp_path / "new" / foreign.name)  # a folder without a description
    with pytest.raises(UnreadableFile, match="belongs to another fit"):
        fitted(HALS(4, init="spa", max_iter=3), checkpoint=tmp_path / "new")
    [start] = (tmp_path / "one").glob("*-spa.npz")
    start.rename(tmp_path / "one" / foreign.name)
    with pytest.raises(UnreadableFile, match="belongs to another fit"):
        fitted(HALS(4, init="spa", max_iter=3), checkpoint=tmp_path / "one")


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"identity": {}}', '{"identity": {}, "seed": "x"}', "[" * 10**5]
)
def test_a_foreign_description_is_refused_by_name(content, tmp_path):
    (tmp_path / "fit.json").write_text(content)
    with pytest.raises(UnreadableFile, match=r"fit\.json is not .* give another folder"):
        fitted(SPA(4), checkpoint=tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
@pytest.mark.parametrize("name", ["fit.json", "01-spa.npz"])
def test_a_pipe_in_the_folder_is_refused(name, tmp_path):
    fitted(SPA(4), checkpoint=tmp_path)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(UnreadableFile, match="is a pipe"):
        fitted(SPA(4), checkpoint=tmp_path)


@pytest.mark.parametrize("folder", ["file", 3])
def test_what_is_no_folder_is_refused(folder, tmp_path):
    (tmp_path / "file").touch()
    folder = tmp_path / folder if isinstance(folder, str) else folder
    with pytest.raises(InvalidInput, match="checkpoint"):
        fitted(HALS(4, max_iter=3), checkpoint=folder)


def test_data_that_change_during_the_fit_are_refused(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, X)

    def spoil(row):
        np.save(path, X + 1)

    with pytest.raises(InvalidInput, match="x.npy changed while it was read"):
        fitted(HALS(4, max_iter=3, callback=spoil), path, checkpoint=tmp_path / "folder")


def test_the_automatic_choice_has_a_folder_for_each_method(tmp_path):
    first, again = (factorize(X, 4, random_state=0, checkpoint=tmp_path) for _ in range(2))
    assert same(first, again)
    assert {"hals", "cones"} <= {path.name for path in Path(tmp_path).iterdir()}


def test_what_is_no_time_is_refused_by_name_and_any_time_is_none_too_long(tmp_path):
    for seconds in ("30", None, [1], 1j, -1, float("nan"), 10**400, np.timedelta64(3, "s")):
        with pytest.raises(InvalidInput, match="is not a time"):
            Checkpoint("kept", seconds=seconds)
    for number, seconds in enumerate((float("inf"), 10**300)):
        never = Checkpoint(tmp_path / str(number), seconds=seconds)
        HALS(2, max_iter=3).fit(np.eye(6), checkpoint=never)
