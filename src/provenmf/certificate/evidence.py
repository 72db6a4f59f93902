"""Confirm components on unseen rows: valid whatever the distribution, if rows are independent.

The rows are split in two halves. Components H are found in one half and judged in the other, and
the other way round. In the judging half the columns of each row are split at random: weights are
fitted to the *seen* columns and the *unseen* ones are predicted, with all components and by models
without component j. These drop j, merge it with one of its two nearest neighbors, or let it absorb
its part of the seen columns but predict nothing (a component of one noisy column keeps the noise
away from the others, and is nothing real). The gain of row i is

    g_i(j) = loss(unseen_i; without j) − loss(unseen_i; all),

relative to the row's size: squared error for real data, Poisson likelihood for counts. Given the
first half, the gains are independent, so any test of a mean is a test of the component: nothing is
used twice. A component must beat the two best models without it, which the first half chooses: the
smaller of the two e-values counts, whose mean is ≤ 1 if either of them predicts as well. Columns
are split, not counts: thinned counts that vary more than Poisson counts predict each other, and
components of one column would be confirmed on noise. Neighboring columns whose residuals are alike,
such as channels of a smooth spectrum, are hidden together: they predict each other, whatever the
components are. Equal rows stay in one half for the same reason.

The test bets against H0: E clip(g, ±c) ≤ 0 (Waudby-Smith & Ramdas 2024). With λ ≤ 1/c the product
of 1 + λ clip(g_i) has mean ≤ 1 under H0, and so has its average over several λ: it is an e-value,
whose inverse bounds the error probability for every distribution, heavy tails included. The
e-values of both directions are averaged; Bonferroni's factor k corrects for the number of
components. The clip c is chosen in the first half.

A component is confirmed if its error probability is at most 5 % and both halves show it: their
versions have a cosine of at least .8, and each is the one most like the other among all that its
half found. A component that helps in both halves but is another one in each is not found again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp

from provenmf.errors import InvalidInput, counted
from provenmf.linalg.compiled import njit
from provenmf.linalg.nnls import nonnegative_least_squares
from provenmf.linalg.storage import as_dense
from provenmf.results.estimates import LEVEL, Evidence

Floats = NDArray[np.float64]
Rows = Any  # ndarray or CSR array
Find = Callable[[NDArray[np.intp]], ArrayLike]
Distance = Callable[[Floats, Floats], float]


@dataclass(frozen=True)
class Settings:
    """Numbers of the test; all but the last two are about power, not validity."""

    bets: tuple[float, ...] = (0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 0.99)  # λc, averaged
    clip_quantile: float = 0.98  # of |gain| in the half that finds; at least its root mean square
    neighbors: int = 2  # a component may be merged with: two copies of one are both replaceable
    rivals: int = 2  # best models without a component that it must beat, chosen in the finding half
    masks: int = 8  # random splits of the columns, shared by the rows of a half
    rounds: int = 3  # splits of each row, whose gains are averaged
    alike_columns: float = 0.2  # correlation of residuals up to which neighbors are independent
    dense_entries: int = 4_000_000  # of rows whose residuals are compared
    batch: int = 1000  # rows that judge before the next ones are asked
    judged_rows: int = 8000  # most of each half
    beyond_doubt: float = 1e-4  # error probability from which no more rows are asked
    trial_rows: int = 400  # of the half that finds, to choose rivals and clip
    # Prior strengths tried in the half that finds, in counts: entries that vary far more than
    # Poisson counts say little about their row.
    pseudo_counts: tuple[float, ...] = (0.5, 2.0, 8.0, 30.0, 120.0, 500.0, 2000.0, 8000.0)
    em_steps: int = 30  # for the weights of counts: early stopping costs both models alike
    background: float = 1e-3  # share of a flat profile in predictions, so that none is zero
    fewest_units: int = 20  # rows or groups; with fewer no component could be confirmed
    alike: float = 0.8  # cosine of what two halves show, as for resampled components


SETTINGS = Settings()
ROUNDS = SETTINGS.rounds


class Model(NamedTuple):
    """Components with the mean share of each in a row.

    One of them may be `absorbed`: it takes its part of the seen columns, but in the unseen ones its
    weight is the mean share of the others' weights, so that it predicts nothing of a row.
    """

    components: Floats
    shares: Floats
    absorbed: int | None = None

    def predicting(self, weights: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the weights to predict with, from those fitted to the seen columns."""
        j = self.absorbed
        if j is None:
            return weights
        others = np.delete(weights, j, axis=1).sum(axis=1)
        replaced = weights.copy()
        replaced[:, j] = others * self.shares[j] / max(1.0 - self.shares[j], 1e-12)
        return replaced


def confirm_components(
    X: Rows,
    find: Find,
    components: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    counts: bool | None = None,
    distance: Distance | None = None,
    measure: str = "degrees",
    entries: str = "",
    noun: str = "component",
    row: str = "row",
    random_state: int = 0,
) -> Evidence:
    """Judge every component on rows that were not used to find it.

    Parameters
    ----------
    X : array or CSR array (n, d)
        The data, in memory.
    find : callable
        Takes row numbers and returns components (k', d) found in these rows alone.
    components : array (k, d)
        Components of the whole answer; those of the halves are matched with them.
    groups : array (n,), optional
        Group of each row (patient, author, image). Groups are split instead of rows and each
        counts once, which is needed where rows of a group depend on each other.
    counts : bool, optional
        Whether to judge by the Poisson likelihood; by default where all entries are whole numbers.
    distance : callable, optional
        Distance of two components for the report; their angle in degrees by default.
    measure, entries, noun, row : str
        Unit of the distance, what it compares, names of a component and of a row, for the
        sentences.
    random_state : int
        Seed of the splits.

    Returns
    -------
    Evidence
    """
    whole = np.asarray(components, dtype=np.float64)
    words = {"measure": measure, "entries": entries, "noun": noun, "row": row}
    data = sp.csr_array(X, dtype=np.float64) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    units = equal_rows(data) if groups is None else numbered_units(groups, data.shape[0])
    n_units = int(units.max(initial=-1)) + 1
    if groups is not None:
        words["units"] = f"groups of {row}s"
    reason = _reason(data, n_units, len(whole), row, words.get("units", f"different {row}s"))
    if reason:
        return without_judgement(len(whole), n_units, reason, words)
    rng = np.random.default_rng(random_state)
    halves = split_units(units, rng)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of the answer itself have been shown
            found = [np.asarray(find(half), dtype=np.float64) for half in halves]
    except InvalidInput as error:
        reason = f"nothing was found in half of the {row}s ({error})"
        return without_judgement(len(whole), n_units, reason, words)
    is_counts = _are_counts(data) if counts is None else counts
    log_e = [
        log_evalues(data, found[0], halves[0], halves[1], units, is_counts, rng),
        log_evalues(data, found[1], halves[1], halves[0], units, is_counts, rng),
    ]
    return combine(whole, found, log_e, n_units, distance=distance, **words)


def combine(
    whole: Floats,
    versions: Sequence[Floats],
    log_e: Sequence[Floats],
    n_units: int,
    *,
    distance: Distance | None = None,
    **words: str,
) -> Evidence:
    """Match the versions of two halves with the whole and judge every component.

    Parameters
    ----------
    whole : array (k, d)
        Components of the whole answer, or whatever they are compared by.
    versions : two arrays (k', d)
        What either half found, in the same coordinates.
    log_e : two arrays (k',)
        Logarithms of the e-values of what either half found.
    n_units, distance, words
        As in `confirm_components`.
    """
    places = [_matches(whole, version) for version in versions]
    alike = _cosines(*versions)

    def judged(j: int) -> tuple[str, float, float | None]:
        if not all(j in place for place in places):  # one half has fewer components
            return "not confirmed", 1.0, None
        here, there = (place[j] for place in places)
        log_mean = float(np.logaddexp(log_e[0][here], log_e[1][there]) - np.log(2.0))
        wrong = float(min(1.0, len(whole) * np.exp(-log_mean)))
        nearest = alike[here, there] >= max(alike[here].max(), alike[:, there].max())
        again = nearest and alike[here, there] >= SETTINGS.alike
        word = "confirmed" if wrong <= LEVEL and again else "not confirmed"
        return word, wrong, (distance or _angle)(versions[0][here], versions[1][there])

    judgements, probabilities, distances = zip(*map(judged, range(len(whole))))
    found = judgements, probabilities, distances
    return Evidence(*found, n_units=n_units, **words)  # type: ignore[arg-type]


def without_judgement(k: int, n_units: int, reason: str, words: dict[str, Any]) -> Evidence:
    """Return evidence that says why no component can be judged."""
    words_for_all = ("cannot be judged",) * k
    return Evidence(words_for_all, (1.0,) * k, (None,) * k, n_units=n_units, reason=reason, **words)


def equal_rows(data: Rows) -> NDArray[np.intp]:
    """Number the different rows: a copy of a row says nothing of new rows."""
    if sp.issparse(data):
        parts = zip(data.indptr, data.indptr[1:])
        keys = [hash((data.indices[a:b].tobytes(), data.data[a:b].tobytes())) for a, b in parts]
    else:
        keys = [hash(row.tobytes()) for row in data]
    numbers: dict[int, int] = {}  # in the order of the rows: hashes differ between processes
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)


def numbered_units(groups: ArrayLike | None, n: int) -> NDArray[np.intp]:
    """Number the independent units: rows, or the groups that were named."""
    if groups is None:
        return np.arange(n)
    remedy = f"give one group for each of {n} rows"
    try:
        named = np.asarray(groups)
    except ValueError as error:
        raise InvalidInput(
            "groups is no list of names", argument="groups", remedy=remedy
        ) from error
    if named.shape != (n,):
        raise InvalidInput(f"groups has shape {named.shape}", argument="groups", remedy=remedy)
    names = [name for name in named.tolist() if not isinstance(name, str)]
    missing = sum(str(name) in ("None", "nan", "<NA>", "NaT") for name in names)
    if missing:
        words = f"groups has no name for {counted(missing, 'row')}"
        raise InvalidInput(words, argument="groups", remedy="give each of them a name of its own")
    if named.dtype == object:  # of several types
        named = named.astype(str)
    return np.unique(named, return_inverse=True)[1].astype(np.intp)


def _reason(data: Rows, n_units: int, k: int, row: str, what: str) -> str:
    """Return why components cannot be judged; empty if they can."""
    n, d = data.shape
    values = data.data if sp.issparse(data) else data
    if not np.isfinite(values).all():
        return "the data have missing entries; fill them in or leave out their rows"
    if not values.any():
        return "all entries are zero"
    if n_units < SETTINGS.fewest_units:
        return f"there are {n_units} {what}, and {SETTINGS.fewest_units} are needed"
    if k > n // 2:
        return f"half of the {n} {row}s are fewer than {k}; use a smaller number"
    if d < max(k + 1, 3):
        return (
            f"{d} columns are too few to predict some of them from the others; use fewer than {k}"
        )
    return ""


def _are_counts(data: Rows) -> bool:
    values = data.data if sp.issparse(data) else data
    return bool((values >= 0).all() and (values == np.floor(values)).all())


def split_units(
    units: NDArray[np.intp], rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split the units at random; all rows of a unit stay together."""
    n_units = int(units.max()) + 1
    first = np.zeros(n_units, dtype=bool)
    first[rng.permutation(n_units)[: n_units // 2]] = True
    return np.flatnonzero(first[units]), np.flatnonzero(~first[units])


def log_evalues(
    data: Rows,
    components: Floats,
    finders: NDArray[np.intp],
    judges: NDArray[np.intp],
    units: NDArray[np.intp],
    counts: bool,
    rng: np.random.Generator,
) -> Floats:
    """Return the log e-value of every component found in the rows `finders`, by the rows `judges`.

    Both speak of `data`; `units` numbers the independent unit of each row. More and more rows judge
    a component while they speak for it and are not beyond doubt. A bet may stop at any time.
    """
    k = len(components)
    finders = _some(finders, SETTINGS.trial_rows, rng)
    loss = (_Counts if counts else _Reals)(data[finders], components, rng)
    rivals = [_best_without(loss, j, data[finders], units[finders], rng) for j in range(k)]
    log_e, undecided = np.zeros(k), list(range(k))
    wealth = [np.zeros((len(models), len(SETTINGS.bets))) for models, _ in rivals]
    for rows in _batches(judges, units, rng):
        models = [model for j in undecided for model in rivals[j][0]]
        lost = loss(data[rows], [loss.model, *models], rng)
        gains, place = _by_unit(lost[:, 1:] - lost[:, :1], units[rows]), 0
        for j in undecided:
            some, clips = rivals[j]
            wealth[j] += _log_wealth(gains[:, place : place + len(some)], clips)
            log_e[j] = _log_evalue(wealth[j])
            place += len(some)
        undecided = [j for j in undecided if 0 < log_e[j] < np.log(k / SETTINGS.beyond_doubt)]
        if not undecided:
            break
    return log_e


def _best_without(
    loss: _Reals | _Counts, j: int, rows: Rows, units: NDArray[np.intp], rng: np.random.Generator
) -> tuple[list[Model], Floats]:
    """Return the best models without component j in the half that found it, and their clips."""
    models = _without(loss.model, j)
    lost = loss(rows, [loss.model, *models], rng, rounds=1)
    best = np.argsort(lost[:, 1:].mean(axis=0))[: SETTINGS.rivals]
    size = np.abs(_by_unit(lost[:, 1 + best] - lost[:, :1], units))
    clips = np.maximum(
        np.quantile(size, SETTINGS.clip_quantile, axis=0), np.sqrt(np.mean(size**2, axis=0))
    )
    return [models[place] for place in best], clips


def _some(rows: NDArray[np.intp], most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    return np.sort(rng.choice(rows, min(most, len(rows)), replace=False))


def _batches(
    rows: NDArray[np.intp], units: NDArray[np.intp], rng: np.random.Generator
) -> list[NDArray[np.intp]]:
    """Divide rows in random order; rows of a unit stay together, and large units give some only."""
    rows = rng.permutation(rows)
    rows = rows[np.argsort(rng.permutation(units.max() + 1)[units[rows]], kind="stable")]
    starts = np.flatnonzero(np.diff(units[rows], prepend=-1))
    lengths = np.diff(np.append(starts, len(rows)))
    within = np.arange(len(rows)) - np.repeat(starts, lengths)
    rows = rows[within < max(1, SETTINGS.batch // len(starts))]
    return [
        np.sort(rows[first : first + SETTINGS.batch])
        for first in range(0, min(len(rows), SETTINGS.judged_rows), SETTINGS.batch)
    ]


def _by_unit(gains: Floats, units: NDArray[np.intp]) -> Floats:
    """Return the mean gain over the rows of each unit."""
    _, place, size = np.unique(units, return_inverse=True, return_counts=True)
    sums = np.zeros((len(size), gains.shape[1]))
    np.add.at(sums, place, gains)
    return sums / size[:, None]


def _log_wealth(gains: Floats, clips: Floats) -> Floats:
    """Return the logarithm of what each bet (columns) on the clipped gains of each rival wins."""
    clips = np.where((clips > 0) & np.isfinite(clips), clips, np.inf)
    share = np.clip(np.nan_to_num(gains) / clips, -1.0, 1.0)
    return np.array([np.log1p(bet * share).sum(axis=0) for bet in SETTINGS.bets]).T


def _log_evalue(wealth: Floats) -> float:
    """Return the logarithm of the mean over bets, for the best rival."""
    return float(np.min(logsumexp(wealth, axis=1)) - np.log(wealth.shape[1]))


def _without(model: Model, j: int) -> list[Model]:
    """Return models without component j: dropped, or merged with one of its nearest neighbors."""
    H, shares = model.components, model.shares
    if len(H) == 1:
        return [Model(np.full_like(H, H.mean()), np.ones(1))]
    keep = np.arange(len(H)) != j
    left = shares[keep] / max(shares[keep].sum(), np.finfo(float).tiny)
    models = [Model(H[keep], left), Model(H, shares, absorbed=j)]
    near = np.array([_cosine(H[j], other) for other in H])
    near[j] = -np.inf
    for other in np.argsort(-near)[: min(SETTINGS.neighbors, len(H) - 1)]:
        merged, pooled = H.copy(), shares.copy()
        pooled[other] += shares[j]
        part = shares[j] / pooled[other] if pooled[other] > 0 else 0.5
        merged[other] = part * H[j] + (1 - part) * H[other]
        models.append(Model(merged[keep], pooled[keep]))
    return models


class _Reals:
    """Relative squared error of unseen columns, weights by nonnegative least squares."""

    def __init__(self, rows: Rows, components: Floats, rng: np.random.Generator) -> None:
        sizes = np.linalg.norm(components, axis=1, keepdims=True)
        components = components / np.where(sizes > 0, sizes, 1.0)
        weights = nonnegative_least_squares(
            components @ components.T, np.asarray(rows @ components.T)
        )
        shares = weights.mean(axis=0)
        self.model = Model(components, shares / max(shares.sum(), np.finfo(float).tiny))
        some = _few(rows)
        self.block = block_of_columns(as_dense(rows[some]) - weights[some] @ components)

    def __call__(
        self, rows: Rows, models: list[Model], rng: np.random.Generator, rounds: int = ROUNDS
    ) -> Floats:
        """Return the loss of every row (lines) under every model (columns)."""
        d, k = models[0].components.shape[1], len(models[0].components)
        losses = np.zeros((rows.shape[0], len(models)))
        for some, seen, unseen in _split_columns(rows, d, k, rng, rounds, self.block):
            known, hidden = rows[some][:, seen], rows[some][:, unseen]
            squares = _squared_norms(hidden)
            size = _squared_norms(known) / seen.sum() * unseen.sum()
            size = np.where(size > 0, size, 1.0)
            fitted: dict[int, Any] = {}  # absorbed components share the weights of all components
            for t, model in enumerate(models):
                inner, outer = model.components[:, seen], model.components[:, unseen]
                key = id(model.components)
                if key not in fitted:
                    cross = np.asarray(known @ inner.T)
                    fitted[key] = nonnegative_least_squares(inner @ inner.T, cross)
                weights = model.predicting(fitted[key])
                cross = np.einsum("ij,ij->i", weights, np.asarray(hidden @ outer.T))
                product = np.einsum("ij,ij->i", weights @ (outer @ outer.T), weights)
                losses[some, t] += (squares - 2 * cross + product) / size
        return losses / rounds


class _Counts:
    """Poisson loss per count of unseen columns, weights by EM with pseudo-counts of the half."""

    def __init__(self, rows: Rows, components: Floats, rng: np.random.Generator) -> None:
        sums = np.maximum(components, 0.0).sum(axis=1, keepdims=True)
        even = np.full(len(components), 1.0 / len(components))
        H = np.where(sums > 0, np.maximum(components, 0.0) / np.where(sums > 0, sums, 1.0), 0.0)
        self.model, self.pseudo_counts = Model(H, even), 0.5
        every = np.ones(H.shape[1], dtype=bool)
        weights = self._weights(sp.csr_array(rows), self.model, every)
        shares = (weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)).mean(axis=0)
        some = _few(rows)
        means = weights[some] @ H
        left = (as_dense(rows[some]) - means) / np.sqrt(np.maximum(means, 1e-12))
        self.block = block_of_columns(left)
        self.model = Model(H, shares / max(shares.sum(), np.finfo(float).tiny))
        seed = int(rng.integers(2**31))
        trials = []
        for strength in SETTINGS.pseudo_counts:
            self.pseudo_counts = strength
            again = np.random.default_rng(seed)
            trials.append(self(rows, [self.model], again, rounds=1).mean())
        self.pseudo_counts = SETTINGS.pseudo_counts[int(np.argmin(trials))]

    def _weights(self, rows: sp.csr_array, model: Model, seen: NDArray[np.bool_]) -> Floats:
        weights = np.zeros((rows.shape[0], len(model.components)))
        fit_weights_in_place(
            rows.indptr,
            rows.indices,
            rows.data,
            seen,
            model.components,
            model.shares,
            model.components @ seen + 1e-12,
            self.pseudo_counts,
            SETTINGS.em_steps,
            weights,
        )
        return weights

    def __call__(
        self, rows: Rows, models: list[Model], rng: np.random.Generator, rounds: int = ROUNDS
    ) -> Floats:
        """Return the loss of every row (lines) under every model (columns)."""
        d, k = models[0].components.shape[1], len(models[0].components)
        losses = np.zeros((rows.shape[0], len(models)))
        for some, seen, unseen in _split_columns(rows, d, k, rng, rounds, self.block):
            own = sp.csr_array(rows[some])
            size = np.maximum(own @ unseen.astype(np.float64), 1.0)
            flat = SETTINGS.background * (own @ seen.astype(np.float64)) / d
            fitted: dict[int, Floats] = {}
            for t, model in enumerate(models):
                H = model.components
                if id(H) not in fitted:
                    fitted[id(H)] = self._weights(own, model, seen)
                weights = model.predicting(fitted[id(H)])
                loss = weights @ (H @ unseen) + flat * unseen.sum()
                subtract_likelihood_in_place(
                    own.indptr, own.indices, own.data, seen, H, weights, flat, loss
                )
                losses[some, t] += loss / size
        return losses / rounds


def posterior_shares(rows: Rows, components: Floats) -> Floats:
    """Return the share of each component in every row of counts, weighted as in the test."""
    judge = _Counts(rows, components, np.random.default_rng(0))
    every = np.ones(components.shape[1], dtype=bool)
    weights = judge._weights(sp.csr_array(rows), judge.model, every)
    sums = weights.sum(axis=1, keepdims=True)
    return np.where(sums > 0, weights / np.where(sums > 0, sums, 1.0), judge.model.shares)


def block_of_columns(residuals: Floats) -> int:
    """Return how many neighboring columns to hide together: twice as many as are alike.

    Columns are alike if their residuals correlate more than those of any two columns do.
    """
    n, d = residuals.shape
    spread = residuals.std(axis=0)
    unit = (residuals - residuals.mean(axis=0)) / np.where(spread > 0, spread, np.inf)
    power = np.abs(np.fft.rfft(unit, 2 * d)) ** 2
    sums = np.fft.irfft(power.sum(axis=0), 2 * d)[1:d]  # over all pairs of columns at each distance
    pairs = n * np.arange(d - 1, 0, -1)
    apart = sums / pairs <= sums.sum() / pairs.sum() + SETTINGS.alike_columns
    return int(max(1, min(2 * np.argmax(apart), d // 6)))


def _few(rows: Rows) -> slice:
    """Return the first rows, as many as may be dense."""
    return slice(max(2, SETTINGS.dense_entries // rows.shape[1]))


def _split_columns(
    rows: Rows, d: int, k: int, rng: np.random.Generator, rounds: int, block: int
) -> list[tuple[NDArray[np.intp], NDArray[np.bool_], NDArray[np.bool_]]]:
    """Give each row a few random splits of the columns in seen and unseen blocks."""
    hidden = max(1, min(d // 2, d - 2 * k))
    splits = []
    for _ in range(rounds):
        mask = rng.integers(0, SETTINGS.masks, rows.shape[0])
        for number in range(SETTINGS.masks):
            blocks = (np.arange(d) + rng.integers(block)) // block
            places = rng.permutation(blocks[-1] + 1)[blocks]
            unseen = np.zeros(d, dtype=bool)
            unseen[np.argsort(places, kind="stable")[:hidden]] = True
            some = np.flatnonzero(mask == number)
            if len(some):
                splits.append((some, ~unseen, unseen))
    return splits


def _squared_norms(rows: Rows) -> Floats:
    squares = rows.multiply(rows) if sp.issparse(rows) else rows * rows
    return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()


def _cosine(a: Floats, b: Floats) -> float:
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / lengths if lengths > 0 else 0.0


def _angle(a: Floats, b: Floats) -> float:
    return float(np.degrees(np.arccos(np.clip(_cosine(a, b), -1.0, 1.0))))


def _matches(whole: Floats, found: Floats) -> dict[int, int]:
    """Match components one to one so that the sum of cosines is largest: whole -> found."""
    return {int(j): int(p) for j, p in zip(*linear_sum_assignment(-_cosines(whole, found)))}


def _cosines(a: Floats, b: Floats) -> Floats:
    return np.array([[_cosine(one, other) for other in b] for one in a])


# Sums in any order, so that loops over the entries of a row become vector instructions.
kernel = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


@kernel
def fit_weights_in_place(  # type: ignore[no-untyped-def]
    indptr, indices, data, seen, components, shares, sums, pseudo_counts, steps, out
):
    """Write weights w of each CSR row x that make w @ components likely, drawn towards `shares`.

    Steps of EM for x ~ Poisson(w @ components) on the columns `seen`, where the components have
    the given sums. `pseudo_counts` more counts, distributed as in the average row, support the
    prior; their total is taken out again by the denominator. Rows without counts keep `out`.
    """
    n, k = len(indptr) - 1, len(components)
    expected, longest = 1e-300, 0
    for c in range(k):
        expected += shares[c] * sums[c]
    for row in range(n):
        longest = max(longest, indptr[row + 1] - indptr[row])
    counts, means, part = np.empty(longest), np.empty(longest), np.empty((k, longest))
    for row in range(n):
        size, total = 0, 0.0
        for place in range(indptr[row], indptr[row + 1]):
            if seen[indices[place]]:
                counts[size] = data[place]
                total += data[place]
                for c in range(k):
                    part[c, size] = components[c, indices[place]]
                size += 1
        if total <= 0.0:
            continue
        for c in range(k):
            out[row, c] = shares[c] * total / expected
        for _ in range(steps):
            for i in range(size):
                means[i] = 1e-300
            for c in range(k):
                weight = out[row, c]
                for i in range(size):
                    means[i] += weight * part[c, i]
            for i in range(size):
                means[i] = counts[i] / means[i]
            for c in range(k):
                moved = 0.0
                for i in range(size):
                    moved += means[i] * part[c, i]
                moved = moved * out[row, c] + pseudo_counts * shares[c] * sums[c] / expected
                out[row, c] = moved / (sums[c] * (1.0 + pseudo_counts / total))


@kernel
def subtract_likelihood_in_place(  # type: ignore[no-untyped-def]
    indptr, indices, data, seen, components, weights, flat, out
):
    """Subtract Σ x log(w @ components + flat) over the unseen entries of each CSR row from out."""
    k = len(components)
    for row in range(len(indptr) - 1):
        for place in range(indptr[row], indptr[row + 1]):
            column = indices[place]
            if not seen[column]:
                mean = flat[row]
                for c in range(k):
                    mean += weights[row, c] * components[c, column]
                out[row] -= data[place] * np.log(max(mean, 1e-300))
