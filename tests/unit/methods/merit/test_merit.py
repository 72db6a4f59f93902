"""MERIT: Algorithm 1 literally, the objective's gradient and bounds, bad input."""

import signal

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.data import as_blocks
from provenmf.datasets.separable import dirichlet_mixtures, middle_points
from provenmf.errors import DegenerateData, InvalidInput, TooLarge
from provenmf.methods.merit import solver as module
from provenmf.methods.merit.gap import dictionary_gap, duality_gap, extent_of
from provenmf.methods.merit.mixture import Mixture
from provenmf.methods.merit.solver import merit, sweep
from provenmf.methods.merit.start import representatives
from provenmf.methods.run import interruption


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


def in_memory(X, dictionary, exact=False):
    return Mixture(as_blocks(X, block_rows=len(X)), dictionary, exact=exact)


def swept(mixture, lam, tolerance, steps):
    """Make one sweep with the bids of the present C."""
    penalties = mixture.penalties(lam, 1e-5)
    sweep(mixture, penalties, mixture.standing(penalties).bids, tolerance, steps)


def open_loop(X, lam, mu, iterations):
    """Make the product's steps; return the vertices they choose too."""
    mixture = in_memory(X, np.arange(len(X)), exact=True)
    chosen = []
    for t in range(iterations):
        mixture.standing(mixture.penalties(lam, mu))
        chosen.append(mixture._vertices[0])
        mixture.move(2 / (t + 2))
    return mixture, np.array(chosen)


def stepped(mixture, lam, mu, iterations):
    for t in range(iterations):
        mixture.standing(mixture.penalties(lam, mu))
        mixture.move(2 / (t + 2))
    return mixture


def test_open_loop_is_algorithm_1(dense):
    X = dirichlet_mixtures(200, 30, 8, snr=10, random_state=0).data
    C, chosen = algorithm_1(X, 0.7, 1e-5, 100)
    mixture, vertices = open_loop(X, 0.7, 1e-5, 100)
    np.testing.assert_array_equal(vertices, chosen)
    np.testing.assert_allclose(dense(mixture), C, atol=1e-13)
    solution = solve(X, 8, step="open-loop", lam=0.7, max_iter=100, group_duplicates=0, tol=0)
    np.testing.assert_allclose(solution.state.row_maxima, C.max(axis=0), atol=1e-13)


@pytest.mark.parametrize("mu", [1e-5, 1e-2, 0.3])
def test_objective_and_gradient_are_those_of_the_dense_problem(mu, dense):
    X = dirichlet_mixtures(40, 10, 4, snr=10, random_state=1).data
    mixture, _ = open_loop(X, 0.5, mu, 30)
    C = dense(mixture)
    penalties = mixture.penalties(0.5, mu)
    value = 0.5 * mixture.squared_residuals().sum() + penalties.total()
    assert value == pytest.approx(objective(X, C, 0.5, mu))
    weight = np.exp((C - C.max(axis=0)) / mu)
    gradient = (C @ X - X) @ X.T + 0.5 * weight / weight.sum(axis=0)
    _, lowest, inner, _ = mixture.whole().search(penalties)
    np.testing.assert_allclose(lowest, gradient.min(axis=1), atol=1e-12)
    np.testing.assert_allclose(inner, np.sum(C * gradient, axis=1), atol=1e-12)


def test_warm_start_goes_on_from_spa():
    sample = dirichlet_mixtures(60, 12, 4, snr=20, random_state=2)
    X = sample.data
    start = module.start_from_anchors(as_blocks(X), 4, plain=True)
    weights = start.mixtures.array(lambda part: part[0])
    C = np.zeros((60, 60))
    C[:, start.anchors] = weights
    first = round(1 / np.sqrt(np.mean(np.sum((X - C @ X) ** 2, axis=1))))
    C, _ = algorithm_1(X, 0.2, 1e-5, 10, C, first)
    solution = solve(
        X,
        4,
        step="open-loop",
        lam=0.2,
        max_iter=10,
        init="spa",
        group_duplicates=0,
        tol=0,
    )
    np.testing.assert_allclose(solution.state.row_maxima, C.max(axis=0), atol=1e-12)
    np.testing.assert_array_equal(solution.trace["step"], first + np.arange(10))


@pytest.mark.parametrize("rule, factor", [("paper", 1.0), ("authors", 0.5)])
def test_penalty_rules_of_the_paper(rule, factor):
    X = dirichlet_mixtures(60, 12, 4, snr=10, random_state=2).data
    start = module.start_from_anchors(as_blocks(X), 4, plain=True)
    expected = factor * np.sqrt(start.squared_residuals.sum()) / 4
    assert solve(X, 4, lam=rule, max_iter=2).state.lam == pytest.approx(expected)


def test_auto_penalty_does_not_grow_with_the_number_of_rows():
    few, many = (dirichlet_mixtures(n, 20, 5, snr=10, random_state=0).data for n in (100, 2000))
    lams = [solve(X, 5, max_iter=1).state.lam for X in (few, many)]
    assert lams[1] == pytest.approx(lams[0], rel=0.25)


def project_to_simplex(rows):
    """The nearest point of the simplex to each row: its entries above a common level."""
    ordered = -np.sort(-rows, axis=1)
    levels = (np.cumsum(ordered, axis=1) - 1) / np.arange(1, rows.shape[1] + 1)
    last = np.count_nonzero(ordered > levels, axis=1) - 1
    return np.maximum(rows - levels[np.arange(len(rows)), last][:, None], 0)


def optimum(X, lam):
    """min f for mu -> 0 by accelerated projected gradient on a finely smoothed penalty."""
    n = len(X)
    gram = X @ X.T
    best = np.inf
    C = np.full((n, n), 1 / n)
    for mu in (1e-1, 3e-2, 1e-2, 3e-3, 1e-3):
        rate = 1 / (np.linalg.eigvalsh(gram)[-1] + lam / mu)
        look, momentum = C, 1.0
        for _ in range(3000):
            weight = np.exp((look - look.max(axis=0)) / mu)
            step = look @ gram - gram + lam * weight / weight.sum(axis=0)
            new = project_to_simplex(look - rate * step)
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            look, C, momentum = new + (momentum - 1) / following * (new - C), new, following
            best = min(best, 0.5 * np.sum((X - C @ X) ** 2) + lam * C.max(axis=0).sum())
    return best


def test_gap_is_a_bound_and_pairwise_comes_closer():
    X = dirichlet_mixtures(24, 8, 4, snr=8, random_state=3).data
    lam, mu = 0.4, 1e-6
    least = optimum(X, lam)
    values = {}
    for step in ("open-loop", "pairwise"):
        found = solve(X, 4, step=step, lam=lam, mu=mu, group_duplicates=0, tol=1e-9)
        values[step] = found.state.objective
        assert values[step] - least <= found.state.duality_gap + 1e-3 * least
        assert values[step] >= least - 1e-3 * least
    assert values["pairwise"] <= values["open-loop"]


def test_gap_is_not_smaller_for_being_computed_in_single_precision(set_merit):
    """Beyond 2^24 scores the search is in single precision; its rounding is on the safe side."""
    set_merit(ascent_rows=0)
    for seed in range(8):
        X = 1 + dirichlet_mixtures(60, 10, 4, snr=15, random_state=seed).data
        double = stepped(in_memory(X, np.arange(60)), 0.3, 1e-2, 200)
        single = in_memory(X, np.arange(60))
        single.restore(double.saved())
        single._precision = np.float32
        penalties = double.penalties(0.3, 1e-2)
        exact = duality_gap(double, penalties, extent_of(double))[0]
        assert 0 < exact < extent_of(double).objective(penalties)
        assert exact <= duality_gap(single, penalties, extent_of(single))[0] <= 1.01 * exact


def test_gap_with_a_small_dictionary_bounds_the_full_one(set_merit, dense):
    """A mixture over few rows: searching outside, and bounding instead, both cover the truth."""
    X = dirichlet_mixtures(150, 10, 5, snr=15, random_state=0).data
    mixture = in_memory(X, np.arange(0, 150, 5))
    stepped(mixture, 0.3, 1e-5, 40)
    penalties = mixture.penalties(0.3, 1e-5)
    C = np.zeros((150, 150))
    C[:, mixture.dictionary] = dense(mixture)
    value = objective(X, C, 0.3, 1e-5)
    better = solve(X, 5, lam=0.3, group_duplicates=0, tol=1e-9).state.objective
    extent = extent_of(mixture)
    sharp, searched = duality_gap(mixture, penalties, extent)
    within = dictionary_gap(mixture, penalties, extent.objective(penalties))
    assert searched
    set_merit(ascent_rows=0)
    plain, _ = duality_gap(mixture, penalties, extent)
    set_merit(search_rows=0)
    bounded, searched = duality_gap(mixture, penalties, extent)
    assert not searched
    true = value - float(better)
    assert true <= sharp <= plain <= bounded
    for _ in range(30):
        swept(mixture, 0.3, 1e-9, 20)
    C[:, mixture.dictionary] = dense(mixture)
    assert 0 < value - objective(X, C, 0.3, 1e-5) <= within <= sharp


def test_a_longer_dictionary_leaves_the_mixture_as_it_is(dense):
    X = dirichlet_mixtures(60, 8, 4, snr=15, random_state=0).data
    mixture = in_memory(X, np.array([3, 20, 41]))
    stepped(mixture, 0.3, 1e-5, 5)
    before = dense(mixture)
    mixture.extend_dictionary(np.array([30, 0]))
    np.testing.assert_array_equal(mixture.dictionary, [0, 3, 20, 30, 41])
    after = dense(mixture)
    np.testing.assert_array_equal(after[:, [1, 2, 4]], before)
    np.testing.assert_array_equal(after[:, [0, 3]], 0)
    np.testing.assert_allclose(
        mixture.whole().fitted(slice(None)), after @ mixture.atoms, atol=1e-12
    )


def test_sweeps_never_raise_the_objective(dense):
    X = middle_points(8, 20, snr=9, random_state=0).data
    mixture, _ = open_loop(X, 1e-3, 1e-5, 20)
    values = []
    for _ in range(6):
        top = mixture.penalties(1e-3, 1e-5).top
        values.append(0.5 * mixture.squared_residuals().sum() + 1e-3 * top.sum())
        swept(mixture, 1e-3, 1e-9, 20)
        weights = dense(mixture)
        np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-12)
        assert weights.min() >= 0
        np.testing.assert_allclose(mixture.whole().fitted(slice(None)), weights @ X, atol=1e-12)
    assert np.all(np.diff(values) <= 1e-12)
    assert values[-1] < values[0]


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


@pytest.mark.parametrize("snr, n_components", [(10, 40), (30, 40), (np.inf, 5)])
def test_number_is_read_off_the_maxima(snr, n_components):
    sample = dirichlet_mixtures(200, 50, n_components, snr=snr, random_state=0)
    solution = solve(sample.data)
    assert set(solution.anchors) == set(sample.anchors)
    assert solution.state.number_margin > 0.1


def test_of_too_many_strong_rows_the_best_explaining_are_kept():
    """Six true anchors, four asked for: the two that the data hardly use are given up."""
    rng = np.random.default_rng(0)
    corners = 10 * np.eye(6)
    weights = np.vstack([np.eye(6), rng.dirichlet([5, 5, 5, 5, 0.05, 0.05], 100)])
    X = weights @ corners + 0.01 * rng.standard_normal((106, 6))
    solution = solve(X, 4)
    assert set(solution.anchors) == {0, 1, 2, 3}
    assert set(solve(X).anchors) == set(range(6))


def test_ctrl_c_does_not_wait_for_the_comparison_of_strong_rows(monkeypatch):
    corners = np.vstack([np.eye(6), np.random.default_rng(0).dirichlet(np.ones(6), 60)])
    compared = []

    def interrupted_meanwhile(rows, corners):
        compared.append(len(corners))
        signal.raise_signal(signal.SIGINT)
        return 0.0

    monkeypatch.setattr(module, "missed", interrupted_meanwhile)
    with interruption("return"):
        solution = solve(corners, 4)
    assert len(compared) == 1 and len(solution.anchors) == 4


def test_merit_0_finds_exact_anchors():
    sample = dirichlet_mixtures(100, 20, 6, random_state=0)
    assert set(solve(sample.data, 6, lam=0).anchors) == set(sample.anchors)


def test_duplicates_count_once():
    sample = dirichlet_mixtures(60, 20, 5, snr=30, random_state=0)
    X = np.vstack([sample.data, sample.data, sample.data[sample.anchors] + 1e-9])
    anchors = solve(X, 5).anchors
    original = np.concatenate([np.arange(60), np.arange(60), sample.anchors])
    assert set(original[anchors]) == set(sample.anchors)
    assert np.linalg.matrix_rank(X[anchors]) == 5


def test_sparse_and_permuted_data_give_the_same_anchors():
    X = dirichlet_mixtures(120, 15, 5, snr=15, random_state=0).data
    X[X < 0.3] = 0
    anchors = solve(X, 5).anchors
    np.testing.assert_array_equal(solve(sp.csr_array(X), 5).anchors, anchors)
    order = np.random.default_rng(0).permutation(120)
    assert set(order[solve(X[order], 5).anchors]) == set(anchors)


def test_slices_do_not_change_the_answer(set_merit):
    X = dirichlet_mixtures(700, 15, 5, snr=12, random_state=0).data
    whole = solve(X, 5)
    set_merit(slice_scores=20_000)
    sliced = solve(X, 5)
    np.testing.assert_array_equal(whole.anchors, sliced.anchors)
    np.testing.assert_allclose(whole.state.row_maxima, sliced.state.row_maxima, atol=1e-9)


def test_single_precision_search_finds_the_same(set_merit):
    X = dirichlet_mixtures(800, 20, 6, snr=12, random_state=0).data
    double = solve(X, 6).anchors
    set_merit(double_precision_scores=0)
    assert set(solve(X, 6).anchors) == set(double)


def test_equal_rows_have_one_representative_at_radius_zero():
    X = np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 2.0], [1.0, 2.0 + 1e-9], [0.0, 1.0]])
    np.testing.assert_array_equal(representatives(X[:5], np.arange(5), 0.0), [0, 1, 3])


def test_interruption_keeps_the_best_so_far():
    X = dirichlet_mixtures(60, 12, 4, snr=10, random_state=0).data
    rows = []

    def enough(row):
        rows.append(row)
        return len(rows) == 7

    solution = solve(X, 4, callback=enough)
    assert solution.stop_reason == "callback"
    assert len(solution.trace) == 7
    assert np.isfinite(solution.state.duality_gap)


def test_ctrl_c_ends_after_the_step_with_a_bound(set_merit):
    import signal

    from provenmf.methods.run import interruption

    set_merit(few_rows=500)
    X = dirichlet_mixtures(700, 12, 4, snr=10, random_state=0).data

    def interrupt(row):
        if np.isfinite(row["gap"]):
            signal.raise_signal(signal.SIGINT)

    with interruption("return"):
        solution = solve(X, 4, callback=interrupt)
    assert solution.stop_reason == "interrupted"
    assert len(solution.trace) == 1
    assert not solution.state.gap_searched
    assert 0 < solution.state.duality_gap <= solution.state.objective


def test_more_components_than_distinct_rows():
    X = np.repeat(np.eye(3), 4, axis=0)
    with pytest.raises(InvalidInput, match="exceeds the 3 distinct rows of X"):
        solve(X, 5)
    assert sorted(solve(X, 3).anchors // 4) == [0, 1, 2]


def test_all_rows_equal():
    X = np.ones((6, 3))
    assert len(solve(X).anchors) == 1
    with pytest.raises(InvalidInput, match="exceeds the 1 distinct rows of X"):
        solve(X, 2)


def test_more_components_than_rows():
    with pytest.raises(InvalidInput, match="n_components=5 exceeds the 3 rows"):
        solve(np.eye(3), 5)


def test_one_row_and_one_column():
    assert solve(np.array([[1.0, 2.0]]), 1).anchors.tolist() == [0]
    line = np.array([[0.0], [1.0], [0.3], [0.6]])
    assert set(solve(line, 2).anchors) == {0, 1}


def test_zero_rows_and_zero_data():
    assert len(solve(np.zeros((5, 3)), 1).anchors) == 1
    sample = dirichlet_mixtures(50, 10, 3, snr=30, concentration=3, random_state=0)
    solution = solve(np.vstack([sample.data, np.zeros((2, 10))]), 4)
    assert set(sample.anchors) <= set(solution.anchors)


def test_negative_data_are_legal():
    sample = dirichlet_mixtures(80, 15, 4, snr=25, random_state=0)
    shifted = sample.data - sample.data.mean(axis=0)
    assert set(solve(shifted, 4).anchors) == set(sample.anchors)


def test_too_few_explain_everything():
    """Three collinear rows asked for three anchors: the middle one is no vertex."""
    X = np.array([[0.0, 0], [2, 0], [1, 0]])
    with pytest.warns(DegenerateData, match="2 rows explain every row"):
        assert set(solve(X, 3, lam=1e-3).anchors) == {0, 1}


def test_negative_penalty_is_refused():
    with pytest.raises(InvalidInput, match="lam=-1"):
        solve(np.eye(3), 2, lam=-1)


def test_data_too_large_to_hold(set_merit):
    set_merit(dense_bytes=100)
    with pytest.raises(TooLarge, match="project the rows"):
        solve(np.eye(30), 2)
