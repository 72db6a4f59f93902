"""Every table and figure of the four papers, and which experiment runs it again."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

import provenmf.reproduce
from provenmf.reproduce.experiment import Experiment
from provenmf.reproduce.stored import Stored, cell, columns_of

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


# What the papers contain, in their order. Purification has neither tables nor figures: its theorems
# and choices are tried. The list can be shown without importing any experiment.
ITEMS = (
    Item("and-fig1", "Li17", "convergence against ANLS, HALS, MU and LDA on DIR, CTM, NEG"),
    Item("and-fig2", "Li17", "thresholding schemes, and robustness to noise"),
    Item("and-fig3", "Li17", "weak starts"),
    Item("and-fig4", "Li17", "sparsity of the weights"),
    Item("and-table1", "Li17", "10 topics of 20 newsgroups"),
    Item("and-fig5", "Li17", "6 components of the Olivetti faces"),
    Item(
        "purification-theorem1",
        "Li16",
        "geometric decrease, and an error proportional to adversarial noise",
    ),
    Item("purification-theorem2", "Li16", "unbiased noise"),
    Item("purification-pseudo-inverse", "Li16", "least infinity norm against Moore-Penrose"),
    Item("purification-starts", "Li16", "how warm the start must be"),
    Item("purification-theorem6", "Li16", "linear sparsity and a start outside the span"),
    Item(
        "purification-theorem7",
        "Li16",
        "general weights and unequal proportions under unbiased noise",
    ),
    Item("cones-fig1", "Liu17", "error bounds and relative errors of several algorithms"),
    Item("cones-table1", "Liu17", "running times of several algorithms"),
    Item("merit-fig1", "Nguyen22", "illustration of the idea", "a drawing, nothing to run"),
    Item("merit-fig2", "Nguyen22", "success rates under various SNRs"),
    Item("merit-fig3", "Nguyen22", "MRSA and RAE under various SNRs"),
    Item("merit-fig4", "Nguyen22", "success rate and memory as n grows"),
    Item("merit-table1", "Nguyen22", "performance under various numbers of components"),
    Item("merit-fig5", "Nguyen22", "dependence on λ and μ"),
    Item("merit-fig6", "Nguyen22", "memory of FastGradient and MERIT on text"),
    Item("merit-table2", "Nguyen22", "topics of TDT2 and Reuters-21578"),
    Item("merit-table3", "Nguyen22", "sizes of the networks", "statistics of the data, no result"),
    Item("merit-table4", "Nguyen22", "communities of DBLP and MAG (MAG is not available)"),
    Item("merit-fig7", "Nguyen22", "memory of FastGradient and MERIT on networks"),
)


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
    return {item.name: found[item.name] for item in ITEMS if not item.reason}


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

    return [Row(item.name, item.paper, item.title, status(item)) for item in ITEMS]


def _outcome(result: Stored) -> str:
    word = {True: "holds", False: "does not hold", None: "open"}[result["holds"]]
    return f"{word} (quick size)" if result["quick"] else word


def document(results: Mapping[str, Stored]) -> str:
    """The page docs/reproduction.md."""
    lines = [
        "# Reproduction",
        "",
        "This page repeats every table and figure of the four papers. Each section has the claim",
        "of the paper, what we found, and the tables. `provenmf reproduce NAME` runs one of them;",
        "[data](data.md) lists the files that experiments on real data need.",
        "`provenmf reproduce --write-docs` writes this page from the results.",
        "",
        "*Full size* is the size of the paper. *Quick size* has small data, few trials and short",
        "time limits: it shows that an experiment runs, and is weak evidence about a claim.",
        "",
        "Measures of the papers: *MRSA*, mean removed spectral angle of components, lower is",
        "better; *RAE*, one minus the relative error, higher is better; *success rate*, share of",
        "trials in which all anchors are found; *Coherence*, higher is better; *SimCount*, words",
        "shared by topics, lower is better; *ClustAcc*, clustering accuracy of the documents;",
        "*SRC*, rank correlation of memberships with the truth.",
        "",
        "| name | paper | what | status |",
        "|---|---|---|---|",
    ]
    rows = listing(results)
    lines += [f"| `{row.name}` | {row.paper} | {row.title} | {row.status} |" for row in rows]
    lines += ["", *(f"- **{short}**: {full}" for short, full in PAPERS.items())]
    for row in rows:
        if row.name in results:
            lines += _chapter(results[row.name])
    return "\n".join(lines) + "\n"


def _chapter(result: Stored) -> list[str]:
    size = "quick size" if result["quick"] else "full size"
    lines = [
        "",
        f"## {result['name']}: {result['title']}",
        "",
        f"*{result['paper']} states:* {result['claim']}",
        "",
        f"**{_outcome(result).capitalize()}.** {result['verdict']}",
        f"({size}, seed {result['seed']}, {result['seconds']:.0f} s)",
    ]
    for title, rows in result["tables"].items():
        columns = columns_of(rows)
        lines += ["", f"{title}:", "", "| " + " | ".join(map(_safe, columns)) + " |"]
        lines += ["|" + "---|" * len(columns)]
        lines += [
            "| " + " | ".join(_safe(cell(row.get(name))) for name in columns) + " |" for row in rows
        ]
    return lines


def _safe(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
