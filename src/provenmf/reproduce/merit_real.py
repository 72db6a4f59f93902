"""Nguyen22 on real data: topics (Table II), communities (Table IV) and memory (Figs. 6, 7).

A trial of Table II has the documents of K classes; words in at least two of them; tf-idf;
co-occurrence; words scaled to sum one; projection on 2K singular vectors; anchors; topics by
nonnegative least squares; document weights from counts, as in the first version of the authors'
program (the second takes tf-idf), scaled to unit length; ClustAcc is the mean over ten runs of
k-means, each the best of ten starts. Coherence counts every pair of the 20 top words twice, as that
program does. The settings of find_topics were chosen with trials 1 to 8 in view; all methods meet
on trials 9 to 18. With K = 3 the paper's methods have all 50 trials.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh

from provenmf.applications.communities import find_communities
from provenmf.applications.communities.embedding import embed
from provenmf.applications.fitting import fit_matrix
from provenmf.applications.topics import find_topics
from provenmf.applications.topics.corpus import WordCounts, tf_idf
from provenmf.applications.topics.inference import weights_in
from provenmf.applications.topics.solver import turn_to_diagonal
from provenmf.linalg.nnls import nonnegative_least_squares
from provenmf.linalg.norms import inverse_where_positive, rows_to_sum_one
from provenmf.linalg.spectral import with_fixed_signs
from provenmf.metrics.matching import averaged_spearman
from provenmf.metrics.topics import similarity_count, top_words, topic_coherence
from provenmf.reproduce.claims import (
    NotMeasured,
    Options,
    Row,
    Settings,
    Tables,
    cell,
    column,
    contents,
    quotients,
)
from provenmf.reproduce.merit import peak_megabytes
from provenmf.reproduce.real_data import Collection, data_folder, network
from provenmf.reproduce.rivals import geo_nmf, gibbs_lda, k_means_accuracy, spoc

CORPORA = ("tdt2", "reuters21578")
TOPIC_SIZES = (3, 4, 5, 6, 7, 8, 9, 10)
# Number of communities of each network.
NETWORK_SIZES = {1: 6, 2: 3, 3: 3, 4: 3}
COMMON, ALL = range(9, 19), range(1, 51)
# FastGradient holds four n × n matrices: 1.2 GB at this many words.
FAST_GRADIENT_WORDS = 6000
# The paper reports the best of several λ; ours is "auto" or a fixed μ.
MUS = ("auto", 1e-3, 1e-2, 1e-1, 1.0)


def gap_of_the_authors(row: Mapping[str, float]) -> bool:
    """Return whether the gap is at most 0.25: the authors' 0.5 for a fit without the factor 1/2."""
    return row["gap"] <= 0.25


def stop_of_the_authors(row: Mapping[str, float]) -> bool:
    """Return whether the gap is small or step 100 reached, with the steps a warm start saves."""
    return gap_of_the_authors(row) or row["step"] >= 99


# As the authors' program runs on real data: λ = 1e-6 where the fit is not halved, which is half of
# it in our scaling; every row may be an anchor, exact duplicates once. On networks it starts from
# C = 0, although the paper says that it starts from SPA.
AUTHORS_MERIT: Options = {"step": "open-loop", "lam": 5e-7, "callback": gap_of_the_authors}
TOPIC_MERIT = {**AUTHORS_MERIT, "callback": stop_of_the_authors, "init": "spa"}
NETWORK_MERIT = {**AUTHORS_MERIT, "max_iter": 120, "method": "merit", "scale": False}
NETWORK_GRADIENT: Options = {"method": "fast_gradient", "scale": False, "max_iter": 100}


@dataclass(frozen=True)
class Contender:
    """A method with its options; of several, those with the highest ClustAcc count.

    `most_words` keeps it from problems that take too much memory. It meets trials 9 to 18, with
    K = 3 all those in `at_3`.
    """

    method: str
    options: Sequence[Options] = ({},)
    most_words: float = np.inf
    at_3: range = ALL

    def meets(self, k: int, number: int, n_words: int) -> bool:
        """Return whether the method takes part in a trial."""
        return n_words <= self.most_words and number in (self.at_3 if k == 3 else COMMON)


FAST_GRADIENTS = [{"max_iter": 50, "mu": mu} for mu in MUS]
CONTENDERS = {
    "SPA": Contender("spa"),
    "FastAnchor": Contender("fast_anchor"),
    "XRAY": Contender("xray"),
    "FastGradient": Contender("fast_gradient", FAST_GRADIENTS, FAST_GRADIENT_WORDS, COMMON),
    "LDA": Contender("gibbs"),
    "MERIT": Contender("merit", [TOPIC_MERIT]),
    "MERIT(0)": Contender("merit", [{**TOPIC_MERIT, "lam": 0.0}]),
    "our MERIT": Contender("merit", at_3=COMMON),
    "find_topics": Contender("find_topics", [{"evidence": False}], at_3=COMMON),
}
BASELINES = ("SPA", "FastAnchor", "XRAY", "FastGradient", "LDA")
GREEDY = ("SPA", "XRAY", "FastAnchor")
PROPOSED = ("MERIT", "MERIT(0)")
MEASURES = ("Coherence", "SimCount", "ClustAcc")
MEMORY = "Peak memory"


@dataclass(frozen=True, eq=False)
class Trial:
    """Documents of k classes, with their classes."""

    counts: sp.csr_array
    classes: NDArray[np.integer]
    k: int
    seed: int = 0
    k_means_runs: int = 10

    @cached_property
    def words(self) -> WordProblem:
        """The words as points, the same for all methods."""
        return word_problem(self.counts, self.k)

    def measure(self, contender: Contender) -> dict[str, float]:
        """Measure a method with each of its options; return the measures with the best ClustAcc."""
        tried = [self.measure_one(contender.method, options) for options in contender.options]
        return max(tried, key=lambda found: found["ClustAcc"])

    def measure_one(self, method: str, options: Options) -> dict[str, float]:
        """Measure a method with one set of options."""
        started = time.process_time()
        topics, weights = self.topics_and_weights(method, options)
        seconds = time.process_time() - started
        best = top_words(topics, 20)
        runs = self.k_means_runs
        return {
            "Coherence": 2 * float(topic_coherence(best, self.counts).mean()),
            "SimCount": float(similarity_count(best)),
            "ClustAcc": k_means_accuracy(weights, self.classes, self.k, runs=runs, seed=self.seed),
            "words": self.counts.shape[1],
            "seconds": round(seconds, 2),
        }

    def topics_and_weights(
        self, method: str, options: Options
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return topics over all words, zero for omitted ones, and the document weights."""
        if method == "gibbs":
            return gibbs_lda(self.counts, self.k, self.seed)
        options = {"random_state": self.seed, "certify": False, **options}
        if method == "find_topics":
            result = find_topics(self.counts, self.k, **options)
            topics = np.zeros((len(result.topics), self.counts.shape[1]))
            topics[:, result.word_columns] = result.topics
            return topics, result.document_weights
        anchors = fit_matrix(self.words.points, self.k, method, options).anchors
        assert anchors is not None  # every method here chooses rows
        topics = topics_from_anchors(self.words, anchors)
        return topics, weights_in(WordCounts(self.counts), topics, None)


@dataclass(frozen=True, eq=False)
class WordProblem:
    """Words as points, for separable NMF: tf-idf features, coordinates of the candidate words."""

    features: sp.csc_array
    points: NDArray[np.float64]
    candidates: NDArray[np.intp]


def cooccur(features: sp.csc_array, right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return P @ right for the co-occurrence P = FᵀF/n, which has too many entries to be formed."""
    return np.asarray(features.T @ (features @ right) / features.shape[0])


def word_problem(counts: sp.csr_array, k: int) -> WordProblem:
    """Return the matrix that separable NMF works on: words in 2k coordinates.

    The rows of P, of words in two documents or more, are scaled to sum one and projected on the
    leading right singular vectors of the scaled matrix.
    """
    features = sp.csc_array(tf_idf(counts))
    n_words = counts.shape[1]
    sums = cooccur(features, np.ones(n_words))
    documents = np.bincount(counts.indices[counts.data != 0], minlength=n_words)
    candidates = np.flatnonzero((documents >= 2) & (sums > 0))
    scales = inverse_where_positive(sums)[:, None]

    def product(right: NDArray[np.float64]) -> NDArray[np.float64]:
        return cooccur(features, scales**2 * cooccur(features, right.reshape(n_words, -1)))

    operator = LinearOperator((n_words, n_words), matvec=product, matmat=product, dtype=float)
    number, begin = min(2 * k, len(candidates), counts.shape[0]), np.random.default_rng(0)
    values, vectors = eigsh(operator, k=number, v0=begin.standard_normal(n_words), tol=0)
    directions = with_fixed_signs(vectors[:, np.argsort(values)[::-1]].T.copy())
    points = scales * cooccur(features, directions.T)
    turned = points[candidates] @ turn_to_diagonal(directions.sum(axis=1))
    return WordProblem(features, turned, candidates)


def topics_from_anchors(problem: WordProblem, chosen: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return topics (k, words): P ≈ H'ᵀ P[anchors] with H ≥ 0, rows of H scaled to sum one."""
    features = problem.features
    of_anchors = features[:, problem.candidates[chosen]]
    rows = (of_anchors.T @ features).toarray() / features.shape[0]
    weights = nonnegative_least_squares(rows @ rows.T, cooccur(features, rows.T))
    return rows_to_sum_one(np.ascontiguousarray(weights.T))


def topic_table(settings: Settings) -> Tables:
    """Reproduce Table II on trials 9 to 18; the paper's methods with K = 3 on all 50."""
    folder = data_folder(settings, "merit-table2", *CORPORA)
    sizes, numbers = ((3,), COMMON[:1]) if settings.quick else (TOPIC_SIZES, ALL)
    rows: list[Row] = []
    for corpus, k in settings.each(itertools.product(CORPORA, sizes)):
        collection = Collection.read(folder / corpus)
        for number in numbers:
            rows += [{"corpus": corpus, **row} for row in meet(collection, k, number, settings)]
    return topic_tables(rows)


def meet(collection: Collection, k: int, number: int, settings: Settings) -> list[Row]:
    """Measure the methods that take part in a trial."""
    n_words = collection.n_words(k, number)
    names = [name for name, c in CONTENDERS.items() if c.meets(k, number, n_words)]
    if not names:
        return []
    trial = Trial(*collection.trial(k, number), k, settings.seed)
    return [{"method": name, "K": k, **trial.measure(CONTENDERS[name])} for name in names]


def topic_tables(rows: Sequence[Row]) -> Tables:
    """Tabulate the means for each K, ours and as printed, per measure and corpus."""
    tables: Tables = {}
    for measure in MEASURES:
        for corpus in {row["corpus"]: None for row in rows}:
            lines: list[Row] = []
            for name in CONTENDERS:
                here: dict[int, list[float]] = {}
                for row in rows:
                    if (row["method"], row["corpus"]) == (name, corpus):
                        here.setdefault(row["K"], []).append(row[measure])
                if here:
                    means = {f"K={k}": float(np.mean(here[k])) for k in sorted(here)}
                    fewest = min(map(len, here.values()))
                    lines.append({"method": name, "origin": "ours", "trials": fewest, **means})
                printed = contents("published.toml")["table2"][measure][corpus]
                if name in printed:
                    values = {f"K={k}": v for k, v in zip(TOPIC_SIZES, printed[name])}
                    there = {"method": name, "origin": "paper's print", "trials": 50}
                    lines.append({**there, **values})
            tables[f"{measure} on {corpus}"] = lines
    return tables


def community_table(settings: Settings) -> Tables:
    """Reproduce Table IV: rank correlation of memberships with the truth."""
    folder = data_folder(settings, "merit-table4", "coauthorship")
    methods: dict[str, Options] = {
        "MERIT": NETWORK_MERIT,
        "MERIT(0)": {**NETWORK_MERIT, "lam": 0.0},
        "our MERIT": {"method": "merit"},
        "find_communities": {},
    }
    mus = MUS[:1] if settings.quick else MUS
    gradients = {f"FastGradient, μ = {mu}": {**NETWORK_GRADIENT, "mu": mu} for mu in mus}
    shared: Options = {"random_state": settings.seed, "certify": False, "evidence": False}
    rows: list[Row] = []
    printed = contents("published.toml")["table4"]
    for number in settings.each([2] if settings.quick else NETWORK_SIZES):
        k = NETWORK_SIZES[number]
        adjacency, truth = network(folder, number)
        memberships = {"GeoNMF": geo_nmf(adjacency, k), "SPOC": spoc(adjacency, k)}
        for name, options in (methods | gradients).items():
            memberships[name] = find_communities(adjacency, k, **shared, **options).memberships
        row: Row = {"network": f"DBLP{number}"}
        row |= {name: averaged_spearman(found, truth) for name, found in memberships.items()}
        row["FastGradient"] = max(row[name] for name in gradients)
        row |= {f"printed {name}": values[number - 1] for name, values in printed.items()}
        rows.append(row)
    return {"SRC": rows}


def topic_memory(settings: Settings) -> Tables:
    """Reproduce Fig. 6: peak memory on the first trial of each K."""
    folder = data_folder(settings, "merit-fig6", *CORPORA)
    problems = []
    for corpus in CORPORA:
        for k in (3,) if settings.quick else TOPIC_SIZES:
            words = Collection.read(folder / corpus).n_words(k, 1)
            problems.append(((folder / corpus, k), {"corpus": corpus, "K": k, "n": words}))
    return memory_table(settings, fit_words, problems)


def community_memory(settings: Settings) -> Tables:
    """Reproduce Fig. 7: peak memory after the eigendecomposition."""
    folder = data_folder(settings, "merit-fig7", "coauthorship")
    problems = []
    for number, k in ({2: 3} if settings.quick else NETWORK_SIZES).items():
        embedding = embed(network(folder, number)[0], k)
        points = embedding.vectors[embedding.kept]
        problems.append(((points, k), {"network": f"DBLP{number}", "K": k, "n": len(points)}))
    return memory_table(settings, fit_points, problems)


def memory_table(settings: Settings, fit: Any, problems: Sequence[Any]) -> Tables:
    """Measure peak memory of the paper's MERIT, ours and, for small n, FastGradient."""
    rows: list[Row] = []
    for arguments, row in settings.each(problems):
        for name, method in (("MERIT", "paper"), ("our MERIT", "merit")):
            peak, before = peak_megabytes(fit, *arguments, method, settings.seed)
            row |= {f"{name} MB": peak - before, "Python MB": before}
        if row["n"] <= 3500:
            peak, before = peak_megabytes(fit, *arguments, "fast_gradient", settings.seed)
            row["FastGradient MB"] = peak - before
        row["four n × n matrices MB"] = 32 * row["n"] ** 2 / 2**20
        rows.append(row)
    return {MEMORY: sorted(rows, key=lambda row: row["n"])}


def fit_words(folder: Path, k: int, method: str, seed: int) -> None:
    """Find anchors in the first trial with k classes, starting from the counts."""
    counts, _ = Collection.read(folder).trial(k, 1)
    fit_points(word_problem(counts, k).points, k, method, seed)


def fit_points(points: NDArray[np.float64], k: int, method: str, seed: int) -> None:
    """Find anchors among points; FastGradient takes ten steps, enough to reach its peak memory."""
    options: Options = {"random_state": seed, "certify": False}
    if method == "fast_gradient":
        options["max_iter"] = 10
    if method == "paper":
        method, options = "merit", {**options, **TOPIC_MERIT}
    fit_matrix(points, k, method, options)


def means(
    tables: Tables, measure: str, corpus: str, methods: Sequence[str], origin: str = "ours"
) -> NDArray[np.float64]:
    """Return the means of a measure: a row for each method, a column for each K.

    FastGradient is too large for many problems, and a mean over the small ones says nothing here:
    it is left out unless it was run with every K and in as many trials as the others.
    """
    title = f"{measure} on {corpus}"
    left_out = {
        row["method"]
        for row in tables.get(title, [])
        if row["trials"] < fewest(tables, title) or f"K={TOPIC_SIZES[-1]}" not in row
    } & {"FastGradient"}
    return np.array(
        [
            [cell(tables, title, f"K={k}", method=name, origin=origin) for k in TOPIC_SIZES]
            for name in methods
            if name not in left_out
        ]
    )


def fewest(tables: Tables, title: str) -> float:
    """Return the smallest number of trials of MERIT or a baseline, FastGradient left out."""
    names = (*PROPOSED, *(name for name in BASELINES if name != "FastGradient"))
    return min(cell(tables, title, "trials", method=name, origin="ours") for name in names)


def spa_from_the_print(tables: Tables) -> float:
    """Return the largest difference of SPA's mean ClustAcc over K from the print."""
    ours, printed = (
        np.array([means(tables, "ClustAcc", c, ("SPA",), origin).mean() for c in CORPORA])
        for origin in ("ours", "paper's print")
    )
    return float(np.abs(ours - printed).max())


def share_ahead(tables: Tables, measure: str) -> float:
    """Return the share of K for which MERIT or MERIT(0) exceeds all baselines on TDT2."""
    ours, others = (means(tables, measure, "tdt2", names) for names in (PROPOSED, BASELINES))
    return float(np.mean(ours.max(axis=0) > others.max(axis=0)))


def shared_words(tables: Tables) -> float:
    """Return the largest mean SimCount of MERIT and MERIT(0) over that of the worst baseline."""
    ratios = []
    for corpus in CORPORA:
        ours, others = (
            means(tables, "SimCount", corpus, names).mean(axis=1).max()
            for names in (PROPOSED, BASELINES)
        )
        ratios += quotients([ours], [others])
    return float(np.max(ratios))


def share_above_greedy(tables: Tables) -> float:
    """Return how often MERIT and MERIT(0) have a higher ClustAcc than all greedy methods."""
    ours, greedy = (
        np.array([means(tables, "ClustAcc", corpus, names) for corpus in CORPORA])
        for names in (PROPOSED, GREEDY)
    )
    return float(np.mean(ours > greedy.max(axis=1, keepdims=True)))


def share_in_two(tables: Tables) -> float:
    """Return the share of K for which MERIT's ClustAcc on Reuters is best or second best."""
    mine, others = (
        means(tables, "ClustAcc", "reuters21578", names)
        for names in (("MERIT",), (*BASELINES, "MERIT(0)"))
    )
    return among_two_best(mine[0], others)


def among_two_best(mine: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """Return the share of columns in which at most one of the others is not below."""
    return float(np.mean(np.count_nonzero(~(others <= mine), axis=0) <= 1))


def lead_at_10(tables: Tables) -> float:
    """Return MERIT's ClustAcc minus the best baseline's on TDT2, K = 10."""
    mine, others = (means(tables, "ClustAcc", "tdt2", n) for n in (("MERIT",), BASELINES))
    return float(mine[0, -1] - others[:, -1].max())


def lead_over_zero(tables: Tables) -> float:
    """Return the mean ClustAcc difference between MERIT and MERIT(0) over both corpora."""
    both = [means(tables, "ClustAcc", corpus, PROPOSED) for corpus in CORPORA]
    return float(np.mean([mine - zero for mine, zero in both]))


def network_share(tables: Tables) -> float:
    """Return the share of networks on which MERIT or MERIT(0) is among the two best."""
    ours, rivals = (
        np.array([column(tables, "SRC", name) for name in names])
        for names in (PROPOSED, ("GeoNMF", "SPOC", "FastGradient"))
    )
    if ours.shape[1] < len(NETWORK_SIZES):
        raise NotMeasured("SRC: not all networks")
    return among_two_best(ours.max(axis=0), rivals)


def lead_on_dblp2(tables: Tables) -> float:
    """Return MERIT's SRC on DBLP2 minus that of the better greedy method."""
    mine, *others = (
        cell(tables, "SRC", name, network="DBLP2") for name in ("MERIT", "GeoNMF", "SPOC")
    )
    return float(mine - np.max(others))


def scaled_memory(tables: Tables) -> float:
    """Return FastGradient's MB at the largest n it was run on, scaled by n² to the largest n."""
    sizes = column(tables, MEMORY, "n")
    tried = [row for row in tables[MEMORY] if "FastGradient MB" in row]
    if not tried:
        raise NotMeasured("FastGradient MB")
    last = max(tried, key=lambda row: row["n"])
    return float(last["FastGradient MB"] * quotients([max(sizes)], [last["n"]])[0] ** 2)
