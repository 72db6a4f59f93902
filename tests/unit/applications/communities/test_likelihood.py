"""Communities by the likelihood of the links: labels, shares, held-out links, their number."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import normalized_mutual_info_score

from provenmf.applications import find_communities
from provenmf.applications.communities.likelihood import (
    SETTINGS,
    _entropy,
    judge,
    merged,
    number_of_communities,
    partition,
    predictive_scores,
    single_links,
)
from provenmf.datasets.networks import mixed_membership_network
from provenmf.metrics.matching import best_assignment
from provenmf.report import render

QUICK = {"certify": False, "evidence": False}


@pytest.mark.parametrize("refine", ["auto", True])
def test_two_sides_of_a_graph_do_not_share_all_nodes(refine):
    """Links that join two sides made labels likeliest, and their shares of links all equal."""
    rng = np.random.default_rng(5)
    between = rng.random((18, 14)) < 0.4
    graph = sp.csr_array(np.block([[np.zeros((18, 18)), between], [between.T, np.zeros((14, 14))]]))
    found = find_communities(graph, 2, refine=refine, **QUICK)
    assert found.memberships_from == "eigenvectors"
    sides = found.memberships.argmax(axis=1)
    assert normalized_mutual_info_score(np.repeat([0, 1], [18, 14]), sides) > 0.9


def test_memberships_that_links_do_not_tell_move_to_equal_ones():
    """They were farther from the truth than everyone's mean."""
    made = mixed_membership_network(
        500, 3, mean_degree=10, degree_spread=0.5, pure_share=0, concentration=1, random_state=43012
    )
    found = find_communities(made.adjacency, 3, **QUICK)
    raw = find_communities(made.adjacency, 3, refine=False, **QUICK)

    def distance(memberships):
        order = best_assignment(made.memberships.T @ memberships)[1]
        return np.abs(made.memberships - memberships[:, order]).sum(axis=1).mean()

    mean = np.tile(made.memberships.mean(axis=0), (500, 1))
    assert distance(raw.memberships) > 1.5 * distance(mean)
    assert distance(found.memberships) < 1.02 * distance(mean)
    assert any("of each node's difference from equal memberships" in note for note in found.notes)


def labelled(sizes, degree, outside, seed=0, hubs=3):
    """A graph whose nodes have one community each and very different degrees."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    n = len(groups)
    factors = np.minimum(rng.pareto(1.8, n) + 1, 15.0)
    factors[rng.choice(n, hubs, replace=False)] *= 5
    volumes = np.bincount(groups, weights=factors)
    same = groups[:, None] == groups
    means = np.multiply.outer(factors, factors) * (
        np.where(same, (1 - outside) / volumes[groups], 0.0) + outside / factors.sum()
    )
    means *= degree * n / means.sum()
    upper = np.triu(rng.random((n, n)) < 1 - np.exp(-means), 1)
    return sp.csr_array((upper | upper.T).astype(float)), groups


def agreement(found, groups):
    return normalized_mutual_info_score(groups, found.memberships.argmax(axis=1))


def test_labelled_communities_with_hubs_are_found_and_every_node_is_reached():
    adjacency, groups = labelled([60, 50, 40, 30, 20], 12, 0.25)
    spectral = find_communities(adjacency, 5, refine=False, **QUICK)
    found = find_communities(adjacency, 5, **QUICK)
    assert agreement(found, groups) > max(0.75, agreement(spectral, groups) + 0.1)
    linked = np.asarray(adjacency.sum(axis=1)) > 0
    assert not found.undetermined[linked].any()
    assert any("held-out links are likelier" in note for note in found.notes)
    np.testing.assert_allclose(found.memberships.sum(axis=1), 1)
    assert found.error_bars is None
    assert (found.memberships_from, found.found_by) == ("labels", "likelihood of the links")
    assert "likelihood of the links" in render(found)
    assert (found.memberships[found.pure_nodes].argmax(axis=1) == np.arange(5)).all()


def test_mixed_memberships_are_not_made_into_labels():
    network = mixed_membership_network(600, 3, mean_degree=40.0, random_state=0)
    found = find_communities(network.adjacency, 3, **QUICK)
    assert np.mean(found.memberships.max(axis=1) < 0.9) > 0.2


def test_the_likelihood_of_a_partition_by_hand():
    adjacency, groups = labelled([8, 7], 4, 0.2, seed=1, hubs=1)
    dense = adjacency.toarray()
    degrees = dense.sum(axis=1)
    total, k = degrees.sum(), 2
    expected = 0.0
    same = groups[:, None] == groups
    between = (total - dense[same].sum() + 1) / np.multiply.outer(degrees, degrees)[~same].sum()
    for i in range(len(dense)):
        for j in range(len(dense)):
            mean = between
            if same[i, j]:
                own = groups == groups[i]
                inside = dense[np.ix_(own, own)].sum() + 1
                mean = inside / (degrees[own].sum() ** 2 + total / k)
            mean *= degrees[i] * degrees[j]
            expected += (np.log(mean) if dense[i, j] else 0.0) - mean
    constant = degrees @ np.log(np.maximum(degrees, 1)) * 2
    found = partition(adjacency, groups, 2)
    assert found.log_likelihood == pytest.approx((expected - constant) / 2)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_heavy_links_do_not_divide_by_zero():
    adjacency = sp.csr_array(np.kron(np.eye(4), 1e55 * (1 - np.eye(3))))
    merged_again = merged(adjacency, np.repeat(np.arange(4), 3), 2)
    assert len(set(merged_again.tolist())) == 2


def test_halves_of_cliques_are_merged_again():
    cliques = sp.csr_array(np.kron(np.eye(4), np.ones((10, 10))) - np.eye(40))
    found = merged(cliques, np.repeat(np.arange(8), 5), 4)
    np.testing.assert_array_equal(found, np.repeat(np.arange(4), 10))


def test_true_labels_predict_hidden_links_better_than_others():
    adjacency, groups = labelled([60, 60], 10, 0.2)
    upper = sp.coo_array(sp.triu(adjacency, 1))
    hidden = np.random.default_rng(0).random(upper.nnz) < 0.2
    halves = [
        sp.csr_array((upper.data[part], (upper.row[part], upper.col[part])), upper.shape)
        for part in (~hidden, hidden)
    ]
    seen, unseen = (sp.csr_array(half + half.T) for half in halves)
    wrong = np.random.default_rng(1).permutation(groups)
    right_scores, wrong_scores = (
        predictive_scores(seen, unseen, np.eye(2)[labels]) for labels in (groups, wrong)
    )
    assert right_scores.mean() > wrong_scores.mean() + 0.05


def test_a_tiny_graph_is_not_judged():
    assert (
        judge(sp.csr_array(np.ones((5, 5)) - np.eye(5)), 2, lambda seen: np.eye(5)[:, :2]) is None
    )


@pytest.mark.parametrize("k", [2, 3, 5])
def test_degrees_do_not_add_communities(k):
    adjacency, _ = labelled([80] * k, 20, 0.15, seed=k, hubs=6)
    assert number_of_communities(adjacency)[0] == k


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_weights_have_any_unit():
    """Weights of 100 links each made 21 communities of three, and weights of .01 one."""
    adjacency, _ = labelled([50, 40, 30], 12, 0.15)
    weights = sp.triu(adjacency, 1).tocsr()
    weights.data = np.random.default_rng(0).lognormal(0, 0.5, weights.nnz)
    found = [
        find_communities(unit * (weights + weights.T), **QUICK).memberships
        for unit in (2.0**-20, 1.0, 2.0**20, 2.0**100)
    ]
    assert found[0].shape[1] == 3
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-9)


def test_small_dense_communities_are_counted():
    """Twelve communities of eight nodes, each with five links inside and three or four outside."""
    rng = np.random.default_rng(0)
    groups = np.arange(96) % 12
    chances = np.where(groups[:, None] == groups, 5 / 7, 3.5 / 88)
    upper = np.triu(rng.random(chances.shape) < chances, 1)
    assert number_of_communities(sp.csr_array((upper | upper.T).astype(float)))[0] == 12


def test_single_links_of_a_partition_by_hand():
    """Yes or no for each pair of nodes, beyond a Poisson number for each, with itself too."""
    adjacency, groups = labelled([8, 7], 4, 0.2, seed=1, hubs=1)
    dense = adjacency.toarray()
    same = groups[:, None] == groups
    gain = 0.0
    for block in (same & (groups == 0), same & (groups == 1), ~same):
        pairs = np.triu(block, 1)
        share, mean = dense[pairs].mean(), dense[block].mean()
        gain += (np.log(np.where(dense[pairs] == 1, share, 1 - share))).sum()
        gain -= dense[pairs].sum() * np.log(mean) - block.sum() * mean / 2
    assert single_links(adjacency, groups, 2) == pytest.approx(gain)
    assert single_links(adjacency * 2.0, groups, 2) == 0.0
    pair = sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert np.isfinite(single_links(pair, np.array([0, 1]), 3))


def test_the_largest_number_tried_is_said():
    blocks = sp.block_diag([np.ones((5, 5)) - np.eye(5)] * 60, format="csr")
    number, note = number_of_communities(sp.csr_array(blocks))
    assert number == SETTINGS.most_communities
    assert "the largest number tried" in note


def test_links_are_asked_where_eigenvectors_describe_few_nodes():
    """Of Les Misérables they describe 44 %, those around the hub."""
    networkx = pytest.importorskip("networkx", reason="networkx is optional")
    graph = networkx.les_miserables_graph()
    found = find_communities(graph, 6, **QUICK)
    assert any("by the likelihood of the links" in note for note in found.notes)
    assert not any("rests on its pure node alone" in note for note in found.notes)
    main = dict(zip(found.row_names, found.memberships.argmax(axis=1).tolist()))
    students = {main[name] for name in ("Enjolras", "Combeferre", "Courfeyrac", "Bahorel", "Joly")}
    assert len(students) == 1 and main["Myriel"] not in students


def test_heavy_links_between_no_pairs_do_not_overflow():
    """Rounding leaves links where there are no pairs; the ratio overflowed."""
    with np.errstate(all="raise"):
        found = _entropy(np.array([0.0, 2.0, 1e12]), np.array([0.0, 4.0, -1.0]))
    np.testing.assert_allclose(found[:2], [0.0, 2 * np.log(0.5)])
    assert np.isfinite(found[2])
