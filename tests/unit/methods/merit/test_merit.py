"""MERIT: Algorithm 1 literally, the gap as a bound, rows in blocks and sparse, awkward data."""

import signal

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.data import as_blocks
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.errors import DegenerateData, InvalidInput
from provenmf.methods.merit import solver as module
from provenmf.methods.merit.mixture import Mixture
from provenmf.methods.merit.solver import merit
from provenmf.methods.min_vol.solver import onto_simplex
from provenmf.signals import interruption


def solve(X, n_components=None, seed=0, **options):
    return merit(as_blocks(X), n_components, rng=np.random.default_rng(seed), **options)


def algorithm_1(X, lam, mu, iterations, C=None, first=0):
    """Nguyen22, Algorithm 1, line by line (rows for columns); exp shifted so that it exists."""
    n = len(X)
    C = np.zeros((n, n)) if C is None else C.copy()
    chosen = []
    for t in range(first, first + iterations):
        alpha = 2 / (t + 2)
        top = C.max(axis=0)
        r = np.array([np.exp((C[:, i] - top[i]) / mu).sum() for i in range(n)])
        new, vertices = C.copy(), []
        for row in range(n):
            p = X @ (C[row] @ X - X[row])
            y = np.exp((C[row] - top) / mu) / r
            i = int(np.argmin(p + lam * y))
            new[row] = (1 - alpha) * C[row]
            new[row, i] += alpha
            vertices.append(i)
        C = new
        chosen.append(vertices)
    return C, np.array(chosen)


def objective(X, C, lam, mu):
    top = C.max(axis=0)
    smooth = top + mu * np.log(np.exp((C - top) / mu).mean(axis=0))
    return 0.5 * np.sum((X - C @ X) ** 2) + lam * smooth.sum()


def open_loop(X, lam, mu, iterations):
    """Make the product's steps; return the vertices they choose too."""
    mixture = Mixture(as_blocks(X), np.arange(X.shape[0]))
    chosen = []
    for t in range(iterations):
        mixture.standing(mixture.penalties(lam, mu))
        chosen.append(mixture._vertices[0])
        mixture.move(2 / (t + 2))
    return mixture, np.array(chosen)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_open_loop_is_algorithm_1(dense, storage):
    X = dirichlet_mixtures(120, 30, 8, snr=10, random_state=0).data
    C, chosen = algorithm_1(X, 0.7, 1e-5, 60)
    mixture, vertices = open_loop(storage(X), 0.7, 1e-5, 60)
    np.testing.assert_array_equal(vertices, chosen)
    np.testing.assert_allclose(dense(mixture), C, atol=1e-13)
    solution = solve(storage(X), 8, step="open-loop", lam=0.7, max_iter=60, tol=0)
    np.testing.assert_allclose(solution.state.row_maxima, C.max(axis=0), atol=1e-13)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("mu", [1e-5, 1e-2, 0.3])
def test_objective_and_gap_are_those_of_the_dense_problem(mu, storage, dense):
    X = dirichlet_mixtures(40, 10, 4, snr=10, random_state=1).data
    mixture, _ = open_loop(storage(X), 0.5, mu, 30)
    C = dense(mixture)
    value, gap, _ = mixture.standing(mixture.penalties(0.5, mu))
    assert value == pytest.approx(objective(X, C, 0.5, mu))
    weight = np.exp((C - C.max(axis=0)) / mu)
    gradient = (C @ X - X) @ X.T + 0.5 * weight / weight.sum(axis=0)
    assert gap == pytest.approx(np.sum(C * gradient) - gradient.min(axis=1).sum())
    residuals = np.sum((C @ X - X) ** 2, axis=1)
    np.testing.assert_allclose(mixture.squared_residuals(), residuals, atol=1e-12)


def test_warm_start_goes_on_from_spa():
    X = dirichlet_mixtures(60, 12, 4, snr=20, random_state=2).data
    start = module.start_from_anchors(as_blocks(X), 4, plain=True)
    C = np.zeros((60, 60))
    C[:, start.anchors] = start.mixtures.array(lambda part: part[0])
    first = round(1 / np.sqrt(np.mean(np.sum((X - C @ X) ** 2, axis=1))))
    C, _ = algorithm_1(X, 0.2, 1e-5, 10, C, first)
    solution = solve(X, 4, step="open-loop", lam=0.2, max_iter=10, init="spa", tol=0)
    np.testing.assert_allclose(solution.state.row_maxima, C.max(axis=0), atol=1e-12)
    np.testing.assert_array_equal(solution.trace["step"], first + np.arange(10))


@pytest.mark.parametrize("rule, factor", [("paper", 1.0), ("authors", 0.5)])
def test_penalty_rules_of_the_paper(rule, factor):
    X = dirichlet_mixtures(60, 12, 4, snr=10, random_state=2).data
    start = module.start_from_anchors(as_blocks(X), 4, plain=True)
    expected = factor * np.sqrt(start.squared_residuals.sum()) / 4
    assert solve(X, 4, lam=rule, max_iter=2).state.lam == pytest.approx(expected)


def optimum(X, lam):
    """min f for mu -> 0 by accelerated projected gradient on a finely smoothed penalty."""
    n = len(X)
    gram = X @ X.T
    best = np.inf
    C = np.full((n, n), 1 / n)
    for mu in (1e-1, 3e-2, 1e-2, 3e-3, 1e-3):
        rate = 1 / (np.linalg.eigvalsh(gram)[-1] + lam / mu)
        look, momentum = C, 1.0
        for _ in range(1500):
            weight = np.exp((look - look.max(axis=0)) / mu)
            step = look @ gram - gram + lam * weight / weight.sum(axis=0)
            new = onto_simplex(look - rate * step)
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            look, C, momentum = new + (momentum - 1) / following * (new - C), new, following
            best = min(best, 0.5 * np.sum((X - C @ X) ** 2) + lam * C.max(axis=0).sum())
    return best


def test_gap_is_a_bound_and_pairwise_comes_closer():
    X = dirichlet_mixtures(24, 8, 4, snr=8, random_state=3).data
    lam = 0.4
    least = optimum(X, lam)
    values = {}
    for step in ("open-loop", "pairwise"):
        found = solve(X, 4, step=step, lam=lam, mu=1e-6, tol=1e-9).state
        values[step] = found.objective
        assert (1 - 1e-3) * least <= found.objective <= least + found.duality_gap + 1e-3 * least
        assert found.duality_gap < found.objective
    assert values["pairwise"] <= values["open-loop"]


def test_finds_anchors_with_few_of_the_rows_as_vertices():
    sample = dirichlet_mixtures(1500, 40, 20, snr=15, random_state=0)
    solution = solve(sample.data, 20)
    assert set(solution.anchors) == set(sample.anchors)
    assert len(solution.state.dictionary) < 1000


def test_overlooked_row_enters_the_dictionary(monkeypatch, set_merit):
    """An anchor that the dictionary left out is found by its own residual."""
    sample = dirichlet_mixtures(300, 20, 6, snr=20, random_state=0)
    missing = sample.anchors[2]
    honest = module.candidate_rows

    def forgetful(X, *rest):
        rows = honest(X, *rest)
        return rows[rows != missing]

    set_merit(few_rows=100, dictionary=100)
    monkeypatch.setattr(module, "candidate_rows", forgetful)
    assert set(solve(sample.data, 6).anchors) == set(sample.anchors)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_blocks_give_the_answer_of_all_rows_at_once(storage, tmp_path):
    sample = dirichlet_mixtures(1500, 20, 6, snr=14, random_state=0)
    X = np.where(sample.data < 0.1, 0, sample.data)
    expected = solve(storage(X), 6)
    if storage is np.asarray:
        np.save(tmp_path / "rows.npy", X)
        blocks = as_blocks(tmp_path / "rows.npy", block_rows=400)
        blocks.room_for_parts = 0  # what is kept of the rows goes to files
    else:
        blocks = as_blocks(storage(X), block_rows=400)
    found = merit(blocks, 6, rng=np.random.default_rng(0))
    assert set(found.anchors) == set(expected.anchors)
    assert len(found.trace) == len(expected.trace)
    for name in ("dictionary", "row_maxima", "lam", "objective", "duality_gap"):
        ours, theirs = getattr(found.state, name), getattr(expected.state, name)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6, err_msg=name)


def test_exact_rows_that_are_many(set_merit):
    """Without noise there is no penalty, and open-loop steps go from block to block."""
    set_merit(few_rows=100)
    sample = dirichlet_mixtures(1200, 12, 4, random_state=0)
    blocks = as_blocks(sample.data, block_rows=500)
    found = merit(blocks, 4, max_iter=20, rng=np.random.default_rng(0))
    assert found.state.lam == 0 and not found.trace["pairwise"].any()
    assert set(found.anchors) == set(sample.anchors)


def test_slices_of_scores_give_the_same_anchors(set_merit):
    X = dirichlet_mixtures(120, 15, 5, snr=15, random_state=0).data
    anchors = solve(X, 5).anchors
    set_merit(slice_scores=2000)
    np.testing.assert_array_equal(solve(X, 5).anchors, anchors)


def test_of_too_many_strong_rows_the_best_explaining_are_kept():
    """Six true anchors, four asked for: the two that the data hardly use are given up."""
    rng = np.random.default_rng(0)
    weights = np.vstack([np.eye(6), rng.dirichlet([5, 5, 5, 5, 0.05, 0.05], 100)])
    X = weights @ (10 * np.eye(6)) + 0.01 * rng.standard_normal((106, 6))
    assert set(solve(X, 4).anchors) == {0, 1, 2, 3}
    assert set(solve(X).anchors) == set(range(6))


def test_ctrl_c_does_not_wait_for_the_comparison_of_strong_rows(monkeypatch):
    corners = np.vstack([np.eye(6), np.random.default_rng(0).dirichlet(np.ones(6), 60)])
    compared = []

    def interrupted_meanwhile(*_):
        compared.append(1)
        signal.raise_signal(signal.SIGINT)
        return 0.0

    monkeypatch.setattr(module, "missed", interrupted_meanwhile)
    with interruption("return"):
        solution = solve(corners, 4)
    assert len(compared) == 1 and len(solution.anchors) == 4


def test_duplicates_count_once():
    sample = dirichlet_mixtures(60, 20, 5, snr=30, random_state=0)
    X = np.vstack([sample.data, sample.data, sample.data[sample.anchors] + 1e-9])
    anchors = solve(X, 5).anchors
    original = np.concatenate([np.arange(60), np.arange(60), sample.anchors])
    assert set(original[anchors]) == set(sample.anchors)
    assert sorted(solve(np.repeat(np.eye(3), 4, axis=0), 3).anchors // 4) == [0, 1, 2]


def test_all_rows_equal_and_too_many_components():
    X = np.ones((6, 3))
    assert len(solve(X).anchors) == 1
    with pytest.raises(InvalidInput, match="exceeds the 1 distinct rows of X"):
        solve(X, 2)
    with pytest.raises(InvalidInput, match="n_components=5 exceeds the 3 rows"):
        solve(np.eye(3), 5)


def test_one_row_one_column_and_zeros():
    assert solve(np.array([[1.0, 2.0]]), 1).anchors.tolist() == [0]
    assert set(solve(np.array([[0.0], [1.0], [0.3], [0.6]]), 2).anchors) == {0, 1}
    assert len(solve(np.zeros((5, 3)), 1).anchors) == 1
    sample = dirichlet_mixtures(50, 10, 3, snr=30, concentration=3, random_state=0)
    solution = solve(np.vstack([sample.data, np.zeros((2, 10))]), 4)
    assert set(sample.anchors) <= set(solution.anchors)


def test_too_few_explain_everything():
    """Three collinear rows asked for three anchors: the middle one is no vertex."""
    X = np.array([[0.0, 0], [2, 0], [1, 0]])
    with pytest.warns(DegenerateData, match="2 rows explain every row"):
        assert set(solve(X, 3, lam=1e-3).anchors) == {0, 1}
