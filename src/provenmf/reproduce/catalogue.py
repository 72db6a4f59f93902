"""Every table and figure of the four papers, and which experiment runs it again."""

from __future__ import annotations

import pkgutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

import provenmf.reproduce
from provenmf.reproduce.claims import Experiment, texts
from provenmf.reproduce.results import Stored, cell_text, columns_of

PAPERS = {
    "Li17": "Li & Liang 2017, Provable alternating gradient descent for non-negative matrix "
    "factorization with strong correlations (AND)",
    "Li16": "Li, Liang & Risteski 2016, Recovery guarantee of non-negative matrix factorization "
    "via alternating updates (Purification)",
    "Liu17": "Liu & Tan 2017, Relative error bounds for nonnegative matrix factorization under a "
    "geometric assumption (cones)",
    "Nguyen22": "Nguyen, Fu & Wu, Memory-efficient convex optimization for self-dictionary "
    "separable nonnegative matrix factorization: a Frank-Wolfe approach (MERIT)",
}


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper, or a theorem; `reason` says why there is no experiment."""

    name: str
    paper: str
    title: str
    reason: str = ""


# Parts of the papers that are not experiments, before the one they precede.
NOT_RUN = {
    "merit-fig2": Item(
        "merit-fig1", "Nguyen22", "illustration of the idea", "a drawing, nothing to run"
    ),
    "merit-table4": Item(
        "merit-table3", "Nguyen22", "sizes of the networks", "statistics of the data, no result"
    ),
}


def items() -> list[Item]:
    """Tables, figures and theorems of the papers in their order; imports no experiment."""
    found = []
    for name, text in texts().items():
        if name in NOT_RUN:
            found.append(NOT_RUN[name])
        found.append(Item(name, text["paper"], text["title"]))
    return found


@dataclass(frozen=True)
class Row:
    """One line of the listing."""

    name: str
    paper: str
    title: str
    status: str


def experiments() -> dict[str, Experiment]:
    """All experiments of this package by name, in the order of the papers' items."""
    found: dict[str, Experiment] = {}
    for module in pkgutil.iter_modules(provenmf.reproduce.__path__):
        contents = import_module(f"provenmf.reproduce.{module.name}")
        found |= {e.name: e for e in getattr(contents, "EXPERIMENTS", ())}
    return {item.name: found[item.name] for item in items() if not item.reason}


def listing(
    results: Mapping[str, Stored], recorded: Mapping[str, Stored] | None = None
) -> list[Row]:
    """The papers' items with their status.

    Where an experiment has no result, `recorded` may have the outcome of an earlier one.
    """
    earlier = recorded or {}

    def status(item: Item) -> str:
        if item.reason:
            return item.reason
        if item.name in results:
            return _outcome(results[item.name])
        known = item.name in earlier
        return f"{_outcome(earlier[item.name])}, on record" if known else "can be run"

    return [Row(item.name, item.paper, item.title, status(item)) for item in items()]


def _outcome(result: Stored) -> str:
    return f"{result['verdict']} (quick size)" if result["quick"] else str(result["verdict"])


def document(results: Mapping[str, Stored]) -> str:
    """The page docs/reproduction.md."""
    clauses = [clause for result in results.values() for clause in result["clauses"]]
    counts = Counter(clause["verdict"] for clause in clauses)
    words = {"fails": "fail", "not measured": "not measured", "too few trials": "open"}
    others = ", ".join(f"{counts[key]} {word}" for key, word in words.items() if counts[key])
    lines = [
        "# Reproduction",
        "",
        "This page repeats every table and figure of the four papers, and the theorems of the",
        "one that has none. A claim is a list of *clauses*. A clause compares one number of the",
        "paper's own method, run with the paper's settings, with a threshold, and says where the",
        "threshold comes from; our variant of the method stands beside it and never decides.",
        "",
        f"**Of {len(clauses)} clauses {counts['holds']} hold** ({others}).",
        "",
        "`provenmf reproduce NAME` runs an experiment; [data](data.md) lists the files that",
        "those on real data need. `provenmf reproduce --write-docs` writes this page from the",
        "results; the measurements ship with the package, and a test judges them again. *Full",
        "size* is the size of the paper. *Quick size* has small data and few trials: it shows",
        "that an experiment runs.",
        "",
        "*Paper's print* is a number in the paper, *authors' code* one of a run of their programs,",
        "*ours* that of our implementation of the paper's method with the paper's settings.",
        "",
        "Measures of the papers: *MRSA*, mean removed spectral angle of components, lower is",
        "better; *RAE*, one minus the relative error, higher is better; *success rate*, share of",
        "trials in which all anchors are found; *Coherence*, higher is better; *SimCount*, words",
        "shared by topics, lower is better; *ClustAcc*, clustering accuracy of the documents;",
        "*SRC*, rank correlation of memberships with the truth.",
        "",
        "| name | paper | what | verdict |",
        "|---|---|---|---|",
    ]
    rows = listing(results)
    lines += [f"| `{row.name}` | {row.paper} | {row.title} | {row.status} |" for row in rows]
    lines += ["", *(f"- **{short}**: {full}" for short, full in PAPERS.items())]
    for row in rows:
        if row.name in results:
            lines += _chapter(row, results[row.name])
    return "\n".join(lines) + "\n"


def _chapter(row: Row, result: Stored) -> list[str]:
    size = "quick size" if result["quick"] else "full size"
    verdict = str(result["verdict"])
    lines = [
        "",
        f"## {row.name}: {row.title}",
        "",
        f"**{verdict[0].upper()}{verdict[1:]}.** "
        f"({row.paper}; {size}, seed {result['seed']}, {result['seconds']:.0f} s)",
    ]
    if result.get("note"):
        lines += ["", result["note"]]
    for title, table in {"Clauses": result["clauses"], **result["tables"]}.items():
        columns = columns_of(table)
        lines += ["", f"{title}:", "", "| " + " | ".join(map(_safe, columns)) + " |"]
        lines += ["|" + "---|" * len(columns)]
        lines += [
            "| " + " | ".join(_safe(cell_text(line.get(name))) for name in columns) + " |"
            for line in table
        ]
    return lines


def _safe(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
