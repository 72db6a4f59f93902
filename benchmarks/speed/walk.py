"""Count the source files that a fit walks through.

    python benchmarks/speed/walk.py

A profile hook notes the file of every Python function of the package that is called by a fit. Few
files mean that a reader who follows a fit opens few files.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import provenmf

SOURCE = str(Path(provenmf.__file__).parent)


def files_of(model: Any, X: Any) -> set[str]:
    """Fit once so that everything is imported and compiled, then list the files of a second fit."""
    model.fit(X)
    found: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            found.add(frame.f_code.co_filename[len(SOURCE) + 1 :])

    sys.setprofile(note)
    try:
        model.fit(X)
    finally:
        sys.setprofile(None)
    return found


def main() -> None:
    """Print the walks of SPA without a certificate and of HALS and MERIT with one."""
    X = np.random.default_rng(0).dirichlet(np.ones(4), 60) @ np.random.default_rng(1).random((4, 9))
    walks = {
        "SPA, no certificate": provenmf.SPA(4, certify=False),
        "HALS": provenmf.HALS(4, random_state=0),
        "MERIT": provenmf.MERIT(4, random_state=0),
    }
    for name, model in walks.items():
        files = sorted(files_of(model, X))
        print(f"{name}: {len(files)} files\n  " + " ".join(files))


if __name__ == "__main__":
    main()
