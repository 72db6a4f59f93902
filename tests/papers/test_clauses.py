"""Every clause of every claim can fail: forged results must change the verdict.

`GOOD` has tables of which every clause holds: those on record, repaired where a clause fails. A
mutant changes a few entries so that one clause is violated and no other.
"""

import copy
import itertools
import math

import pytest

from provenmf.reproduce.catalogue import experiments
from provenmf.reproduce.claims import contents, swapped, verdict_of
from provenmf.reproduce.results import judge_again, read_record

EXPERIMENTS = experiments()
RECORD = read_record()
AND, ADAPTIVE = "AND", "AND, adaptive"
BINARY, ONE = "Binary weights, α = 1/4", "One sample a step"
DB, START = "SNR (dB)", "‖E‖_s of the start"
SNRS = (7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 22, 25)
SIZES = range(3, 11)
METHODS = ("SPA", "FastGradient", "MERIT", "our MERIT")
CASES = "Relative errors, means of all runs"
NEWS, FACES, NMF = "Measures of 10 topics", "Six components of the faces", "NMF (scikit-learn)"
DOMINANT, SPARSE = "Dominant noise", "Linear sparsity s = G k"
FIT_MEMORY = "Peak memory of a fit beyond the data, MB"
WORST = "moore-penrose worst weight"


def forged(tables, edits):
    """A copy of tables with edits (table, which rows, column, value)."""
    mutant = copy.deepcopy(tables)
    for title, where, name, value in edits:
        rows = [r for r in mutant[title] if all(r[key] == v for key, v in where.items())]
        assert rows, f"{title} has no row with {where}"
        for row in rows:
            row[name] = value
    return mutant


# Edits after which the clauses hold that fail on record.
REPAIRS = {
    "and-fig1": [("CTM", {"method": "HALS"}, "largest rise", 1.2)],
    "and-fig3": [("Starts, out-of-span", {"method": AND}, "relative error", 0.05)],
    "and-fig4": [("Sparsity", {"α": 20, "method": AND}, "late factor", 0.9)],
    "and-table1": [(NEWS, {"method": AND}, "shared words", 0)],
    "and-fig5": [(FACES, {"method": AND}, "negative share", 0.01)],
    "purification-theorem7": [
        ("Unequal proportions", {"balanced": False}, "iterations to 1e-6", 300)
    ],
    "cones-fig1": [(CASES, {"n": 100}, "Alg2+Als", 0.02)],
    "cones-theorem5": [("Real data", {}, "K found", 3)],
    "cones-table1": [("Seconds", {"n": 100}, name, 0.08) for name in ("Alg2", "Alg2+Als")],
    "merit-fig2": [
        ("success rate", {DB: 10}, "MERIT", 1.0),
        ("success rate", {DB: 16}, "FastGradient", 1.0),
    ],
    "merit-fig3": [("RAE", {DB: s}, "MERIT", 0.67) for s in (7, 8)],
    "merit-fig4": [(FIT_MEMORY, {"n": 10_000}, "FastGradient", 4900.0)],
    "merit-table2": [
        (f"{measure} on tdt2", {"method": "MERIT"}, f"K={k}", value)
        for measure, value in (("ClustAcc", 0.98), ("Coherence", -300.0))
        for k in SIZES
    ],
    "merit-table4": [("SRC", {"network": "DBLP2"}, "GeoNMF", 0.2)],
    "merit-fig6": [("Peak memory", {"n": 2016}, "FastGradient MB", 300.0)],
    "merit-fig7": [("Peak memory", {"n": 3248}, "FastGradient MB", 600.0)],
}
GOOD = {name: forged(stored["tables"], REPAIRS.get(name, [])) for name, stored in RECORD.items()}
# Results without sense: several clauses may fail, and the claim must not hold.
SUCCESS, EVERY = "success rate", ("SPA", "FastGradient", "MERIT")
NONSENSE = {
    "every method fails every trial": ("merit-fig2", [(SUCCESS, {}, m, 0.0) for m in EVERY]),
    "every method fails every trial of Fig. 4": (
        "merit-fig4",
        [(SUCCESS, {}, m, 0.0) for m in EVERY],
    ),
    "all methods return the same wrong rows": (
        "merit-fig3",
        [("MRSA, 0 to 100", {}, m, 25.0) for m in EVERY] + [("RAE", {}, m, 0.6) for m in EVERY],
    ),
    "no λ and no μ ever succeeds": (
        "merit-fig5",
        [(f"by {name}", {}, f"{snr} dB", 0.0) for name in "λμ" for snr in (6, 8, 10, 12)],
    ),
    "SPA always succeeds": ("merit-table1", [(SUCCESS, {}, "SPA", 1.0)]),
    "FastGradient needs 1 MB": ("merit-fig6", [("Peak memory", {}, "FastGradient MB", 1.0)]),
    "competitors at 1e-12, AND stuck at 1e-3": (
        "and-fig1",
        [
            (title, {"method": m}, "error", 6e-3 if m == AND else 1e-12)
            for title in ("DIR", "CTM")
            for m in (AND, "HALS", "ANLS", "MU", "LDA")
        ],
    ),
    "the error does not depend on the noise": ("and-fig2", [("Noise on CTM", {}, "error", 0.1)]),
    "AND diverges from all starts": (
        "and-fig3",
        [
            (f"Starts, {where}-span", {"method": AND}, n, math.inf)
            for where in ("in", "out-of")
            for n in ("error", "relative error")
        ],
    ),
    "the final error is 100 from every start": (
        "purification-starts",
        [("Starts", {}, "worst", 100.0)],
    ),
    "Purification itself fails": (
        "purification-pseudo-inverse",
        [("Left inverses", {}, "min-inf final E", 100.0)],
    ),
}


# What violates just one clause where changing one column of some rows violates others too.
BY_HAND = {
    ("and-table1", "distinct"): [(NEWS, {"method": AND}, "shared words", 36)],
    ("purification-theorem6", "leaves-the-span-behind"): [(SPARSE, {}, "N without noise", 0.1)],
    ("cones-fig1", "below-the-bounds"): [(CASES, {"n": 1000}, "above a bound", 1)],
    ("cones-fig1", "better-for-large-n"): [(CASES, {"n": 10_000}, "Alg2+Als", 0.07)],
    ("merit-fig2", "merit-above-fastgradient"): [
        (SUCCESS, {DB: s}, "FastGradient", 1.0) for s in SNRS if s >= 9
    ],
    ("merit-fig3", "highest-mean-rae"): [("RAE", {}, m, 0.7) for m in METHODS],
    ("merit-table2", "spa-as-printed"): [
        ("ClustAcc on tdt2", {"method": "SPA", "origin": "ours"}, f"K={k}", 0.1) for k in SIZES
    ],
    ("merit-table2", "best-accuracy-on-tdt2"): [
        ("ClustAcc on tdt2", {"method": "XRAY"}, "K=5", 0.99)
    ],
    ("merit-table2", "best-coherence-on-tdt2"): [
        ("Coherence on tdt2", {"method": "XRAY"}, "K=5", -200.0)
    ],
    ("merit-table2", "simcount-reasonable"): [
        ("SimCount on tdt2", {"method": "MERIT", "origin": "ours"}, "K=10", 1e3)
    ],
    ("merit-table2", "five-percent-at-10"): [("ClustAcc on tdt2", {"method": "SPA"}, "K=10", 0.94)],
    ("merit-table2", "top-two-on-reuters"): [
        ("ClustAcc on reuters21578", {"method": m}, f"K={k}", 0.7)
        for m in ("SPA", "LDA")
        for k in (3, 4, 5, 6)
    ],
    ("merit-table2", "convex-above-greedy"): [
        (f"ClustAcc on {corpus}", {"method": "MERIT(0)"}, f"K={k}", 0.1)
        for corpus in ("tdt2", "reuters21578")
        for k in SIZES
    ],
    ("merit-table2", "penalty-helps"): [
        ("ClustAcc on tdt2", {"method": "MERIT(0)"}, f"K={k}", 0.99) for k in SIZES
    ],
    ("merit-table4", "ahead-on-dblp2"): [("SRC", {"network": "DBLP2"}, "GeoNMF", 0.32)],
    ("merit-lemmas", "support-in-anchors"): [
        ("Without noise", {}, "entries outside the anchors", 1)
    ],
}
FACTORS = [float(f) for f in (0, 1e-6, 1e-3, 0.1, 0.5, 0.8, 0.9, 1.1, 1.25, 2, 10, 1e3, 1e6)]


def decisions(name, tables):
    return {j.clause.name: j.decision for j in EXPERIMENTS[name].judge(tables)}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def changes(tables):
    """Each measured column of a table, in the rows of one method, in all rows, and in one row."""
    for title, rows in tables.items():
        ours = [n for n, row in enumerate(rows) if "print" not in str(row.get("origin"))]
        methods = dict.fromkeys(rows[n].get("method") for n in ours)
        groups = [[n for n in ours if rows[n].get("method") == method] for method in methods]
        for name in dict.fromkeys(name for row in rows for name in row):
            for group in (*groups, ours, *([n] for n in ours if len(groups) < 3)):
                numbers = [n for n in group if is_number(rows[n].get(name))]
                if numbers and not name.startswith(("our ", "printed ", "authors'")):
                    yield title, name, numbers


def with_column(tables, title, name, numbers, change):
    rows = [
        {**row, name: change(row[name])} if n in numbers else row
        for n, row in enumerate(tables[title])
    ]
    return {**tables, title: rows}


def single_violations(name):
    """Clause -> edits of the good tables after which it fails, and no other clause."""
    good, found = GOOD[name], {}
    wanted = {c.name for c in EXPERIMENTS[name].clauses} - {c for n, c in BY_HAND if n == name}
    for (title, column, numbers), factor in itertools.product(changes(good), FACTORS):
        if wanted:
            forgery = with_column(good, title, column, numbers, factor.__mul__)
            bad = {c: d for c, d in decisions(name, forgery).items() if d != "holds"}
            if list(bad.values()) == ["fails"] and wanted & bad.keys():
                wanted -= bad.keys()
                found[next(iter(bad))] = (title, column, numbers)
    return found


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_clause_can_be_violated_alone_and_then_decides(name):
    found = single_violations(name)
    by_hand = {clause: edits for (n, clause), edits in BY_HAND.items() if n == name}
    assert found.keys() | by_hand.keys() == {c.name for c in EXPERIMENTS[name].clauses}
    for clause, edits in by_hand.items():
        bad = {c: d for c, d in decisions(name, forged(GOOD[name], edits)).items() if d != "holds"}
        assert bad == {clause: "fails"}
        unknown = [(title, where, column, math.nan) for title, where, column, _ in edits]
        assert decisions(name, forged(GOOD[name], unknown))[clause] != "holds"
    for clause, (title, column, numbers) in found.items():
        unknown = with_column(GOOD[name], title, column, numbers, lambda old: math.nan)
        assert decisions(name, unknown)[clause] != "holds"


def everywhere(change):
    """Change every measured number of the paper's methods: (number, column of it) -> number."""

    def kind(tables):
        forgery = copy.deepcopy(tables)
        for title, name, numbers in changes(tables):
            if name not in GIVEN:
                old = [tables[title][n][name] for n in numbers]
                for n, value in zip(numbers, old):
                    forgery[title][n][name] = change(value, old)
        return forgery

    return kind


GIVEN = contents("claims.toml")["given"]["columns"]
KINDS = {f"every number is {c}": everywhere(lambda v, old, c=c: c) for c in (0.0, 1e-9, 0.5, 1, 9)}
KINDS |= {
    "every number is infinite": everywhere(lambda v, old: math.inf),
    "every number is negative": everywhere(lambda v, old: -abs(v) - 1e-9),
    "every number is unknown": everywhere(lambda v, old: math.nan),
    "all rows are the first": lambda tables: {
        title: [{**row, **{k: v for k, v in rows[0].items() if k not in GIVEN}} for row in rows]
        for title, rows in tables.items()
    },
    "every second row is missing": lambda tables: {
        t: rows[::2] or rows for t, rows in tables.items()
    },
    "a lucky row stands for another": lambda tables: {
        t: rows[:-1] + rows[:1] for t, rows in tables.items()
    },
    "the last row is missing": lambda tables: {t: rows[:-1] or rows for t, rows in tables.items()},
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_nonsense_of_a_kind_holds_nowhere(name, kind):
    forgery = KINDS[kind](GOOD[name])
    if forgery != GOOD[name]:  # tables of one row have no second one
        assert verdict_of(EXPERIMENTS[name].judge(forgery)) != "holds"


def swap_rows(tables, one, other):
    names = {one: other, other: one}
    return {
        title: [{**row, "method": names.get(row["method"], row["method"])} for row in rows]
        if all("method" in row for row in rows)
        else rows
        for title, rows in tables.items()
    }


def swap_columns(tables, one, other):
    return {
        title: [
            {**row, one: row[other], other: row[one]} if {one, other} <= row.keys() else row
            for row in rows
        ]
        for title, rows in tables.items()
    }


@pytest.mark.parametrize(
    ("name", "swap", "one", "other"),
    [
        *(("and-fig1", swap_rows, AND, m) for m in ("HALS", "ANLS", "MU", "LDA")),
        ("and-fig1", swap_columns, "seconds", "error"),
        ("and-fig1", swap_columns, "error", "error at the start"),
        ("and-fig2", swap_rows, AND, "constant 0.1"),
        *(("and-fig5", swap_rows, AND, m) for m in ("PCA", "k-means", "sparse PCA")),
        ("purification-theorem1", swap_columns, "E", "signal"),
        ("purification-pseudo-inverse", swap_columns, "min-inf worst weight", WORST),
        *(("cones-fig1", swap_columns, m, "Alg2+Als") for m in ("Als", "Mult", "Theorem 4")),
        *(
            (f"merit-{n}", swap_columns, m, "MERIT")
            for n in ("fig2", "fig3", "table1")
            for m in ("SPA", "FastGradient")
            if (n, m) != ("table1", "FastGradient")
        ),
        ("merit-fig4", swap_columns, "FastGradient", "MERIT"),
        *(("merit-table2", swap_rows, m, "MERIT") for m in ("SPA", "XRAY", "MERIT(0)")),
        *(("merit-table4", swap_columns, m, "MERIT") for m in ("GeoNMF", "SPOC", "FastGradient")),
        ("merit-fig7", swap_columns, "FastGradient MB", "MERIT MB"),
        ("merit-lemmas", swap_columns, "bound", "smallest difference"),
    ],
)
def test_swapped_methods_and_columns_do_not_hold(name, swap, one, other):
    assert verdict_of(EXPERIMENTS[name].judge(swap(GOOD[name], one, other))) != "holds"


def test_a_right_mean_with_an_absurd_spread_is_not_enough():
    for title, clause, spread in (
        ("MRSA, 0 to 100", "lowest-mrsa", 40.0),
        ("RAE", "highest-mean-rae", 0.5),
    ):
        wild = with_column(GOOD["merit-fig3"], title, "MERIT ±", range(13), lambda old, s=spread: s)
        bad = {c for c, d in decisions("merit-fig3", wild).items() if d != "holds"}
        assert bad == {clause}


@pytest.mark.parametrize("story", NONSENSE)
def test_nonsense_does_not_hold(story):
    name, edits = NONSENSE[story]
    assert verdict_of(EXPERIMENTS[name].judge(forged(GOOD[name], edits))) != "holds"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_good_results_hold_and_nothing_holds_of_empty_tables(name):
    judged = EXPERIMENTS[name].judge(GOOD[name])
    assert {j.clause.name: j.decision for j in judged if j.decision != "holds"} == {}
    assert verdict_of(judged) == "holds"
    assert verdict_of(EXPERIMENTS[name].judge({})) == "not measured"


@pytest.mark.parametrize("name", [n for n, e in EXPERIMENTS.items() if e.clauses[0].fewest])
def test_one_trial_decides_nothing_that_depends_on_chance(name):
    few = forged(GOOD[name], [])
    for row in itertools.chain(*few.values()):
        row |= {key: 1 for key in ("trials", "runs") if key in row}
    if name == "and-table1":
        few[NEWS] = [row for row in few[NEWS] if row["seed"] == 0]
    if name == "merit-lemmas":
        few["Without noise"] = few["Without noise"][:1]
    judged = EXPERIMENTS[name].judge(few)
    undecided = {"too few trials", "not measured"}
    assert {j.decision for j in judged if j.clause.fewest} <= undecided


def test_numbers_of_the_variant_are_those_of_its_rows_and_columns():
    tables = {"T": [{"method": "a", "x": 1}, {"method": "b", "x": 2}], "U": [{"a": 3, "b": 4}]}
    assert swapped(tables, {"a": "b"}) == {"T": [{"method": "a", "x": 2}], "U": [{"a": 4}]}
    shown = {
        j.clause.name: j.variant
        for j in EXPERIMENTS["merit-fig2"].judge(
            forged(GOOD["merit-fig2"], [("success rate", {DB: 10}, "our MERIT", 0.3)])
        )
    }
    assert shown["merit-from-10-db"] == 0.3 and shown["spa-not-at-20-db"] is None


@pytest.mark.parametrize("column", ["our MERIT", ADAPTIVE])
def test_our_variant_never_decides(column):
    for name, tables in GOOD.items():
        worse = copy.deepcopy(tables)
        for row in itertools.chain(*worse.values()):
            if column in row:
                row[column] = float("nan")
            if row.get("method") == column:
                row |= {k: math.nan for k in row if is_number(row[k]) and k not in GIVEN}
        assert verdict_of(EXPERIMENTS[name].judge(worse)) == "holds"


def test_the_record_is_judged_by_the_clauses_as_they_are():
    record = read_record()
    assert record.keys() <= EXPERIMENTS.keys()
    for name, stored in record.items():
        again = judge_again(EXPERIMENTS[name], stored)
        assert again["verdict"] == stored["verdict"], name
        assert [c["verdict"] for c in again["clauses"]] == [c["verdict"] for c in stored["clauses"]]
