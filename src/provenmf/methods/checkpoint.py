"""Checkpoints: a fit that was killed resumes and ends with the same answer.

A folder holds what the fit is recognized by (`fit.json`: data, parameters, version, seed) and one
file for each `Run` in the order in which they begin, so that the starts inside a fit are kept as
well. A file is replaced as a whole, or not at all. What comes before a loop is computed again: it
is a few passes, and it is deterministic once the seed is known.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import provenmf
from provenmf.arguments import is_number
from provenmf.data import Blocks
from provenmf.data.door import fingerprint_of
from provenmf.errors import InvalidInput, UnreadableFile, warn_user
from provenmf.io.files import existing, parsing, write_aside
from provenmf.io.records import load_snapshot, save_snapshot
from provenmf.results.factorization import plain

IDENTITY = "fit.json"
# Writing takes at most 1 / SHARE of the time, unless every iteration is to be kept.
SHARE = 10
# An interval that never ends.
LONGEST = 1e12


@dataclass(frozen=True)
class Checkpoint:
    """Folder and interval of the checkpoints of a fit.

    Parameters
    ----------
    folder : str or Path
        Made if it does not exist. A second fit with the same folder, data and parameters goes on
        where the first one was; other data or parameters are refused.
    seconds : float, default=30.0
        Time between two writings; longer where writing takes long, so that it takes at most a tenth
        of the time. 0 writes after every iteration.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from provenmf import HALS, Checkpoint
    >>> X = np.random.default_rng(0).random((30, 8))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = HALS(3, random_state=0, max_iter=9, tol=0)
    ...     first = model.fit_transform(X, checkpoint=Checkpoint(folder, seconds=0))
    ...     again = model.fit_transform(X, checkpoint=folder)  # nothing is left to do
    >>> bool((first == again).all())
    True
    """

    folder: str | Path
    seconds: float = 30.0

    def __post_init__(self) -> None:
        """Validate folder and interval."""
        if not isinstance(self.folder, str | Path) or not str(self.folder):
            raise InvalidInput(
                "is not a folder", argument="checkpoint", value=self.folder, remedy="give a path"
            )
        if not is_number(self.seconds) or self.seconds < 0:
            raise InvalidInput(
                "is not a time", argument="seconds", value=self.seconds, remedy="give 0 or more"
            )


def inside(checkpoint: str | Path | Checkpoint | None, name: str) -> Checkpoint | None:
    """Return the setting for one of several fits, in a subfolder."""
    if checkpoint is None:
        return None
    if not isinstance(checkpoint, Checkpoint):
        checkpoint = Checkpoint(checkpoint)
    return replace(checkpoint, folder=Path(checkpoint.folder) / name)


class Keeper:
    """The folder of one fit.

    Parameters
    ----------
    setting : where and how often.
    identity : what the fit is recognized by, readable texts by name.
    """

    def __init__(self, setting: Checkpoint, identity: Mapping[str, str]) -> None:
        self.folder, self._seconds = Path(setting.folder), float(min(setting.seconds, LONGEST))
        self.identity = dict(identity)
        self._runs = 0
        self._seed: int | None = None
        # A run was cut short: what follows builds on its unfinished result and is not saved.
        self.cut_short = False
        # A run that has ended went on beyond its file: later files build on its old result.
        self.went_on = False
        self._open()

    def _open(self) -> None:
        """Make the folder, or check that it belongs to this fit."""
        path, remedy = self.folder / IDENTITY, "give another folder"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            is_new = not path.exists()
        except (OSError, ValueError) as error:
            raise UnreadableFile(
                f"checkpoint folder {self.folder} cannot be used ({error}): give another one"
            ) from error
        if is_new:
            self._write_identity()
            return
        with parsing(existing(path), "checkpoint", remedy):
            stored = json.loads(path.read_text())
            identity, seed = stored["identity"], stored["seed"]
            if not isinstance(identity, dict) or not isinstance(seed, int | None):
                raise UnreadableFile(f"{path} is not part of a checkpoint: {remedy}")
        self._seed = seed
        for name in sorted(identity.keys() | self.identity.keys()):
            there, here = identity.get(name), self.identity.get(name)
            if there != here:
                raise InvalidInput(
                    f"checkpoint folder {self.folder} belongs to another fit: its {name} is "
                    f"{there}, not {here}; give what that fit was given, or another folder"
                )

    def _write_identity(self) -> None:
        text = json.dumps({"identity": self.identity, "seed": self._seed}, indent=1)
        path = self.folder / IDENTITY
        write_aside(path, lambda file: file.write(text.encode()), durable=True)

    def seed(self, fresh: int) -> int:
        """Return the seed with which this fit began, `fresh` if it begins now."""
        if self._seed is None:
            self._seed = fresh
            self._write_identity()
        return self._seed

    def next_run(self, name: str) -> RunFile:
        """Return the file of the run that begins now."""
        self._runs += 1
        path = self.folder / f"{self._runs:02}-{name.lower() or 'run'}.npz"
        belongs = {"fit": self.identity, "seed": self._seed, "run": path.name}
        return RunFile(self, path, self._seconds, belongs)


class RunFile:
    """The state of one run on disk, and when to write it again.

    Parameters
    ----------
    keeper : of the fit.
    path, seconds : where and how often to write.
    belongs : what a file must say to be of this run.
    """

    def __init__(
        self, keeper: Keeper, path: Path, seconds: float, belongs: Mapping[str, Any]
    ) -> None:
        self._keeper = keeper
        self._path, self._seconds, self._belongs = path, seconds, dict(belongs)
        self._resumed = False
        self._next = time.monotonic() + seconds
        self._failed = False

    def load(self) -> dict[str, Any] | None:
        """Return what was written last, by this or an earlier process."""
        if self._keeper.went_on or not self._path.exists():
            return None
        content = load_snapshot(self._path)
        self._resumed = True
        if content.pop("belongs", None) != self._belongs:
            raise UnreadableFile(
                f"{self._path} belongs to another fit: delete it, or give another folder"
            )
        return content

    @property
    def is_due(self) -> bool:
        """Return whether it is time to write."""
        return time.monotonic() >= self._next

    def save(self, content: Mapping[str, Any]) -> None:
        """Replace the file; if that fails, as on a full disk, keep the old one and continue."""
        if self._keeper.cut_short:
            return
        began = time.monotonic()
        try:
            save_snapshot(self._path, {"belongs": self._belongs, **content})
        except InvalidInput as error:
            if not self._failed:
                warn_user(RuntimeWarning(f"{error}. The fit goes on; the last checkpoint is kept"))
            self._failed = True
        took = time.monotonic() - began
        self._next = began + took + (max(self._seconds, SHARE * took) if self._seconds else 0.0)

    def ended(self, *, cut_short: bool, iterated: bool) -> None:
        """Note how the run ended, for the files of the runs that use its result."""
        self._keeper.cut_short |= cut_short
        self._keeper.went_on |= self._resumed and iterated


# Parameters that change neither the iterations nor what they compute; one may ask for more of them.
FREE = ("max_iter", "certify", "verbose", "callback", "on_interrupt")


def keeper_of(estimator: Any, blocks: Blocks, checkpoint: str | Path | Checkpoint) -> Keeper:
    """Return the checkpoint of this fit; refuse a folder that belongs to another one."""
    if not isinstance(checkpoint, Checkpoint):
        checkpoint = Checkpoint(checkpoint)
    parameters = estimator.get_params(deep=False)
    identity = {
        "method": type(estimator).__name__,
        "data": fingerprint_of(blocks),
        "version": provenmf.__version__,
    }
    for name, value in parameters.items():
        if name not in FREE:
            identity[f"parameter {name}"] = json.dumps(plain(value))
    return Keeper(checkpoint, identity)
