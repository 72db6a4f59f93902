import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

SOURCE = Path(__file__).parents[3] / "src"


class Ran:
    """What a command printed and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def __repr__(self) -> str:
        return f"exit code {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Run the command in an empty folder, inside this process."""
    from provenmf.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run_command(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["provenmf", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        captured = capfd.readouterr()
        return Ran(code, captured.out, captured.err)

    return run_command


@pytest.fixture
def separable(tmp_path):
    """A small separable matrix as csv, its anchors in rows 0 … 2."""
    rng = np.random.default_rng(0)
    weights = np.vstack([np.eye(3), rng.dirichlet(np.ones(3), size=30)])
    matrix = weights @ rng.random((3, 8))
    path = tmp_path / "separable.csv"
    np.savetxt(path, matrix, delimiter=",")
    return path


@pytest.fixture
def corpus(tmp_path):
    """Sixty documents about two subjects, one a line."""
    rng = np.random.default_rng(1)
    subjects = (
        ["ship", "sail", "harbour", "storm", "wave", "anchor"],
        ["bread", "flour", "oven", "yeast", "crust", "salt"],
    )
    lines = [" ".join(rng.choice(subjects[i % 2], size=12)) for i in range(60)]
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def graph(tmp_path):
    """Two dense groups of nodes with a few edges between them, as an edge list."""
    rng = np.random.default_rng(2)
    chance = np.kron(np.array([[0.6, 0.03], [0.03, 0.6]]), np.ones((20, 20)))
    edges = np.argwhere(np.triu(rng.random((40, 40)) < chance, k=1))
    path = tmp_path / "graph.txt"
    path.write_text("\n".join(f"n{i} n{j}" for i, j in edges))
    return path


@pytest.fixture
def cube(tmp_path):
    """An image of 8 x 9 pixels mixed from three spectra, with the truth in the file."""
    rng = np.random.default_rng(3)
    spectra = rng.random((3, 20))
    abundances = rng.dirichlet(np.full(3, 0.3), size=72)
    abundances[:3] = np.eye(3)
    path = tmp_path / "cube.npz"
    cube = (abundances @ spectra).reshape(8, 9, 20)
    np.savez(path, cube=cube, E=spectra.T, A=abundances.T)
    return path


@pytest.fixture
def counts(tmp_path):
    """Counts as a scipy sparse file, and its vocabulary."""
    rng = np.random.default_rng(4)
    rare, frequent = [0.2] * 6, [3.0] * 6
    matrix = np.vstack(
        [rng.poisson(frequent + rare, (30, 12)), rng.poisson(rare + frequent, (30, 12))]
    )
    sp.save_npz(tmp_path / "counts.npz", sp.csr_array(matrix))
    (tmp_path / "words.txt").write_text("\n".join(f"word{i}" for i in range(12)))
    return tmp_path / "counts.npz", tmp_path / "words.txt"
