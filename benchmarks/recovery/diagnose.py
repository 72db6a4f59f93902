"""Does `diagnose` recommend the method that made the data, and is `factorize` a good default?

Twelve generated sets, three for each paper's model (--seeds draws others), and with --data real
sets with known classes as parts of at most 200 rows and columns. For each: what `diagnose`
recommends at the true number; relative error and recovery (mean cosine of matched components with
the truth, where it is known) of `factorize(method="auto")`, of every method that auto may take or
`diagnose` tries, and of scikit-learn's NMF, the better of two starts.

The models overlap: rows that use one component each are cones and separable, and sparse Dirichlet
weights, as in the model of AND, leave rows that are nearly pure.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import chain
from pathlib import Path

import numpy as np
from benchmarks.recovery.rank_problems import real
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from provenmf import diagnose, factorize
from provenmf.advice.diagnose import advised_methods
from provenmf.datasets.and_descent import sample_dirichlet, topic_components
from provenmf.datasets.cones import paper_cones
from provenmf.datasets.purification import sample_purification
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.errors import DegenerateData, InvalidInput
from provenmf.methods import make_estimator
from provenmf.metrics.matching import match_components

K = 4


def generated(n=200, d=50, first=0):
    """(name, data, true components, methods whose theory is met), three seeds for each model."""
    seeds = range(first, first + 3)
    for seed in seeds:
        made = paper_cones(n, n_components=K, n_columns=d, random_state=seed)
        yield f"cones {seed}", made.data, made.components, ("cones", "merit")
    for seed, snr in zip(seeds, (np.inf, 40, 25), strict=True):
        made = dirichlet_mixtures(n, d, K, snr=snr, random_state=seed)
        right = ("spa", "merit")
        yield f"separable {seed}", np.maximum(made.data, 0), made.components, right
    for seed, level in zip(seeds, (0.0, 0.0, 0.05), strict=True):
        topics = topic_components(K, d, random_state=seed)
        made = sample_dirichlet(n, topics, concentration=0.5, noise_level=level, random_state=seed)
        yield f"AND {seed}", np.maximum(made.data, 0), made.components, ("and_descent",)
    for seed in seeds:
        made = sample_purification(n, d, K, random_state=seed)
        yield f"purification {seed}", np.maximum(made.data, 0), made.components, ("purification",)


def known_components(folder):
    """What the components of some real sets are said to be; all their columns are used."""
    truth = {}
    for name in ("samson", "jasper_ridge", "moffett"):
        truth[name] = np.load(folder / f"hyperspectral/{name}.npz")["E"].T.astype(float)
    pure = np.load(folder / "amino_acids/amino_acids.npz")["X"][:3]
    truth["amino acids"] = np.abs([np.linalg.svd(sample)[2][0] for sample in pure])
    truth["signatures"] = np.load(folder / "mutational_signatures/scenario8.npz")["W"].T
    return truth


def error(data, weights, components):
    return float(np.linalg.norm(data - weights @ components) / np.linalg.norm(data))


def recovery(components, truth):
    if truth is None:
        return float("nan")
    found = match_components(components, truth, signed=True)
    return float(np.abs(found.cosines).sum() / len(truth))


def scikit_learn(data, k):
    """The better of two starts."""
    best = None
    for init in ("nndsvda", "random"):
        model = NMF(k, init=init, max_iter=500, random_state=0)
        weights = model.fit_transform(data)
        found = error(data, weights, model.components_), model.components_
        best = found if best is None or found[0] < best[0] else best
    return best


def compare(name, data, truth, right, k):
    """A line for each set; what the summary needs."""
    found = diagnose(data, k)
    auto = factorize(data, k, random_state=0)
    nmf_error, nmf_components = scikit_learn(data, k)
    results = {
        "auto": (error(data, auto.weights, auto.components), recovery(auto.components, truth)),
        "sklearn": (nmf_error, recovery(nmf_components, truth)),
    }
    for method in ("hals", *advised_methods(), "purification"):
        try:
            fit = make_estimator(method, k, random_state=0, certify=False).fit(data).factorization_
            results[method] = (error(data, fit.weights, fit.components),
                               recovery(fit.components, truth))  # fmt: skip
        except InvalidInput:
            continue
    shown = "  ".join(f"{m} {e:.3f}/{r:.3f}" for m, (e, r) in results.items())
    said = found.recommended or "none"
    print(f"{name:16} {said:12} auto took {auto.method:6}  {shown}", flush=True)
    return {"name": name, "said": said, "right": right, "results": results}


def summary(rows):
    print(f"\n{'model':16}{'sets':>5}  recommended")
    models = dict.fromkeys(row["name"].split()[0] for row in rows)
    for model in models:
        own = [row for row in rows if row["name"].split()[0] == model]
        counts = {}
        for row in own:
            counts[row["said"]] = counts.get(row["said"], 0) + 1
        print(f"{model:16}{len(own):5d}  {counts}")
    excess = {
        r["name"]: r["results"]["auto"][0] / (r["results"]["sklearn"][0] + 1e-6) - 1 for r in rows
    }
    worse = [name for name in excess if excess[name] > 0.001]
    print(
        f"auto has a larger error than scikit-learn's NMF (by more than 0.1 %): {worse or 'never'}"
        f"; largest excess {max(excess.values()):.3%} ({max(excess, key=excess.get)})"
    )
    short = []
    for row in rows:
        singles = [r for m, (_, r) in row["results"].items() if m not in ("auto", "sklearn")]
        if row["results"]["auto"][1] < 0.9 * max(singles):  # never so where the truth is not known
            short.append(row["name"])
    print(f"auto recovers less than 0.9 of the best single method: {short or 'never'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sets")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0], metavar="FIRST",
                        help="first of three seeds, once for each twelve sets")  # fmt: skip
    parser.add_argument("--data", type=Path, help="directory of real data, used too")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", DegenerateData)
    size = (60, 20) if options.quick else (200, 50)
    problems = chain.from_iterable(generated(*size, first) for first in options.seeds)
    rows = [compare(*problem, K) for problem in problems]
    print("error/recovery")
    summary(rows)
    if options.data:
        rng = np.random.default_rng(0)
        truth = known_components(options.data)
        sets = real(options.data, rng, 200)
        rows = [compare(name, data, truth.get(name), (), k) for name, data, k in sets]
        summary(rows)


if __name__ == "__main__":
    main()
