"""How often `choose_rank` and each of its criteria find the number, beside two published rules.

Forty generated problems: eight models (`rank_problems.py`), five seeds each, numbers from 2 to 7,
odd seeds noisier. The margins of the criteria were set on seeds 100 to 103. Real sets with known
classes come from the folder given by --data, as parts of at most 400 rows and columns; classes need
not be components. "two agree" counts problems where at least two criteria share a number, and how
often that number is right; elsewhere `choose_rank` gives a range.

cNMF's rule and bi-cross-validation are in `benchmarks/peers/rank_rules.py`, with scikit-learn's
NMF.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from benchmarks.peers.rank_rules import bi_cross_validation_number, consensus_number
from benchmarks.recovery.rank_problems import generated, real

from provenmf import choose_rank

SEEDS = range(5)
OURS = ("held-out error", "unseen rows", "spectrum")


def judged(name, data, truth, most):
    """The number of every rule for one problem."""
    ranks = range(1, min(most, min(data.shape) - 1) + 1)
    started = time.process_time()
    found = choose_rank(data, ranks)
    seconds = time.process_time() - started
    said = {c.name: c.n_components for c in found.criteria}
    said["two agree"] = found.n_components
    said["lower bound"] = truth if found.at_least <= truth else None
    low, high = found.range or (0, 0)
    said["in the range"] = truth if low <= truth <= high else None
    said["cNMF"] = consensus_number(data, ranks)
    said["BCV"] = bi_cross_validation_number(data, ranks)
    shown = "  ".join(f"{rule} {number or '-'}" for rule, number in said.items())
    print(f"{name:18} true {truth:2d}  {shown}  {low}-{high}  {seconds:.0f} s", flush=True)
    return {"true": truth, **said}


def summary(title, rows):
    print(f"\n{title}: {len(rows)} problems")
    print(f"{'rule':16}{'answers':>9}{'right':>7}{'off by 1':>10}{'share right':>13}")
    for rule in (*OURS, "two agree", "in the range", "lower bound", "cNMF", "BCV"):
        given = [(row[rule], row["true"]) for row in rows if row[rule] is not None]
        right = sum(number == truth for number, truth in given)
        near = sum(abs(number - truth) == 1 for number, truth in given)
        print(f"{rule:16}{len(given):9d}{right:7d}{near:10d}{right / len(rows):13.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed, numbers up to 4")
    parser.add_argument("--data", type=Path, help="directory of real data, used too")
    options = parser.parse_args()
    seeds = [0] if options.quick else SEEDS
    most = 4 if options.quick else 10
    summary("generated", [judged(*problem, most) for problem in generated(seeds)])
    if options.data:
        rng = np.random.default_rng(0)
        rows = [
            judged(name, data, truth, 16 if truth > 10 else 10)
            for name, data, truth in real(options.data, rng)
        ]
        summary("real, classes as truth", rows)


if __name__ == "__main__":
    main()
