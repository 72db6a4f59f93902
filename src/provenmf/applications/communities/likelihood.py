"""Communities by the likelihood of the links, judged by links that were held out.

Nodes i and j have a Poisson number of links with the mean φ_i φ_j (m_i B m_jᵀ): degrees multiply
it, so that hubs and nodes of low degree count alike (degree-corrected block model, Karrer & Newman
2011). Two estimates of the memberships m stand beside the spectral ones:

* labels, one community a node: more clusters of the regularized spectral embedding (Qin & Rohe
  2013) than wanted, merged in pairs, and improved by moving nodes to where their links are
  likeliest. Each community has a density inside and all share one density between (assortative;
  Zhang & Peixoto 2020);
* shares: links belong to communities, m_i B m_j = Σ_c m_ic m_jc, by expectation and maximization
  (Ball, Karrer & Newman 2011), from the labels.

`judge` hides some links, estimates each kind of membership from the others, and compares how well
they predict the hidden ones. `number_of_communities` takes the number that describes the graph most
briefly: labels cost as much as they save where communities are chance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh
from scipy.special import gammaln, xlog1py, xlogy
from threadpoolctl import threadpool_limits

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]
TINY = 1e-300


@dataclass(frozen=True)
class Settings:
    """Choices of the search, made on drawn networks with hubs and unequal degrees."""

    held_out: float = 0.15  # share of the links, large enough for a standard error
    links_wanted: int = 3000  # hidden links; several draws where one has fewer
    most_draws: int = 10
    pseudo_links: float = 4.0  # on graphs of the mixed model 4 predicts better than 0 or 10
    least_links: int = 60  # a smaller graph is not judged: its hidden links say nothing
    most_work: float = 2e7  # links times communities of one iteration; about a second
    rounds: int = 60  # of moves; most graphs end after ten
    # Of expectation and maximization. To the end, nodes of few links get memberships of chance: on
    # drawn networks with labels 200 iterations were farther from the truth than eight.
    iterations: int = 8
    # Clusters for each community at the start: merging several finds likelier labels than one each,
    # on Facebook's larger ego networks by thousands of nats; which number is best differs.
    clusters_each: tuple[float, ...] = (1.0, 1.5, 2.0, 4.0)
    most_clusters: int = 120
    sampled_nodes: int = 5000  # whose clusters are found; the others join the nearest
    most_communities: int = 50
    no_difference: float = 5.0  # nats by which one community may be briefer than two
    # Numbers of communities tried first; then all around the best one.
    grid: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 26, 32, 40, 50)


SETTINGS = Settings()


def mean_weight_one(adjacency: sp.csr_array) -> sp.csr_array:
    """Return the graph with weights divided by their mean, since weights have any unit.

    The likelihood takes a weight for a number of links. In other units, three communities would be
    found as one or as twenty.
    """
    weights = adjacency.data
    if not len(weights) or (weights == 1).all():
        return adjacency
    scaled, largest = adjacency.copy(), float(weights.max())
    scaled.data = weights / largest
    equal = bool((weights == largest).all())
    scaled.data = np.ones_like(weights) if equal else scaled.data / scaled.data.mean()
    return scaled


def regularized_vectors(adjacency: sp.csr_array, k: int) -> Floats:
    """Return k leading eigenvectors (n, k) of the adjacency divided by degrees plus their mean."""
    degrees = np.asarray(adjacency.sum(axis=1), dtype=np.float64).ravel()
    roots = sp.diags_array(1.0 / np.sqrt(degrees + max(degrees.mean(), TINY)))
    scaled = sp.csr_array(roots @ adjacency @ roots)
    n = len(degrees)
    if n <= max(300, 3 * k):
        values, vectors = np.linalg.eigh(scaled.toarray())
    else:
        values, vectors = eigsh(scaled, k=k, which="LA", v0=np.ones(n), tol=1e-5)
    return np.asarray(vectors[:, np.argsort(-values, kind="stable")[:k]])


def clusters(vectors: Floats, k: int) -> Labels:
    """Cluster nodes by the directions of their rows in the first k eigenvectors."""
    from sklearn.cluster import KMeans  # takes a fifth of a second

    rows = vectors[:, :k]
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), TINY)
    every = -(-len(rows) // SETTINGS.sampled_nodes)
    with threadpool_limits(1):  # threads of OpenMP wait by spinning; see `blas_threads_for`
        model = KMeans(k, n_init=5, random_state=0).fit(rows[::every])
        return np.asarray(model.predict(rows), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Partition:
    """One community for each node, and how likely the links are.

    Attributes
    ----------
    labels : array (n,)
        The community of each node.
    log_likelihood : float
        Of the links, with the best densities inside and between the communities.
    gains : array (n, k)
        Log-likelihood of each node's links if it were in each community, up to a constant.
    """

    labels: Labels
    log_likelihood: float
    gains: Floats


def partition(adjacency: sp.csr_array, labels: Labels, k: int) -> Partition:
    """Return the likelihood of labels, and what moving each node would gain."""
    n, degrees = len(labels), np.asarray(adjacency.sum(axis=1), dtype=np.float64).ravel()
    total = degrees.sum()
    member = sp.csr_array((np.ones(n), (np.arange(n), labels)), shape=(n, k))
    links = (adjacency @ member).toarray()
    volumes = np.bincount(labels, weights=degrees, minlength=k)
    inside = np.bincount(labels, weights=links[np.arange(n), labels], minlength=k)
    # One link more inside, spread as the volumes: an empty community has a finite density.
    dense = (inside + 1.0) / (volumes**2 + total / k)
    between = (total - inside.sum() + 1.0) / max(total**2 - volumes @ volumes, 1.0)
    expected = float(volumes**2 @ dense + (total**2 - volumes @ volumes) * between)
    logs = float(inside @ np.log(dense) + (total - inside.sum()) * np.log(between))
    others: Floats = np.tile(volumes.astype(np.float64), (n, 1))
    others[np.arange(n), labels] -= degrees
    gains = links * np.log(dense / between) - degrees[:, None] * others * (dense - between)
    return Partition(labels, (logs - expected) / 2, gains)


def improved(adjacency: sp.csr_array, labels: Labels, k: int) -> Partition:
    """Move nodes to their likeliest community as long as the likelihood rises.

    Half of the nodes that want to move do so at once, fewer where that lowers the likelihood:
    neighbors that change places together would gain nothing.
    """
    rng = np.random.default_rng(0)
    best, failures = partition(adjacency, labels, k), 0
    for _ in range(SETTINGS.rounds):
        wanted = best.gains.argmax(axis=1)
        if np.array_equal(wanted, best.labels) or failures > 8:
            break
        moved = rng.random(len(wanted)) < (0.5 if failures < 3 else 0.15)
        tried = partition(adjacency, np.where(moved, wanted, best.labels), k)
        if tried.log_likelihood > best.log_likelihood:
            best, failures = tried, 0
        else:
            failures += 1
    return best


def merged(adjacency: sp.csr_array, labels: Labels, k: int) -> Labels:
    """Merge pairs of communities, the cheapest pair in likelihood first, until k are left."""
    n, labels = len(labels), np.unique(labels, return_inverse=True)[1]
    member = sp.csr_array((np.ones(n), (np.arange(n), labels)))
    links = (member.T @ adjacency @ member).toarray()
    names, total = np.arange(len(links)), float(links.sum())
    while len(links) > k:
        inside, volumes = np.diag(links), links.sum(axis=1)
        own = _entropy(inside, volumes**2)
        together = _entropy(
            np.add.outer(inside, inside) + 2 * links, np.add.outer(volumes, volumes) ** 2
        )
        between = _entropy(
            total - inside.sum() - 2 * links,
            total**2 - volumes @ volumes - 2 * np.multiply.outer(volumes, volumes),
        )
        gains = together - np.add.outer(own, own) + between
        np.fill_diagonal(gains, -np.inf)
        first, second = sorted(np.unravel_index(int(gains.argmax()), gains.shape))
        links[first] += links[second]
        links[:, first] += links[:, second]
        links = np.delete(np.delete(links, second, axis=0), second, axis=1)
        names[names == second] = first
        names[names > second] -= 1
    return np.asarray(names[labels], dtype=np.intp)


def _entropy(links: Floats, pairs: Floats) -> Floats:
    """Return links log(links / pairs), zero without links."""
    logs: Floats = np.log(np.maximum(links, TINY)) - np.log(np.maximum(pairs, TINY))
    return links * logs


def likeliest(adjacency: sp.csr_array, vectors: Floats, k: int, *guesses: Labels) -> Partition:
    """Return the likeliest labels, improved from clusters of the vectors and from guesses."""
    most = min(len(vectors) // 3, vectors.shape[1], SETTINGS.most_clusters)
    starts = list(guesses)
    for m in sorted({max(k, min(most, int(each * k))) for each in SETTINGS.clusters_each}):
        start = clusters(vectors, m)
        starts.append(
            merged(adjacency, improved(adjacency, start, m).labels, k) if m > k else start
        )
    found = (improved(adjacency, labels, k) for labels in starts)
    return max(found, key=lambda part: part.log_likelihood)


def link_shares(adjacency: sp.csr_array, start: Floats) -> Floats:
    """Return likelier memberships (n, k) than the start where links belong to communities.

    θ_ic ← Σ_j A_ij q_ijc / √(Σ_ij A_ij q_ijc) with q_ijc = θ_ic θ_jc / Σ_d θ_id θ_jd, the share of
    the link that belongs to community c.
    """
    links = sp.coo_array(adjacency)
    k = start.shape[1]
    theta = np.asarray(adjacency.sum(axis=1)).reshape(-1, 1) * (0.9 * start + 0.1 / k)
    theta /= np.sqrt(np.maximum(theta.sum(axis=0), TINY))
    for _ in range(SETTINGS.iterations):
        means = np.maximum(np.einsum("ek,ek->e", theta[links.row], theta[links.col]), TINY)
        ratios = sp.csr_array((links.data / means, (links.row, links.col)), shape=links.shape)
        owned = theta * (ratios @ theta)
        theta = owned / np.sqrt(np.maximum(owned.sum(axis=0), TINY))
    return as_shares(theta)


def as_shares(theta: Floats) -> Floats:
    """Scale rows (n, k) to a sum of one; rows of zeros become the mean row."""
    sums = theta.sum(axis=1, keepdims=True)
    mean = theta.sum(axis=0) / theta.sum()
    return np.asarray(np.where(sums > 0, theta / np.maximum(sums, TINY), mean))


def likelihood_memberships(adjacency: sp.csr_array, k: int, guess: Floats) -> dict[str, Floats]:
    """Return memberships by labels, starting from a guess (n, k), and by shares of links."""
    wanted = int(max(SETTINGS.clusters_each) * k)
    vectors = regularized_vectors(adjacency, min(wanted, max(k, adjacency.shape[0] // 3)))
    labels = np.eye(k)[likeliest(adjacency, vectors, k, guess.argmax(axis=1)).labels]
    return {"labels": labels, "shares": link_shares(adjacency, labels)}


@dataclass(frozen=True)
class Judgement:
    """Which memberships predict held-out links best, in mean log-likelihood of a link.

    Attributes
    ----------
    chosen : "spectral", "labels" or "shares".
    gain, error : beyond the spectral memberships, and the standard error.
    beyond_chance : beyond equal memberships of all nodes.
    """

    chosen: str
    gain: float
    error: float
    beyond_chance: float


def judge(
    adjacency: sp.csr_array, k: int, spectral: Callable[[sp.csr_array], Floats]
) -> Judgement | None:
    """Compare memberships by links that their estimates have not seen.

    A model with more freedom must be better by a standard error: shares than labels, and the better
    of these than the spectral memberships.

    Parameters
    ----------
    adjacency : (n, n), symmetric.
    spectral : function that finds memberships (n, k) from an adjacency.

    Returns
    -------
    Judgement, None where the graph is too small.
    """
    upper = sp.coo_array(sp.triu(adjacency, 1))
    if upper.nnz < SETTINGS.least_links:
        return None
    rng = np.random.default_rng(0)
    draws = int(np.clip(SETTINGS.links_wanted / (SETTINGS.held_out * upper.nnz), 1, 1e9))
    scores: dict[str, list[Floats]] = {}
    for _ in range(min(draws, SETTINGS.most_draws)):
        hidden = rng.random(upper.nnz) < SETTINGS.held_out
        seen, unseen = links_among(upper, ~hidden), links_among(upper, hidden)
        first = spectral(seen)
        found = {"spectral": first, **likelihood_memberships(seen, k, first)}
        degrees = np.asarray(seen.sum(axis=1)).reshape(-1, 1)
        for name in ("spectral", "shares"):
            found[name] = smoothed(found[name], degrees)
        found["equal"] = np.full_like(first, 1 / k)
        for name, rows in found.items():
            scores.setdefault(name, []).append(predictive_scores(seen, unseen, rows))
    of = {name: np.concatenate(score) for name, score in scores.items()}
    gain, error = _mean(of["shares"] - of["labels"])
    chosen = "shares" if gain > error else "labels"
    gain, error = _mean(of[chosen] - of["spectral"])
    chosen = chosen if gain > error else "spectral"
    return Judgement(chosen, gain, error, max(_mean(of[name] - of["equal"])[0] for name in found))


def _mean(values: Floats) -> tuple[float, float]:
    """Return the mean and its standard error."""
    return float(values.mean()), float(values.std() / np.sqrt(len(values)))


def smoothed(memberships: Floats, degrees: Floats) -> Floats:
    """Shrink memberships towards their mean, as if each node had a few more links.

    Memberships of a node with few links are uncertain; without this they would predict worse than
    labels even where nodes do belong to several communities.
    """
    more = SETTINGS.pseudo_links
    return np.asarray((degrees * memberships + more * memberships.mean(axis=0)) / (degrees + more))


def links_among(upper: sp.coo_array, these: NDArray[np.bool_]) -> sp.csr_array:
    """Return the graph of some of the links, each of which is above the diagonal."""
    half = sp.coo_array((upper.data[these], (upper.row[these], upper.col[these])), upper.shape)
    return sp.csr_array(half + half.T)


def predictive_scores(seen: sp.csr_array, unseen: sp.csr_array, memberships: Floats) -> Floats:
    """Return the log-likelihood of each unseen link under the memberships, degrees and blocks.

    Degrees φ and densities B are those of largest likelihood for the links that are seen. Of the
    mean row 2 % is mixed into memberships, so that no link is impossible.
    """
    k = memberships.shape[1]
    rows = 0.98 * memberships + 0.02 * memberships.mean(axis=0)
    degrees = np.maximum(np.asarray(seen.sum(axis=1), dtype=np.float64).ravel(), 0.5)
    links = sp.coo_array(seen)
    phi, blocks = degrees, np.ones((k, k)) + 5.0 * np.eye(k)
    for _ in range(30):
        scaled = rows * phi[:, None]
        totals = scaled.sum(axis=0)
        means = np.einsum("ek,ek->e", scaled[links.row] @ blocks, scaled[links.col])
        ratios = sp.csr_array(
            (links.data / np.maximum(means, TINY), (links.row, links.col)), shape=links.shape
        )
        pulled = blocks * (scaled.T @ (ratios @ scaled))
        blocks = pulled / np.maximum(np.multiply.outer(totals, totals), TINY)
        phi = degrees / np.maximum(rows @ (blocks @ totals), TINY)
    scaled = rows * phi[:, None]
    totals = scaled.sum(axis=0)
    hidden = sp.coo_array(sp.triu(unseen, 1))
    means = np.einsum("ek,ek->e", scaled[hidden.row] @ blocks, scaled[hidden.col])
    # A link is in the hidden part with the same probability everywhere: shares of all means.
    return np.asarray(np.log(np.maximum(means, TINY) / max(float(totals @ blocks @ totals), TINY)))


def number_of_communities(adjacency: sp.csr_array) -> tuple[int, str]:
    """Return the number of communities that describes the links most briefly, and a note.

    The description holds the labels, a density for each community and one between, and the links
    given these (Rissanen 1978). Degrees are part of every description, so that they do not count.
    """
    n = adjacency.shape[0]
    most = max(1, min(SETTINGS.most_communities, n // 4))
    vectors = regularized_vectors(adjacency, most)
    lengths: dict[int, float] = {}

    def measure(k: int) -> None:
        if k not in lengths:
            one = partition(adjacency, np.zeros(n, dtype=np.intp), 1)
            found = likeliest(adjacency, vectors, k) if k > 1 else one
            lengths[k] = description_length(adjacency, found, k)

    for k in (k for k in SETTINGS.grid if k <= most):
        measure(k)
        if k > 2 * min(lengths, key=lengths.__getitem__) + 4:
            break
    middle = min(lengths, key=lengths.__getitem__)
    for k in range(max(1, int(0.8 * middle)), min(most, int(1.25 * middle)) + 1):
        measure(k)
    best = min(lengths, key=lengths.__getitem__)
    if best == 1 and most > 1 and lengths.get(2, np.inf) - lengths[1] < SETTINGS.no_difference:
        best = 2  # prefer two communities to one
    note = (
        f"number of communities chosen by the shortest description of the links: {best}; give the "
        "number if you know it"
    )
    if best == most > 1:
        note = (
            f"the description of the links still shortens at {most} communities, the largest "
            "number tried: there may be more, or communities within communities; give the number "
            "that you want"
        )
    return best, note


def wants_more(adjacency: sp.csr_array, k: int) -> bool:
    """Return whether four times as many communities describe the links more briefly than k."""
    more = min(4 * k, adjacency.shape[0] // 4)
    vectors = regularized_vectors(adjacency, max(k, more))
    few, many = (
        description_length(adjacency, likeliest(adjacency, vectors, number), number)
        for number in (k, max(k, more))
    )
    return many < few


def description_length(adjacency: sp.csr_array, found: Partition, k: int) -> float:
    """Return the length of the description by k communities, in nats, up to a constant."""
    n, sizes = len(found.labels), np.bincount(found.labels, minlength=k)
    which = gammaln(n + 1) - gammaln(sizes + 1).sum()
    how_large = gammaln(n + k) - gammaln(n + 1) - gammaln(k)
    densities = 0.5 * (k + 1) * np.log(max(float(adjacency.sum()) / 2, 2.0))
    likelihood = found.log_likelihood + single_links(adjacency, found.labels, k)
    return float(which + how_large + densities - likelihood)


def single_links(adjacency: sp.csr_array, labels: Labels, k: int) -> float:
    """Return the gain in log-likelihood if no two links join the same nodes; zero with weights.

    Poisson numbers of links allow several between two nodes, and links from a node to itself. In a
    community of ten nodes of which most are linked, this underrates the links by a third, so that
    merging such communities seemed briefer. As in an unweighted block model of equal degrees, e
    links are likelier among N pairs of nodes than Poisson links with the same sum, of which n² / 2
    pairs take part:  e log(n² / 2N) + (N − e) log(1 − e / N) + e.
    """
    if not np.all(adjacency.data == 1):
        return 0.0
    links, sizes = sp.coo_array(adjacency), np.bincount(labels, minlength=k)
    same = labels[links.row] == labels[links.col]
    inside = np.bincount(labels[links.row[same]], minlength=k) / 2
    number = np.append(inside, adjacency.nnz / 2 - inside.sum())
    poisson = np.append(sizes**2, len(labels) ** 2 - sizes @ sizes) / 2
    pairs = poisson - np.append(sizes / 2, 0.0)
    free = np.maximum(pairs, 1.0)
    gains = xlogy(number, np.maximum(poisson, 1.0) / free) + number
    return float((gains + xlog1py(pairs - number, -np.minimum(number / free, 1.0))).sum())
