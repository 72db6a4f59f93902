"""Count the source files that a fit walks through.

    python benchmarks/speed/walk.py

A profile hook notes the file of every Python function of the package that is called by a fit. Few
files mean that a reader who follows a fit opens few files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np

import provenmf
from provenmf import HALS, MERIT, SPA, find_topics
from provenmf.datasets.corpora import topic_corpus

SOURCE = str(Path(provenmf.__file__).parent)


def files_of(run: Callable[[], object]) -> set[str]:
    """Run once so that everything is imported and compiled, then list the files of a second run."""
    run()
    found: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            found.add(frame.f_code.co_filename[len(SOURCE) + 1 :])

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def main() -> None:
    """Print the walks of SPA without a certificate, of HALS and MERIT with one, and of topics."""
    X = np.random.default_rng(0).dirichlet(np.ones(4), 60) @ np.random.default_rng(1).random((4, 9))
    counts = topic_corpus(200, 60, 3, random_state=0)
    walks = {
        "SPA, no certificate": lambda: SPA(4, certify=False).fit(X),
        "HALS": lambda: HALS(4, random_state=0).fit(X),
        "MERIT": lambda: MERIT(4, random_state=0).fit(X),
        "topics": lambda: find_topics(counts.counts, 3, random_state=0),
    }
    for name, run in walks.items():
        files = sorted(files_of(run))
        print(f"{name}: {len(files)} files\n  " + " ".join(files))


if __name__ == "__main__":
    main()
