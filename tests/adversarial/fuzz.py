"""Try hard inputs, damaged files and odd commands, and say what broke.

python tests/adversarial/fuzz.py --cases 300                 a few hundred of each kind
python tests/adversarial/fuzz.py --seconds 1800 --first 1000 half an hour, other cases
python tests/adversarial/fuzz.py --kind files --case 17      one case again, here, to debug it
python tests/adversarial/fuzz.py --mutants 600 --first 1000  so many damaged files of every format
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator

from files import FORMATS
from pool import Outcome, run, run_case

# How many of each kind make a round.
ROUND = {
    "estimators": 4,
    "estimators:storage_case": 1,
    "estimators:checkpoint_case": 1,
    "applications": 2,
    "advice": 1,
    "odd": 2,
    "files": 8,
    "files:variable": 1,
    "commands": 1,
    "options": 4,
    "options:method_case": 1,
    "options:chunk_case": 1,
    "options:terminal_case": 1,
    "options:signal_case": 1,
    "handlers": 1,
    "handlers:step_case": 1,
    "forgery": 2,
    "files:corpus": 1,
}


OF_FORMAT = "files:of_format:"
ENDS = ("read", "refused", "crash", "hang", "error")


def cases(first: int, count: int | None, kinds: list[str]) -> Iterator[tuple[str, int]]:
    """Rounds of all kinds, numbered from `first`."""
    for turn in itertools.count() if count is None else range(count):
        for kind in kinds if turn == 0 else [kind for kind in kinds if kind != "files:corpus"]:
            for place in range(ROUND.get(kind, 1)):
                yield kind, first + turn * ROUND.get(kind, 1) + place


def mutants(first: int, count: int) -> Iterator[tuple[str, int]]:
    """So many damaged files of every format."""
    for name in FORMATS:
        for number in range(first, first + count):
            yield OF_FORMAT + name, number


def format_table(outcome: Outcome) -> str:
    """What became of the damaged files, a line for each format."""
    lines = [f"{'format':16}" + "".join(f"{what:>10}" for what in ENDS)]
    for name in FORMATS:
        row = [outcome.counts[OF_FORMAT + name, what] for what in ENDS]
        lines.append(f"{name:16}" + "".join(f"{count:10}" for count in row))
    return "\n".join(lines)


def table(outcome: Outcome) -> str:
    counted = sorted(outcome.counts.items())
    return "\n".join(f"{kind:28}{what:34}{count:8}" for (kind, what), count in counted)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cases", type=int, help="rounds; without end if left out")
    parser.add_argument("--seconds", type=float, default=60.0, help="CPU seconds at the most")
    parser.add_argument("--wall", type=float, default=1e9, help="seconds on the clock at the most")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--kind", action="append", help="only this kind: " + ", ".join(ROUND))
    parser.add_argument("--mutants", type=int, help="so many damaged files of every format")
    parser.add_argument("--case", type=int, help="run this one case in this process")
    options = parser.parse_args()
    kinds = options.kind or list(ROUND)
    if options.case is not None:
        print(run_case(kinds[0], options.case))
        return 0
    if options.mutants:
        chosen, seconds = mutants(options.first, options.mutants), float("inf")
    else:
        chosen, seconds = cases(options.first, options.cases, kinds), options.seconds
    outcome = run(chosen, cpu_seconds=seconds, wall_seconds=options.wall)
    print(format_table(outcome) if options.mutants else table(outcome))
    print(f"{outcome.cpu_seconds:.0f} CPU seconds", *outcome.failures, sep="\n")
    print(f"failures: {len(outcome.failures)}")
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
