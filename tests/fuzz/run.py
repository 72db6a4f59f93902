"""Try hard inputs, damaged files and odd commands, and say what broke.

python tests/fuzz/run.py --cases 300                 a few hundred of each kind
python tests/fuzz/run.py --seconds 1800 --first 1000 half an hour of processor time, other cases
python tests/fuzz/run.py --kind files --case 17      one case again, here, to debug it
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator

from pool import Outcome, run, run_case

# How many of each kind make a round.
ROUND = {
    "estimators": 4,
    "estimators:storage_case": 1,
    "estimators:checkpoint_case": 1,
    "applications": 2,
    "advice": 1,
    "files": 8,
    "commands": 1,
    "files:corpus": 1,
}


def cases(first: int, count: int | None, kinds: list[str]) -> Iterator[tuple[str, int]]:
    """Rounds of all kinds, numbered from `first`."""
    for turn in itertools.count() if count is None else range(count):
        for kind in kinds if turn == 0 else [kind for kind in kinds if kind != "files:corpus"]:
            for place in range(ROUND[kind]):
                yield kind, first + turn * ROUND[kind] + place


def table(outcome: Outcome) -> str:
    counted = sorted(outcome.counts.items())
    lines = [f"{kind:28}{what:34}{count:8}" for (kind, what), count in counted]
    return "\n".join([*lines, "", *outcome.failures, f"failures: {len(outcome.failures)}"])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cases", type=int, help="rounds; without end if left out")
    parser.add_argument("--seconds", type=float, default=60.0, help="CPU seconds at the most")
    parser.add_argument("--wall", type=float, default=1e9, help="seconds on the clock at the most")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--kind", choices=ROUND, action="append", help="only this kind")
    parser.add_argument("--case", type=int, help="run this one case in this process")
    options = parser.parse_args()
    kinds = options.kind or list(ROUND)
    if options.case is not None:
        print(run_case(kinds[0], options.case))
        return 0
    outcome = run(
        cases(options.first, options.cases, kinds),
        cpu_seconds=options.seconds,
        wall_seconds=options.wall,
    )
    print(table(outcome))
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
