"""How often 95 % intervals hold the truth, on data drawn from the model.

    python -m benchmarks.recovery.error_bars [--draws 200]
        [topics endmembers corners components]

Every draw has a truth of its own. Entries are counted by their size, since small ones cannot be
missed from below: an interval that begins at zero is one-sided. Wanted are 92 to 98 %. Topics
94.3 % (15 draws, probabilities above .001, from seed 9000 on); with 200 draws: endmembers 96.2 %,
corners 93.9 % (43000), components 96.5 % (of entries above zero 94.3 %; 23000).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from provenmf import factorize, find_topics, unmix, with_error_bars
from provenmf.datasets.corpora import topic_corpus
from provenmf.datasets.cubes import mixed_cube
from provenmf.metrics.matching import best_assignment, match_components
from provenmf.metrics.topics import top_words

Floats = NDArray[np.float64]
# By kind of entry: which of them the interval holds.
Covered = dict[str, NDArray[np.bool_]]
RESAMPLES = 25


def held(truth: Floats, lower: Floats, upper: Floats) -> NDArray[np.bool_]:
    """Entries whose interval holds the truth."""
    return np.asarray((truth >= lower - 1e-12) & (truth <= upper + 1e-12))


def topics(seed: int) -> Covered:
    """2000 documents, 200 words, 4 topics; by the true probability, and the 20 top words."""
    corpus = topic_corpus(2000, 200, 4, word_concentration=0.05, random_state=seed)
    found = find_topics(corpus.counts, 4, certify=False, n_resamples=RESAMPLES)
    bars = found.error_bars
    assert bars is not None
    truth = corpus.topics[:, found.word_columns]
    rows, columns = best_assignment(-np.abs(found.topics[:, None] - truth).sum(axis=2))
    truth = truth[columns[np.argsort(rows)]]
    ok = held(truth, bars.lower, bars.upper)
    listed = np.zeros_like(ok)
    np.put_along_axis(listed, top_words(found.topics, 20), True, axis=1)
    return {
        "20 top words": ok[listed],
        "probability above .001": ok[truth > 1e-3],
        "all": ok.ravel(),
    }


def endmembers(seed: int, **options: float) -> Covered:
    """40 × 40 pixels, 30 bands, 3 materials, 30 dB, 5 % pure pixels."""
    made = mixed_cube(40, 40, 30, 3, snr=30.0, random_state=seed, **options)
    found = unmix(made.cube, 3, certify=False, n_resamples=RESAMPLES)
    bars = found.error_bars
    assert bars is not None
    match = match_components(found.endmembers, made.endmembers)
    lower, upper = bars.lower[match.found_rows], bars.upper[match.found_rows]
    return {"all": held(made.endmembers, lower, upper).ravel()}


def corners(seed: int) -> Covered:
    """The same without pure pixels, abundances of at most .8."""
    return endmembers(seed, pure_share=0.0, most=0.8)


def components(seed: int) -> Covered:
    """HALS on 300 rows, 20 columns, 3 components of exclusive columns, noise of 10 % an entry."""
    rng = np.random.default_rng(seed)
    truth = rng.gamma(1.0, 1.0, (3, 20)) * (rng.random((3, 20)) < 0.6)
    truth[:, :3] = 1.5 * np.eye(3)
    data = (rng.dirichlet(np.full(3, 0.4), 300) * rng.gamma(5.0, 0.2, (300, 1))) @ truth
    data *= rng.gamma(100.0, 0.01, data.shape)
    result = factorize(data, 3, method="hals", random_state=0, certify=False)
    bars = with_error_bars(data, result, RESAMPLES, random_state=seed).error_bars
    assert bars is not None
    matched = match_components(truth, result.components).components_like_truth(truth)
    ok = held(np.asarray(matched), bars.lower, bars.upper)
    return {"entries above zero": ok[matched > 0], "all": ok.ravel()}


KINDS: dict[str, Callable[[int], Covered]] = {
    "topics": topics,
    "endmembers": endmembers,
    "corners": corners,
    "components": components,
}


def shares(kind: str, seeds: range) -> Iterator[tuple[str, float, int]]:
    """For each kind of entry the share that was held, and how many there were."""
    totals: dict[str, list[int]] = {}
    for seed in seeds:
        for name, ok in KINDS[kind](seed).items():
            total = totals.setdefault(name, [0, 0])
            total[0] += int(ok.sum())
            total[1] += ok.size
    for name, (right, number) in totals.items():
        yield name, right / max(number, 1), number


def main() -> None:
    """One JSON object a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=5000)
    chosen = parser.parse_args()
    for kind in chosen.kinds:
        began = time.process_time()
        for name, share, number in shares(
            kind, range(chosen.first_seed, chosen.first_seed + chosen.draws)
        ):
            row = {"kind": kind, "entries": name, "held": round(share, 4), "number": number}
            print(json.dumps({**row, "draws": chosen.draws}), flush=True)
        print(json.dumps({"kind": kind, "seconds": round(time.process_time() - began, 1)}))


if __name__ == "__main__":
    main()
