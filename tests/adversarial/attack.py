"""An attack on every statement of every certificate.

    python tests/adversarial/attack.py [--fits 2000] [--seed 0] [--minutes 30] [--large]

Small hostile data (hard_data.py) are factorized by every method; then the record is
forged, or certified against other data. Each statement of each certificate is compared with an
independent computation (statements.py): exact fractions where a bound or a condition is
proved, linear programs for each unknown where parts are called unique. Every sentence of the
verdict is judged (sentences.py), and random rivals try to beat each bound (rivals.py). Prints what
was checked and all that is false or crashed. A statement without a checker stops it.
"""

import argparse
import re
import sys
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field

import hard_data
import large
import numpy as np
import rivals
import sentences
from rich.console import Console
from rich.table import Table
from statements import BOUNDS, CHECKS, MEASURES, Case, is_consistent

from provenmf.errors import ProvenmfError
from provenmf.methods import CATALOGUE, estimator_class
from provenmf.methods.certify import certify, estimator_of
from provenmf.results.verdict import statements as statements_of

OPTIONS = ({}, {"constraint": "simplex"}, {"scale_rows": True})
FORGERIES_A_FIT = 3


class NotRegistered(Exception):
    """A certificate says something that the attack cannot judge."""


@dataclass
class Tally:
    """What was checked, and what went wrong."""

    true: Counter = field(default_factory=Counter)
    unclaimed: Counter = field(default_factory=Counter)
    false: list = field(default_factory=list)
    crashes: list = field(default_factory=list)
    refused: int = 0
    certificates: int = 0

    def note(self, kind, name, verdict, where):
        """Count one statement."""
        if verdict is None:
            self.unclaimed[kind, name] += 1
        elif verdict:
            self.true[kind, name] += 1
        else:
            self.false.append((kind, name, where))

    @property
    def checked(self):
        """How many statements were compared."""
        return sum(self.true.values()) + len(self.false)


def registered(kind, table, name):
    """The checker of a statement, or an error that says where to put one."""
    if name not in table:
        raise NotRegistered(f"{kind} {name!r} has no checker in statements.py")
    return table[name]


def judge_sentences(case, tally, where):
    """Compare every sentence of the verdict."""
    for text in statements_of(case.certificate):
        for part in sentences.split(text):
            try:
                verdict = sentences.judge(case, part)
            except KeyError:
                raise NotRegistered(f"no checker in sentences.py for {part!r}") from None
            tally.note("sentence", re.sub(r"[0-9][0-9.e+-]*", "#", part)[:60], verdict, where)


def judge(case, tally, where):
    """Compare every statement of one certificate, and every sentence of its verdict."""
    certificate = case.certificate
    tally.certificates += 1
    for check in certificate.checks:
        checker = registered("check", CHECKS, check.name)
        agrees = is_consistent(check)
        if agrees is not None:
            tally.note("check", f"{check.name}: number", agrees, where)
        tally.note("check", check.name, checker(case, check), where)
    for kind, table, values in (
        ("bound", BOUNDS, certificate.bounds),
        ("measure", MEASURES, certificate.measures),
    ):
        for name, value in values.items():
            tally.note(kind, name, registered(kind, table, name)(case, value), where)
    judge_sentences(case, tally, where)
    for name, verdict in rivals.attack(case, np.random.default_rng(tally.certificates)):
        tally.note("rival", name, verdict, where)


def one_fit(seed, tally):
    """Factorize hostile data by one method, judge its certificate and those of forgeries."""
    rng = np.random.default_rng(seed)
    data, k, name = hard_data.data(rng)
    method = sorted(CATALOGUE)[seed % len(CATALOGUE)]
    options = OPTIONS[rng.integers(len(OPTIONS))]
    known = estimator_class(method)().get_params()
    options = {key: value for key, value in options.items() if key in known}
    if "random_state" in known:
        options["random_state"] = 0
    estimator = estimator_class(method)(min(k, *data.shape), **options)
    where = f"seed {seed}: {method} {options} on {name} {data.shape} {data.dtype}"
    guarded(
        lambda: estimator.fit(data),
        tally,
        where,
        lambda fitted: judge_fit(fitted, data, tally, where),
    )
    if not hasattr(estimator, "factorization_"):
        return
    record = estimator.factorization_
    forged = [("other data", record)] + list(hard_data.forgeries(rng, record))
    for choice in rng.permutation(len(forged))[:FORGERIES_A_FIT]:
        what, changed = forged[choice]
        seen = data[rng.permutation(data.shape[0])] if what == "other data" else data
        place = f"{where}, forged: {what}"
        guarded(
            lambda seen=seen, changed=changed: certify(seen, changed),
            tally,
            place,
            lambda found, seen=seen, changed=changed, place=place: judge(
                case_of(seen, changed, found, data), tally, place
            ),
        )


def guarded(action, tally, where, then):
    """Do it and go on; refusals of the library are counted, anything else is a crash."""
    try:
        then(action())
    except NotRegistered:
        raise
    except ProvenmfError:
        tally.refused += 1
    except Exception:
        tally.crashes.append((where, traceback.format_exc(limit=-3)))


def judge_fit(fitted, data, tally, where):
    case = case_of(data, fitted.factorization_, fitted.certificate_, data)
    judge(case, tally, where)


def case_of(data, record, certificate, fitted):
    """What the checkers need to know; `fitted` are the data that the record was made from."""
    estimator = estimator_of(record)
    scaled = bool(estimator.get_params().get("scale_rows", False))
    sums = record.weights.sum(axis=1, dtype=np.float64)
    simplex = record.weights.min(initial=0.0) >= 0 and np.abs(sums - 1).max() <= 1e-5
    return Case(
        data,
        record,
        certificate,
        estimator._constraint if simplex else "nonnegative",
        scaled and record.method != "and_descent",
        fitted,
    )


def attack(fits, *, first=0, minutes=float("inf")):
    """Judge so many fits, in the order of their seeds, until the time is over."""
    tally, end = Tally(), time.monotonic() + 60 * minutes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(first, first + fits):
            if time.monotonic() > end:
                break
            one_fit(seed, tally)
    return tally


def shown(tally, seconds):
    """The tables of an attack."""
    console = Console()
    table = Table("kind", "statement", "true", "nothing claimed", "false")
    false = Counter((kind, name) for kind, name, _ in tally.false)
    for key in sorted({*tally.true, *tally.unclaimed, *false}):
        table.add_row(*key, str(tally.true[key]), str(tally.unclaimed[key]), str(false[key]))
    console.print(table)
    for kind, name, where in tally.false[:40]:
        console.print(f"FALSE {kind} {name}: {where}", soft_wrap=True)
    for where, trace in tally.crashes[:20]:
        console.print(f"CRASH {where}\n{trace}", soft_wrap=True, markup=False)
    console.print(
        f"{tally.checked} statements of {tally.certificates} certificates compared in "
        f"{seconds:.0f} s, {len(tally.false)} false, {len(tally.crashes)} crashes, "
        f"{tally.refused} refusals"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--large", action="store_true", help="data of up to a million rows too")
    chosen = parser.parse_args()
    start = time.monotonic()
    tally = attack(chosen.fits, first=chosen.seed, minutes=chosen.minutes)
    for where, name, verdict in large.cases() if chosen.large else ():
        tally.note("large", name, verdict, where)
    shown(tally, time.monotonic() - start)
    sys.exit(bool(tally.false or tally.crashes))


if __name__ == "__main__":
    main()
