"""Judge components by columns that are hidden in new rows: losses, rivals, and bets on the gains.

The columns of each row are split at random: weights are fitted to the *seen* columns and the
*unseen* ones are predicted, with all components and by models without component j. These drop j,
merge it with one of its two nearest neighbors, or let it absorb its part of the seen columns but
predict nothing (a component of one noisy column keeps the noise away from the others, and is
nothing real). The gain of row i is

    g_i(j) = loss(unseen_i; without j) − loss(unseen_i; all),

relative to the row's size: squared error for real data, Poisson likelihood for counts. A component
must beat the two best models without it, which the rows that found it choose: the smaller of the
two e-values counts, whose mean is ≤ 1 if either of them predicts as well. Columns are split, not
counts: thinned counts that vary more than Poisson counts predict each other, and components of one
column would be confirmed on noise. Neighboring columns whose residuals are alike, such as channels
of a smooth spectrum, are hidden together: they predict each other, whatever the components are.

The test bets against H0: E clip(g, ±c) ≤ 0 (Waudby-Smith & Ramdas 2024). With λ ≤ 1/c the product
of 1 + λ clip(g_i) has mean ≤ 1 under H0, and so has its average over several λ: it is an e-value,
whose inverse bounds the error probability for every distribution, heavy tails included, wherever
it stops. The clip c is chosen by the rows that found the components.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import logsumexp

from provenmf.linalg.compiled import njit
from provenmf.linalg.nnls import nonnegative_least_squares
from provenmf.linalg.norms import unit_rows
from provenmf.linalg.storage import as_dense

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Rows = Any  # ndarray or CSR array


@dataclass(frozen=True)
class Settings:
    """Numbers of the test, which are about power and cost, not validity."""

    bets: tuple[float, ...] = (0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 0.99)  # λc, averaged
    clip_quantile: float = 0.98  # of |gain| in the half that finds; at least its root mean square
    neighbors: int = 2  # a component may be merged with: two copies of one are both replaceable
    rivals: int = 2  # best models without a component that it must beat, chosen in the finding half
    masks: int = 8  # random splits of the columns, at most, of rows that judge together
    sharing: int = 32  # rows that share a split, at least
    rounds: int = 3  # splits of each row, whose gains are averaged; fewer of more entries
    entries: int = 100_000
    alike_columns: float = 0.2  # correlation of residuals up to which neighbors are independent
    dense_entries: int = 200_000  # of rows whose residuals are compared
    first: int = 125  # units that judge; then as many again as have judged, until beyond doubt
    fair: int = 1000  # that judge a component before it may be given up
    most: int = 8000  # of each half
    # Rows of the half that finds, to choose rivals and clip: fewer of more entries.
    trial_rows: tuple[int, int] = (100, 400)
    # Prior strengths tried in the half that finds, in counts: entries that vary far more than
    # Poisson counts say little about their row.
    pseudo_counts: tuple[float, ...] = (0.5, 2.0, 8.0, 30.0, 120.0, 500.0, 2000.0, 8000.0)
    em_steps: int = 30  # for the weights of counts: early stopping costs all models alike
    rival_steps: int = 10  # from the weights with all components
    background: float = 1e-3  # share of a flat profile in predictions, so that none is zero


SETTINGS = Settings()


class Model(NamedTuple):
    """Components with the mean share of each in a row.

    They are mix (k', k + 1) @ base, where `base` has all components and a flat one, and are stored
    column by column, as they are read. One of them may be `absorbed`: it takes its part of the seen
    columns, but in the unseen ones its weight is the mean share of the others' weights, so that it
    predicts nothing of a row.
    """

    components: Floats
    mix: Floats
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


class Loss(Protocol):
    """Loss of rows whose seen columns the weights are fitted to.

    `base` and `all` are those of the model with all components.
    """

    base: Floats
    all: Model

    def __call__(
        self, rows: Rows, models: list[Model], rng: np.random.Generator, rounds: int = 1
    ) -> Floats:
        """Return the loss of every row (lines) under every model (columns).

        The first model has all components. Every row is split `rounds` times.
        """


LossOf = Callable[[Rows, Floats, np.random.Generator], Loss]  # of rows that found the components


def log_evalues(
    data: Rows,
    components: Floats,
    finders: Indices,
    judges: Indices,
    units: Indices,
    loss_of: LossOf,
    rng: np.random.Generator,
    asked: Sequence[int],
    enough: float,
) -> Floats:
    """Return the log e-values of the components asked for, found by `finders`, by other rows.

    `finders` and `judges` are rows of `data`; `units` numbers the independent unit of each row.
    More and more rows judge a component while they speak for it, until its log e-value is `enough`.
    A bet may stop at any time.
    """
    in_a_row = (data.nnz if sp.issparse(data) else data.size) / data.shape[0]
    trials = int(np.clip(SETTINGS.entries / max(in_a_row, 1), *SETTINGS.trial_rows))
    trial = np.sort(rng.choice(finders, min(trials, len(finders)), replace=False))
    loss = loss_of(data[trial], components, rng)
    rivals = _best_without(loss, data[trial], units[trial], asked, rng)
    log_e, judged = np.zeros(len(rivals)), 0
    undecided = list(range(len(rivals)))
    wealth = np.zeros((len(rivals), SETTINGS.rivals, len(SETTINGS.bets)))
    for rows in _batches(judges, units, rng):
        models = [model for i in undecided for model in rivals[i].models]
        rounds = int(np.clip(SETTINGS.entries / max(in_a_row * len(rows), 1), 1, SETTINGS.rounds))
        lost = loss(data[rows], [loss.all, *models], rng, rounds)
        gains = _by_unit(lost[:, 1:] - lost[:, :1], units[rows])
        ends = np.cumsum([0, *(len(rivals[i].models) for i in undecided)])
        for i, (first, last) in zip(undecided, pairwise(ends)):
            won = _log_wealth(gains[:, first:last], rivals[i].clips)
            wealth[i, : last - first] += won
            log_e[i] = _log_evalue(wealth[i, : last - first])
        judged += len(gains)
        least = 0.0 if judged >= SETTINGS.fair else -np.inf
        undecided = [i for i in undecided if least < log_e[i] < enough]
        if not undecided:
            break
    return log_e


class Rivals(NamedTuple):
    """The best models without a component, and the clip of the gain over each."""

    models: list[Model]
    clips: Floats


def _best_without(
    loss: Loss, rows: Rows, units: Indices, asked: Sequence[int], rng: np.random.Generator
) -> list[Rivals]:
    """Return the rivals of the components that are asked for in the rows that found them."""
    without = [_without(loss.base, loss.all, j) for j in asked]
    models = [model for some in without for model in some]
    lost = loss(rows, [loss.all, *models], rng)
    size = np.abs(_by_unit(lost[:, 1:] - lost[:, :1], units))
    clips = np.maximum(
        np.quantile(size, SETTINGS.clip_quantile, axis=0), np.sqrt(np.mean(size**2, axis=0))
    )
    means, found, start = lost[:, 1:].mean(axis=0), [], 0
    for some in without:
        best = start + np.argsort(means[start : start + len(some)])[: SETTINGS.rivals]
        found.append(Rivals([models[place] for place in best], clips[best]))
        start += len(some)
    return found


def _batches(rows: Indices, units: Indices, rng: np.random.Generator) -> Iterator[Indices]:
    """Divide units at random into batches, each as large as all before; keep few rows of each."""
    rows = rng.permutation(rows)
    rows = rows[np.argsort(rng.permutation(units.max() + 1)[units[rows]], kind="stable")]
    starts = np.flatnonzero(np.diff(units[rows], prepend=-1))
    lengths = np.diff(np.append(starts, len(rows)))
    number = np.repeat(np.arange(len(starts)), lengths)
    some = np.arange(len(rows)) - starts[number] < max(1, SETTINGS.fair // len(starts))
    rows, number = rows[some], number[some]
    first, last = 0, SETTINGS.first
    while first < min(len(starts), SETTINGS.most):
        yield np.sort(rows[(first <= number) & (number < last)])
        first, last = last, 2 * last


def _by_unit(gains: Floats, units: Indices) -> Floats:
    """Return the mean gain over the rows of each unit."""
    _, place, size = np.unique(units, return_inverse=True, return_counts=True)
    sums = np.zeros((len(size), gains.shape[1]))
    np.add.at(sums, place, gains)
    return sums / size[:, None]


def _log_wealth(gains: Floats, clips: Floats) -> Floats:
    """Return the log wealth of each bet (columns) on the clipped gains over each rival."""
    clips = np.where((clips > 0) & np.isfinite(clips), clips, np.inf)
    share = np.clip(np.nan_to_num(gains) / clips, -1.0, 1.0)
    return np.array([np.log1p(bet * share).sum(axis=0) for bet in SETTINGS.bets]).T


def _log_evalue(wealth: Floats) -> float:
    """Return the logarithm of the mean over bets, for the best rival."""
    return float(np.min(logsumexp(wealth, axis=1)) - np.log(wealth.shape[1]))


def with_all(base: Floats, shares: Floats) -> Model:
    """Return the model with all components."""
    shares = shares / max(shares.sum(), np.finfo(float).tiny)
    return Model(np.asfortranarray(base[:-1]), np.eye(len(base))[:-1], shares)


def _without(base: Floats, model: Model, j: int) -> list[Model]:
    """Return models without component j: dropped, absorbed, or merged with a near neighbor."""
    every, shares = model.mix, model.shares
    if len(every) == 1:
        return [Model(np.asfortranarray(base[1:]), np.eye(2)[1:], np.ones(1))]
    keep = np.arange(len(every)) != j
    left = shares[keep] / max(shares[keep].sum(), np.finfo(float).tiny)
    dropped = Model(np.asfortranarray(base[:-1][keep]), every[keep], left)
    models = [dropped, model._replace(absorbed=j)]
    near = cosines(base[j : j + 1], base[:-1])[0]
    near[j] = -np.inf
    for other in np.argsort(-near)[: min(SETTINGS.neighbors, len(every) - 1)]:
        mix, pooled = every.copy(), shares.copy()
        pooled[other] += shares[j]
        part = shares[j] / pooled[other] if pooled[other] > 0 else 0.5
        mix[other] = part * every[j] + (1 - part) * every[other]
        models.append(Model(np.asfortranarray((mix @ base)[keep]), mix[keep], pooled[keep]))
    return models


def with_flat(components: Floats, flat: float) -> Floats:
    """Return the components and a flat one."""
    return np.vstack([components, np.full((1, components.shape[1]), flat)])


class Reals:
    """Relative squared error of unseen columns, weights by nonnegative least squares."""

    def __init__(self, rows: Rows, components: Floats, rng: np.random.Generator) -> None:
        sizes = np.linalg.norm(components, axis=1, keepdims=True)
        components = components / np.where(sizes > 0, sizes, 1.0)
        weights = nonnegative_least_squares(
            components @ components.T, np.asarray(rows @ components.T)
        )
        self.base = with_flat(components, float(components.mean()))
        self.all = with_all(self.base, weights.mean(axis=0))
        some = _few(rows)
        self.block = block_of_columns(as_dense(rows[some]) - weights[some] @ components)

    def __call__(
        self, rows: Rows, models: list[Model], rng: np.random.Generator, rounds: int = 1
    ) -> Floats:
        """Return the loss of every row (lines) under every model (columns)."""
        k, d = models[0].components.shape
        losses = np.zeros((rows.shape[0], len(models)))
        for some, seen, unseen in split_columns(rows, d, k, rng, rounds, self.block):
            known, hidden = rows[some][:, seen], rows[some][:, unseen]
            inner, outer = self.base[:, seen], self.base[:, unseen]
            gram, cross = inner @ inner.T, np.asarray(known @ inner.T)
            gram_hidden, cross_hidden = outer @ outer.T, np.asarray(hidden @ outer.T)
            squares = _squared_norms(hidden)
            size = _squared_norms(known) / seen.sum() * unseen.sum()
            size = np.where(size > 0, size, 1.0)
            fitted: dict[int, Any] = {}  # absorbed components share the weights of all components
            for t, (_, mix, *_) in enumerate(models):
                if id(mix) not in fitted:
                    of_mix = nonnegative_least_squares(mix @ gram @ mix.T, cross @ mix.T)
                    fitted[id(mix)] = of_mix
                weights = models[t].predicting(fitted[id(mix)]) @ mix
                fit = np.einsum("ij,ij->i", weights, weights @ gram_hidden - 2 * cross_hidden)
                losses[some, t] += (squares + fit) / size
        return losses / rounds


class Counts:
    """Poisson loss per count of unseen columns, weights by EM with pseudo-counts of the half."""

    def __init__(self, rows: Rows, components: Floats, rng: np.random.Generator) -> None:
        sums = np.maximum(components, 0.0).sum(axis=1, keepdims=True)
        H = np.where(sums > 0, np.maximum(components, 0.0) / np.where(sums > 0, sums, 1.0), 0.0)
        self.base, self.pseudo_counts = with_flat(H, 1.0 / H.shape[1]), 0.5
        self.all = with_all(self.base, np.ones(len(H)))
        weights = self.weights(sp.csr_array(rows))
        shares = (weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)).mean(axis=0)
        self.all = with_all(self.base, shares)
        some = _few(rows)
        means = weights[some] @ H
        left = (as_dense(rows[some]) - means) / np.sqrt(np.maximum(means, 1e-12))
        self.block = block_of_columns(left)
        seed, least = int(rng.integers(2**31)), np.inf
        for strength in SETTINGS.pseudo_counts:
            before, self.pseudo_counts = self.pseudo_counts, strength
            mean = self(rows, [self.all], np.random.default_rng(seed)).mean()
            if not mean < least:  # the best is passed
                self.pseudo_counts = before
                break
            least = mean

    def weights(self, rows: sp.csr_array) -> Floats:
        """Return weights of all components in each row."""
        every = np.ones(self.base.shape[1])
        return self._fitted(rows, self.all, every > 0, self.base @ every, rows @ every)

    def _fitted(
        self,
        rows: sp.csr_array,
        model: Model,
        seen: NDArray[np.bool_],
        sums: Floats,
        totals: Floats,
        of_all: Floats | None = None,
    ) -> Floats:
        """Return weights of each row by its seen columns, from those of all components if given.

        `sums` are those of the base, `totals` those of the rows, over the seen columns.
        """
        sums = model.mix @ sums + 1e-12
        expected = model.shares @ sums + 1e-300
        if of_all is None:
            parts = (model.shares / expected)[None]
            weights, steps = np.asarray(totals[:, None] @ parts), SETTINGS.em_steps
        else:
            parts = (model.mix[:, :-1] > 0).T.astype(np.float64)
            parts[~parts.any(axis=1)] = model.shares  # of what is dropped
            weights, steps = of_all @ parts, SETTINGS.rival_steps
        prior = self.pseudo_counts * model.shares * sums / expected
        entries = rows.indptr, rows.indices, rows.data, seen
        improve_weights_in_place(
            *entries, model.components, prior, sums, self.pseudo_counts, steps, weights
        )
        return weights

    def __call__(
        self, rows: Rows, models: list[Model], rng: np.random.Generator, rounds: int = 1
    ) -> Floats:
        """Return the loss of every row (lines) under every model (columns)."""
        k, d = models[0].components.shape
        losses = np.zeros((rows.shape[0], len(models)))
        for some, seen, unseen in split_columns(rows, d, k, rng, rounds, self.block):
            own, hidden = sp.csr_array(rows[some]), unseen.astype(np.float64)
            inner, outer = self.base @ (1.0 - hidden), self.base @ hidden
            size, totals = np.maximum(own @ hidden, 1.0), own @ (1.0 - hidden)
            flat = SETTINGS.background * totals / d
            of_all = self._fitted(own, models[0], seen, inner, totals)
            for t, model in enumerate(models):
                fitted = of_all
                if model.mix is not models[0].mix:
                    fitted = self._fitted(own, model, seen, inner, totals, of_all)
                weights = model.predicting(fitted)
                loss = weights @ (model.mix @ outer) + flat * unseen.sum()
                entries = own.indptr, own.indices, own.data, seen
                subtract_likelihood_in_place(*entries, model.components, weights, flat, loss)
                losses[some, t] += loss / size
        return losses / rounds


def posterior_shares(rows: Rows, components: Floats) -> Floats:
    """Return the share of each component in every row of counts, weighted as in the test."""
    judge = Counts(rows, components, np.random.default_rng(0))
    weights = judge.weights(sp.csr_array(rows))
    sums = weights.sum(axis=1, keepdims=True)
    return np.where(sums > 0, weights / np.where(sums > 0, sums, 1.0), judge.all.shares)


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
    """Return the first rows, as many as may be made dense."""
    return slice(max(2, SETTINGS.dense_entries // rows.shape[1]))


def split_columns(
    rows: Rows, d: int, k: int, rng: np.random.Generator, rounds: int, block: int
) -> list[tuple[Indices, NDArray[np.bool_], NDArray[np.bool_]]]:
    """Give each row a few random splits of the columns in seen and unseen blocks."""
    hidden = max(1, min(d // 2, d - 2 * k))
    splits, masks = [], int(np.clip(rows.shape[0] // SETTINGS.sharing, 1, SETTINGS.masks))
    for _ in range(rounds):
        mask = rng.integers(0, masks, rows.shape[0])
        for number in range(masks):
            blocks = (np.arange(d) + rng.integers(block)) // block
            places = rng.permutation(blocks[-1] + 1)[blocks]
            unseen = np.zeros(d, dtype=bool)
            unseen[np.argpartition(places, hidden - 1)[:hidden]] = True
            some = np.flatnonzero(mask == number)
            if len(some):
                splits.append((some, ~unseen, unseen))
    return splits


def _squared_norms(rows: Rows) -> Floats:
    squares = rows.multiply(rows) if sp.issparse(rows) else rows * rows
    return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()


def cosines(a: Floats, b: Floats) -> Floats:
    """Return the cosine of every row of a with every row of b; zero for a row of zeros."""
    return np.asarray(unit_rows(a) @ unit_rows(b).T)


# Sums in any order, so that loops over the entries of a row become vector instructions.
kernel = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


@kernel
def improve_weights_in_place(  # type: ignore[no-untyped-def]
    indptr, indices, data, seen, components, prior, sums, pseudo_counts, steps, out
):
    """Improve weights w of each CSR row x, so that w @ components and the prior are likelier.

    Steps of EM for x ~ Poisson(w @ components) on the columns `seen`, where the components have
    the given sums. `prior` are more counts of each component, `pseudo_counts` in total, which the
    denominator takes out again. Rows without counts keep `out`.
    """
    n, k = len(indptr) - 1, len(components)
    longest = 0
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
                out[row, c] = (moved * out[row, c] + prior[c]) / (
                    sums[c] * (1.0 + pseudo_counts / total)
                )


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
