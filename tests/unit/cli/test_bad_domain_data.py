"""Corpora, graphs and cubes that say too little: one line, or an answer whose notes say it."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.datasets.cubes import mixed_cube

COUNTS = np.random.default_rng(0).poisson(1.0, (60, 40)).astype(float)
PAIR = np.array([[0.0, 1.0], [1.0, 0.0]])
CUBE = mixed_cube(20, 20, 20, 3, snr=np.inf, random_state=0).cube


def negative():
    counts = COUNTS.copy()
    counts[0, 0] = -2
    return counts


def with_a_common_word():
    counts = COUNTS.copy()
    counts[:, 0] = 3
    return counts


REFUSED = {
    "documents of one word": ("topics", np.eye(40)[np.arange(60) % 40], 3, "two counted words"),
    "all documents alike": ("topics", np.tile(COUNTS[:1] + 1, (60, 1)), 3, "but not in all"),
    "fewer documents than topics": ("topics", COUNTS[:3], 5, "the 3 documents"),
    "negative weights": ("topics", negative(), 3, "negative entries"),
    "shares": ("topics", COUNTS / COUNTS.sum(axis=1, keepdims=True), 3, "give word counts"),
    "two communities of two nodes": ("communities", PAIR, 2, "less than the 2 nodes"),
    "nodes without links": ("communities", 0 * PAIR, None, "an edge"),
    "pixels that are all alike": ("unmix", np.tile(CUBE[:1, :1], (20, 20, 1)), 3, "constant"),
}
ANSWERED = {
    "a word in every document": ("topics", with_a_common_word(), 3, "in all documents left out"),
    "fractions": ("topics", 0.37 * COUNTS, 3, "not word counts"),
    "two nodes": ("communities", PAIR, None, "number of communities chosen"),
    "bands without noise": ("unmix", CUBE, 3, "the noise is unknown"),
}


def file_with(data, command):
    if command == "unmix":
        np.save("data.npy", data)
        return "data.npy"
    sp.save_npz("data.npz", sp.csr_matrix(data))
    return "data.npz"


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_one_line(case, run):
    command, data, number, words = REFUSED[case]
    ran = run(command, file_with(data, command), *([] if number is None else ["-k", number]))
    lines = ran.err.splitlines()
    assert ran.code == 2 and len(lines) == 1, ran
    assert lines[0].startswith("Error: data.np") and words in lines[0], ran


@pytest.mark.parametrize("case", ANSWERED)
def test_answered_with_a_note(case, run):
    command, data, number, words = ANSWERED[case]
    ran = run(command, file_with(data, command), *([] if number is None else ["-k", number]))
    assert ran.code == 0 and words in " ".join(ran.out.split()), ran
