"""The real data of the experiments; they cannot be shipped (see docs/data.md)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.errors import InvalidInput
from provenmf.io import read_matrix
from provenmf.io.arrays import read_npz
from provenmf.io.files import existing, read_lines
from provenmf.reproduce.claims import Settings


def data_folder(settings: Settings, experiment: str, *folders: str) -> Path:
    """Return the data folder; raise an error naming the missing folder if there is none."""
    wanted = " and ".join(f"{folder}/" for folder in folders)
    if settings.data is None:
        raise InvalidInput(
            f"{experiment} needs real data that cannot be shipped: "
            f"give the folder that holds {wanted} with --data DIR (see docs/data.md)"
        )
    for folder in folders:
        if not (settings.data / folder).is_dir():
            raise InvalidInput(
                f"{settings.data} has no folder {folder}: {experiment} needs {wanted} in "
                "--data DIR (see docs/data.md)"
            )
    return settings.data


@dataclass(frozen=True, eq=False)
class Collection:
    """Documents of all classes with the trials drawn from them."""

    counts: sp.csr_array
    labels: NDArray[np.integer]
    splits: dict[str, NDArray[np.integer]]

    @classmethod
    def read(cls, folder: Path) -> Collection:
        """Read `counts.npz`, `labels.npz` and `splits.npz`."""
        return cls(
            read_matrix(folder / "counts.npz"),
            read_npz(existing(folder / "labels.npz"))["labels"],
            read_npz(existing(folder / "splits.npz")),
        )

    def n_words(self, k: int, number: int) -> int:
        """Return the number of words in a trial."""
        return int(self.counts.shape[1] - len(self.splits[f"zero_diff_{k}_{number}"]))

    def trial_columns(self, k: int, number: int) -> NDArray[np.intp]:
        """Return the columns of the words in a trial."""
        dropped = np.cumsum(self.splits[f"zero_diff_{k}_{number}"], dtype=np.int64)
        return np.delete(np.arange(self.counts.shape[1]), dropped)

    def trial(self, k: int, number: int) -> tuple[sp.csr_array, NDArray[np.integer]]:
        """Return counts and classes of a trial: documents of k classes, words in at least two."""
        rows = np.cumsum(self.splits[f"sample_diff_{k}_{number}"], dtype=np.int64)
        kept = self.trial_columns(k, number)
        counts = sp.csr_array(self.counts[rows][:, kept]).astype(np.float64)
        return counts, self.labels[rows]


def network(folder: Path, number: int) -> tuple[sp.csr_array, NDArray[np.float64]]:
    """Read the adjacency matrix and true memberships of DBLP network 1 … 4."""
    adjacency = read_matrix(folder / "coauthorship" / f"dblp{number}_adjacency.npz")
    truth = read_npz(existing(folder / "coauthorship" / f"dblp{number}_theta.npz"))["theta"]
    return adjacency.astype(np.float64), np.asarray(truth, dtype=np.float64)


def newsgroups(folder: Path) -> tuple[sp.csr_array, NDArray[np.str_], NDArray[np.integer]]:
    """Read counts, vocabulary and groups of the 20 newsgroups."""
    counts = read_matrix(folder / "news20" / "counts.npz").astype(np.float64)
    words = read_lines(existing(folder / "news20" / "vocab.txt"))
    labels = read_npz(existing(folder / "news20" / "labels.npz"))["labels"]
    return counts, np.array(words, dtype=np.str_), labels


def faces(folder: Path) -> NDArray[np.float64]:
    """Read the Olivetti faces: images (400, 64, 64) with values in 0 … 1."""
    pixels = read_npz(existing(folder / "olivetti" / "olivetti.npz"))["X"]
    return np.asarray(pixels / pixels.max(), dtype=np.float64).reshape(-1, 64, 64)
