"""Judge signatures by channels of tumors that they were not fitted to.

Fitted and priced as in the search: sparse exposures under a negative binomial likelihood. With
weights of all signatures in every tumor, those that a tumor does not have would hide the few that
it has. What a signature gains differs between tumors by orders of magnitude. The expected gain is
half the information I by which the model with it can be told from the model without, and each gain
is divided by I + 4, so that a hypermutated tumor has one say, like the others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.signatures.model import (
    Extracted,
    Floats,
    Tumors,
    exposures_of,
    likelihoods,
    overdispersion,
)
from provenmf.certificate.judging import (
    SETTINGS,
    Model,
    block_of_columns,
    split_columns,
    with_all,
    with_flat,
)

ROUNDS = 3  # of overdispersion and exposures in turn
LITTLE = 4.0  # information, below which chance exceeds what a tumor says


class UnseenChannels:
    """Loss of likelihood in unseen channels against all signatures, as a share of information."""

    def __init__(self, rows: Floats, components: Floats, rng: np.random.Generator) -> None:
        counts, k = rows[rows.any(axis=1)], len(components)
        self.a, prevalence = 0.0, np.full(k, 0.5)
        for _ in range(ROUNDS):
            exposures = exposures_of(Tumors(counts, self.a), components, prevalence)
            self.found = Extracted(components, exposures)
            self.a, prevalence = overdispersion(counts, self.found), self.found.prevalence
        self.base = with_flat(components, 1.0 / components.shape[1])
        shares = exposures / np.maximum(exposures.sum(axis=1, keepdims=True), 1e-300)
        self.all = with_all(self.base, shares.mean(axis=0))
        means = self.found.means
        weights = Tumors(counts, self.a).weights(means)
        self.block = block_of_columns((counts - means) * np.sqrt(weights))

    def __call__(
        self, rows: Floats, models: list[Model], rng: np.random.Generator, rounds: int = 1
    ) -> Floats:
        """Return the loss of every row (lines) under every model (columns), zero for the first."""
        k, d = models[0].components.shape
        losses = np.zeros((len(rows), len(models)))
        for some, seen, unseen in split_columns(rows, d, k, rng, rounds, self.block):
            known, hidden = rows[some][:, seen], Tumors(rows[some][:, unseen], self.a)
            flat = SETTINGS.background * known.sum(axis=1, keepdims=True) / d
            of_all = self._exposures(known, self.found, seen)
            for t, model in enumerate(models):
                exposures = self._without(known, model, seen, of_all) if t else of_all
                means = flat + model.predicting(exposures) @ (model.mix @ self.base)[:, unseen]
                reached = likelihoods(hidden, means)
                if t == 0:
                    first, most = means, reached
                information = (means - first) ** 2 * hidden.weights((means + first) / 2)
                losses[some, t] += (most - reached) / (LITTLE + information.sum(axis=1))
        return losses / rounds

    def _without(
        self, known: Floats, model: Model, seen: NDArray[np.bool_], of_all: Floats
    ) -> Floats:
        """Return exposures to other signatures, fitted again where a changed one was used."""
        if model.mix is self.all.mix:
            return of_all
        parts = (model.mix[:, :-1] > 0).T.astype(np.float64)
        found = Extracted(model.mix @ self.base, self.found.exposures @ parts)
        exposures = of_all @ parts
        changed = of_all[:, ~(model.mix[:, :-1] == 1).any(axis=0)].any(axis=1)
        exposures[changed] = self._exposures(known[changed], found, seen, exposures[changed])
        return exposures

    def _exposures(
        self,
        known: Floats,
        found: Extracted,
        seen: NDArray[np.bool_],
        start: Floats | None = None,
    ) -> Floats:
        """Return sparse exposures by the seen channels."""
        sums = np.maximum(found.signatures[:, seen].sum(axis=1), 1e-12)
        profiles = np.ascontiguousarray(found.signatures[:, seen] / sums[:, None])
        tumors = Tumors(np.ascontiguousarray(known), self.a)
        start = None if start is None else start * sums
        return np.asarray(exposures_of(tumors, profiles, found.prevalence, start) / sums)
