"""Saved results are forged: every array and every field of the file, one at a time.

    python tests/adversarial/fuzz.py --kind forgery

Small data are factorized by every method and saved. Each array and each field of each file is then
changed in several ways, and `load`, `certify` and the report page are asked about the forged file.
Every statement of a new certificate is compared as in attack.py; a page must say that
its certificate was read from a file.
"""

import json
import tempfile
import warnings
from functools import cache
from pathlib import Path

import hard_data
import numpy as np
from attack import Tally, case_of, judge
from options import fit_for_people
from oracles import hold

from provenmf import find_communities, find_topics, unmix
from provenmf.datasets.corpora import topic_corpus
from provenmf.datasets.networks import mixed_membership_network
from provenmf.errors import ProvenmfError
from provenmf.io.records import load
from provenmf.methods import CATALOGUE, estimator_class
from provenmf.methods.certify import certify
from provenmf.report import render
from provenmf.results import Answer
from provenmf.results.verdict import FROM_FILE

APPLICATIONS = ("topics", "communities", "unmix")


def fitted(method):
    """A record of small data, and the data."""
    rng = np.random.default_rng(0)
    if method == "topics":
        data = topic_corpus(150, 60, 3, random_state=0).counts
        return find_topics(data, 3), data
    if method == "communities":
        data = mixed_membership_network(60, 3, mean_degree=12.0, random_state=0).adjacency
        return find_communities(data, 3), data
    data = hard_data.noisy(rng, 12, 6, 3)
    if method == "unmix":
        return unmix(data, 3, shape=(3, 4)), data
    known = estimator_class(method)().get_params()
    options = {"random_state": 0} if "random_state" in known else {}
    return estimator_class(method)(3, **options).fit(data).factorization_, data


def factors(record, data):
    """What a certificate of a record is about: the factorization, and the matrix."""
    if isinstance(record, Answer):
        return record.factorization, record.matrix_of(data)
    return record, data


def changed_arrays(rng, array):
    """Yield (how, array): other arrays in the place of one."""
    yield "zero", np.zeros_like(array)
    yield "reversed", array[::-1].copy()
    yield "cut short", array[:-1]
    if array.dtype.kind == "f":
        yield "times 1000", array * 1000
        yield "negative", -array
        yield "nearly the same", array * (1 + 1e-6 * rng.random(array.shape))
        yield "not numbers", np.full_like(array, np.nan)
        yield "infinite", np.full_like(array, np.inf)
        yield "the largest", np.full_like(array, np.finfo(array.dtype).max)
        yield "in half precision", array.astype(np.float16)
        yield "empty", array[:0]
        yield "flat", array.ravel()
    if array.dtype.kind in "iu":
        yield "the largest", np.full_like(array, np.iinfo(array.dtype).max)
        others = rng.integers(0, max(int(array.max(initial=0)), 1) + 1, array.shape)
        yield "others", others.astype(array.dtype)
    if array.dtype.kind == "i":
        yield "minus one", np.full_like(array, -1)


def changed_values(value):
    """Yield (how, value): other values in the place of a field that holds no further ones."""
    if isinstance(value, bool):
        yield "negated", not value
    elif isinstance(value, int | float):
        yield from (("zero", 0 * value), ("larger", value * 1000 + 1))
    elif isinstance(value, str):
        yield "other text", "forged"
        kind = next((words for words in PLAUSIBLE if value in words), ())
        yield from ((word, word) for word in kind if word != value)
    elif value is None:
        yield from (("a number", 1.0), ("text", "forged"))
    else:
        yield "empty", type(value)()


# Texts that stand for a choice, and what could have been chosen instead.
PLAUSIBLE = (("holds", "fails", "unknown"), ("<=", ">="), ("simplex", "nonnegative"))


def fields(content, place=()):
    """Yield (place, value) of all fields of a record, those that hold others included."""
    items = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in items:
        yield (*place, key), value
        if isinstance(value, dict | list):
            yield from fields(value, (*place, key))


def with_field(content, place, value):
    """A copy of a record with another value in one place."""
    copy = json.loads(json.dumps(content))
    holder = copy
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    return copy


def forgeries(rng, path):
    """Yield (what, arrays): the contents of forged files."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    for name in [name for name in arrays if name != "record"]:
        for how, array in changed_arrays(rng, arrays[name]):
            yield f"array {name}: {how}", {**arrays, name: array}
        yield f"array {name}: missing", {key: a for key, a in arrays.items() if key != name}
    record = json.loads(arrays["record"].tobytes().decode())
    methods = [("another method", name) for name in sorted(CATALOGUE)]
    for place, value in fields(record):
        ways = list(changed_values(value))
        if place == ("content", "method"):
            ways += methods
        for how, other in ways:
            text = json.dumps(with_field(record, place, other))
            changed = np.frombuffer(text.encode(), dtype=np.uint8)
            yield f"field {'/'.join(map(str, place))}: {how}", {**arrays, "record": changed}


@cache
def forged_files(method):
    """The data of one method's record, their matrix, what is true of them, and all forgeries."""
    result, data = fitted(method)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "record.npz")
        result.save(path)
        found = list(forgeries(np.random.default_rng(0), path))
        certificate = certify(data, load(path))
    record, matrix = factors(result, data)
    judge_all(matrix, record, certificate, matrix, method)
    return data, matrix, certificate.to_dict(), found


def case(rng):
    """One forged file of a random method."""
    method = str(rng.choice([*sorted(CATALOGUE), *APPLICATIONS]))
    return outcome(method, int(rng.integers(len(forged_files(method)[-1]))))


def outcome(method, number):
    """What is said of one forged file: its page is marked, and its new certificate is true."""
    data, fitted_matrix, truth, found = forged_files(method)
    what, arrays = found[number]
    place = f"{method}, {what}"
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "forged.npz")
        np.savez(path, **arrays)
        try:
            record = load(path)
            page = render(record)
            marked = record.certificate is None or FROM_FILE in page
            certificate = certify(data, record)
        except ProvenmfError as error:
            hold(fit_for_people(str(error)), f"{place}: not one short line: {error!s:.900}")
            return "refused"
        hold(marked, f"{place}: the page does not say that nothing was recomputed")
        if certificate.to_dict() == truth and what.startswith("field "):
            return "unchanged"  # the same words about the same factors
        record, matrix = factors(record, data)
        judge_all(matrix, record, certificate, fitted_matrix, place)
    return "unchanged" if certificate.to_dict() == truth else "other"


def judge_all(matrix, record, certificate, fitted_matrix, place):
    """All statements of a certificate are true."""
    tally = Tally()
    judge(case_of(matrix, record, certificate, fitted_matrix), tally, place)
    hold(not tally.false, f"false: {tally.false[:5]}")
