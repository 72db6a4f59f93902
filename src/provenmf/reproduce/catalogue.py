"""Every table and figure of the four papers, and which experiment runs it again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from provenmf.reproduce.claims import Experiment, contents, experiment
from provenmf.reproduce.results import Stored, cell_text

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
    """A table or figure of a paper, or a theorem, with its status."""

    name: str
    paper: str
    title: str
    status: str


def names() -> list[str]:
    """Return the names of all experiments in the order of the papers; import none."""
    return [name for name, text in contents("claims.toml").items() if "clauses" in text]


def experiments() -> dict[str, Experiment]:
    """Return all experiments by name, in the order of the papers' items."""
    return {name: experiment(name) for name in names()}


def listing(
    results: Mapping[str, Stored], recorded: Mapping[str, Stored] | None = None
) -> list[Item]:
    """Return the papers' items with their status; what cannot be run has a reason.

    Where an experiment has no result, `recorded` may have the outcome of an earlier one.
    """
    earlier = recorded or {}

    def status(name: str, text: Mapping[str, str]) -> str:
        if name in results:
            return _outcome(results[name])
        known = f"{_outcome(earlier[name])}, on record" if name in earlier else "can be run"
        return text.get("reason", known)

    return [
        Item(name, text["paper"], text["title"], status(name, text))
        for name, text in contents("claims.toml").items()
        if "title" in text
    ]


def _outcome(result: Stored) -> str:
    return f"{result['verdict']} (quick size)" if result["quick"] else str(result["verdict"])


def counted(results: Mapping[str, Stored]) -> str:
    """Return how many clauses hold, in words; README and the documentation quote it."""
    counts = Counter(c["verdict"] for result in results.values() for c in result["clauses"])
    return f"Of {counts.total()} clauses, {counts['holds']} hold"


def document(results: Mapping[str, Stored]) -> str:
    """Return the page docs/reproduction.md."""
    lines = [
        "# Reproduction",
        "",
        "Every table and figure of the four papers, and their theorems, judged clause by clause.",
        "`provenmf reproduce NAME` runs an experiment again and writes its tables and figures;",
        "[data](data.md) lists the files that those on real data need. The measurements ship with",
        "the package (`reproduce/recorded.json`), and a test judges them again.",
        "",
        "A clause is one statement of a paper that a number can contradict: what is measured, and",
        f"the number that it has to reach. **{counted(results)}.** A claim, a figure or a theorem,",
        "holds if all its clauses do; [below](#what-does-not-hold) are those that do not.",
        "Impossible numbers, tables that lack rows, or in which nothing differs, do not count.",
        "",
        "- *Paper's print* is a number in the paper, *authors' code* one of a run of their",
        "  programs, *ours* that of the paper's method with the paper's settings in our",
        "  implementation. It alone decides. *Our variant* is what provenmf does by default.",
        "- *Wanted* is a threshold and its source.",
        "- *Full size* is that of the paper; the version that measured stands beside it.",
        "- *MRSA*: mean removed spectral angle; *RAE*: one minus the relative error; *success",
        "  rate*: share of trials in which all anchors are found; *SimCount*: words that topics",
        "  share; *ClustAcc*: clustering accuracy; *SRC*: rank correlation with the truth.",
        "",
        "| name | paper | what | verdict |",
        "|---|---|---|---|",
    ]
    rows = listing(results)
    lines += [f"| `{row.name}` | {row.paper} | {row.title} | {row.status} |" for row in rows]
    lines += ["", *(f"- **{short}**: {full}" for short, full in PAPERS.items())]
    lines += ["", "## What does not hold", ""]
    lines += ["| claim | the paper states | measured | wanted | ours |", "|---|---|---|---|---|"]
    for name, result in results.items():
        lines += [
            _line(f"`{name}`", c["the paper states"], c["quantity"], c["wanted"], c["ours"])
            for c in result["clauses"]
            if c["verdict"] != "holds"
        ]
    for row in rows:
        if row.name in results:
            lines += _chapter(row, results[row.name])
    return "\n".join(lines) + "\n"


def _chapter(row: Item, result: Stored) -> list[str]:
    size = "quick size" if result["quick"] else "full size"
    seconds = f"{result['seconds']:.0f} s" if result["seconds"] else "time not kept"
    lines = [
        "",
        f"## {row.name}: {row.title}",
        "",
        f"{row.paper}, {size}, seed {result['seed']}, {seconds}, measured with version "
        f"{result['version']}.",
    ]
    if result.get("note"):
        lines += ["", result["note"]]
    columns = list(result["clauses"][0])
    lines += ["", _line(*columns), "|" + "---|" * len(columns)]
    return lines + [_line(*clause.values()) for clause in result["clauses"]]


def _line(*cells: object) -> str:
    return "| " + " | ".join(cell_text(cell).replace("|", "\\|") for cell in cells) + " |"
