"""Saved results are forged: every array and every field of the file, one at a time.

    python tests/adversarial/forgery.py [--methods spa hals] [--minutes 30]

Small data are factorized by every method and saved. Each array and each field of each file is then
changed in several ways, and `load`, `certify` and the report page are asked about the forged file.
Every statement of a new certificate is compared as in attack.py; a page must say that
its certificate was read from a file. Prints a table, and all that is false or crashed.
"""

import argparse
import json
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import hard_data
import numpy as np
from attack import Tally, case_of, judge
from rich.console import Console
from rich.table import Table

from provenmf import find_communities, find_topics, unmix
from provenmf.datasets.corpora import topic_corpus
from provenmf.datasets.networks import mixed_membership_network
from provenmf.errors import ProvenmfError
from provenmf.io import load
from provenmf.methods import CATALOGUE, estimator_class
from provenmf.methods.certify import certify
from provenmf.report import render
from provenmf.results import Answer
from provenmf.results.verdict import FROM_FILE

COLUMNS = "files refused unchanged other false crashes pages unmarked".split()
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


def forge(method, folder, tally, *, every=1, end=float("inf")):
    """Count what becomes of the forged files of one method; every n-th of them."""
    rng = np.random.default_rng(0)
    result, data = fitted(method)
    path, forged = Path(folder) / f"{method}.npz", Path(folder) / "forged.npz"
    result.save(path)
    certificate = certify(data, load(path))
    record, matrix = factors(result, data)
    judge(case_of(matrix, record, certificate, matrix), tally, method)
    truth = certificate.to_dict()
    counts = Counter()
    for number, (what, arrays) in enumerate(forgeries(rng, path)):
        if number % every:
            continue
        if time.monotonic() > end:
            break
        np.savez(forged, **arrays)
        counts["files"] += 1
        place = f"{method}, {what}"
        try:
            counts[outcome(forged, data, matrix, truth, tally, place, counts)] += 1
        except Exception:
            counts["crashes"] += 1
            tally.crashes.append((place, traceback.format_exc(limit=-3)))
    return counts


def outcome(path, data, fitted_matrix, truth, tally, place, counts):
    """What `certify` says of a forged file; how its page is marked is counted on the way."""
    try:
        record = load(path)
    except ProvenmfError:
        return "refused"
    count_page(record, counts)
    try:
        certificate = certify(data, record)
    except ProvenmfError:
        return "refused"
    unchanged = certificate.to_dict() == truth
    if unchanged and " field " in f" {place} ":  # the same words about the same factors
        return "unchanged"
    before = len(tally.false)
    record, matrix = factors(record, data)
    judge(case_of(matrix, record, certificate, fitted_matrix), tally, place)
    if len(tally.false) > before:
        return "false"
    return "unchanged" if unchanged else "other"


def count_page(record, counts):
    """Count the pages of forged files, and those that do not say that nothing was recomputed."""
    page = render(record)
    counts["pages"] += 1
    counts["unmarked"] += record.certificate is not None and FROM_FILE not in page


def shown(table, tally, seconds):
    """The table of all methods."""
    console = Console()
    columns = Table("method", *COLUMNS)
    for method, counts in table.items():
        columns.add_row(method, *(str(counts[name]) for name in COLUMNS))
    total = sum(table.values(), Counter())
    columns.add_row("all", *(str(total[name]) for name in COLUMNS))
    console.print(columns)
    for kind, name, where in tally.false[:40]:
        console.print(f"FALSE {kind} {name}: {where}", soft_wrap=True)
    for where, trace in tally.crashes[:20]:
        console.print(f"CRASH {where}\n{trace}", soft_wrap=True, markup=False)
    console.print(
        f"{total['files']} forged files, {tally.checked} statements compared in {seconds:.0f} s, "
        f"{len(tally.false)} false, {len(tally.crashes)} crashes"
    )


def run(methods, *, every=1, minutes=float("inf")):
    """Forge the files of these methods; the counts of each, and what was false."""
    tally, table, end = Tally(), {}, time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in methods:
            table[method] = forge(method, folder, tally, every=every, end=end)
    return table, tally


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", default=[*sorted(CATALOGUE), *APPLICATIONS])
    parser.add_argument("--every", type=int, default=1, help="only every n-th forgery")
    parser.add_argument("--minutes", type=float, default=60.0)
    chosen = parser.parse_args()
    start = time.monotonic()
    table, tally = run(chosen.methods, every=chosen.every, minutes=chosen.minutes)
    shown(table, tally, time.monotonic() - start)
    sys.exit(bool(tally.false or tally.crashes))


if __name__ == "__main__":
    main()
