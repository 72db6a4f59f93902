"""Every clause of every claim can fail: forged results must change the verdict.

`GOOD` has tables of which every clause holds, written by hand. A mutant changes a few entries so
that one clause is violated and no other.
"""

import copy
import itertools

import pytest

from provenmf.reproduce.catalogue import experiments
from provenmf.reproduce.claims import swapped, verdict_of
from provenmf.reproduce.results import judge_again, read_record

EXPERIMENTS = experiments()
AND, ADAPTIVE = "AND", "AND, adaptive"
BINARY = "Binary weights, α = 1/4"
DB, START = "SNR (dB)", "‖E‖_s of the start"


def line(method, ratio, *, late=0.9, rise=1.0, seconds=10.0, relative=1e-6, error=1e-3, **same):
    row = {**same, "method": method, "error": error, "error / start": ratio, "seconds": seconds}
    return {**row, "relative error": relative, "late factor": late, "largest rise": rise}


def both(ratio, **same):
    return [line(AND, ratio, **same), line(ADAPTIVE, ratio, **same)]


def topics_and(*, hals):
    others = [line("HALS", hals, seconds=60.0, rise=1.2), line("ANLS", 1e-4, seconds=60.0)]
    return [*both(1e-8), *others, line("MU", 0.1), line("LDA", 0.1)]


def signed_and():
    names = ("HALS", "ANLS", "HALS, signed features", "ANLS, signed features")
    return [*both(1e-8), *(line(name, 0.5) for name in names)]


def schemes():
    constants = [line(f"constant {c}", 0.3, late=1.0) for c in ("0.1", "0.0001")]
    return [line(AND, 1e-8), line(ADAPTIVE, 1e-8), *constants]


def levels(values, **columns):
    """Rows by SNR or K: columns are functions of the level."""
    return [{name: f(v) if callable(f) else f for name, f in columns.items()} for v in values]


def rates(snrs):
    return [
        {DB: s, "trials": 50, "SPA": float(s >= 25), "FastGradient": float(s >= 16)}
        | {"MERIT": float(s >= 10), "our MERIT": float(s >= 9)}
        for s in snrs
    ]


def by_snr(name, spa, gradient, merit):
    return [
        {DB: s, "trials": 50, "SPA": spa, "FastGradient": gradient, "MERIT": merit, "our MERIT": 0}
        for s in (7, 10, 20)
    ]


def table_1(values):
    rows = []
    for k, (spa, gradient, merit) in zip((40, 50, 60, 70), values):
        row = {"K": k, "trials": 50, "SPA": spa, "FastGradient": gradient, "MERIT": merit}
        rows.append({**row, "our MERIT": merit, "printed MERIT": merit})
    return rows


def table_2(corpus, ours, others):
    def means(value):
        return {f"K={k}": value for k in range(3, 11)}

    names = ("SPA", "FastAnchor", "XRAY", "FastGradient", "LDA")
    rows = [{"method": n, "origin": "ours", "trials": 10, **means(others)} for n in names]
    for name, value in zip(("MERIT", "MERIT(0)"), ours):
        rows.append({"method": name, "origin": "ours", "trials": 10, **means(value)})
    return rows


def memory(size):
    row = {"n": size, "MERIT MB": 100.0, "our MERIT MB": 50.0}
    return {"Peak memory": [row | {"four n × n matrices MB": 30000.0}]}


SNRS = (7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 22, 25)
GOOD = {
    "and-fig1": {
        "DIR": topics_and(hals=1e-4),
        "CTM": topics_and(hals=1e-4),
        "NEG": signed_and(),
    },
    "and-fig2": {
        "Thresholds on DIR": schemes(),
        "Thresholds on CTM": schemes(),
        "Noise on CTM": [
            row
            for level in (0.1, 0.01, 0.001)
            for row in both(0.1, late=1.0, error=level, **{"noise level": level})
        ],
    },
    "and-fig3": {
        "Starts, in-span": [row for r in (1.0, 2.0) for row in both(1e-6, size=r)],
        "Starts, out-of-span": [row for r in (0.1, 1.0) for row in both(1e-6, size=r)],
    },
    "and-fig4": {
        "Sparsity": [row for a in (1, 20) for row in both(1e-6, α=a)]
        + both(0.2, relative=0.05, α=80)
    },
    "and-theorems": {
        BINARY: [
            line(m, 1e-9, weights=w) for m in (AND, ADAPTIVE) for w in ("independent", "pairs")
        ],
        "Weights of Section 6.1": both(0.3, error=1.0, absorbed=1.0),
        "Bounded noise": [
            {"noise": kind, "γ₂": g, "error": 0.1 * g, "bound": g}
            for kind in ("random", "adversarial")
            for g in (0.01, 0.1)
        ],
    },
    "purification-potential": {
        "Coupled potential": [{"β": 7.8, "first": 1.0, "last": 0.01, "largest factor": 0.99}]
    },
    "merit-lemmas": {
        "Without noise": [
            {"entries outside the anchors": 0, "smallest gap": 1e-6, "ω √K / 2": 0.1}
            | {"smallest maximum of an anchor": 0.95}
        ]
        * 20,
        "Warm start": [{"smallest difference": 0.01, "bound": 0.001}] * 20,
    },
    "and-table1": {
        "Measures of 10 topics": [
            {"method": m, "seed": s, "coherence": -400.0, "shared words": 30, "ClustAcc": 0.25}
            for m, s in [*((AND, s) for s in range(5)), ("NMF (scikit-learn)", 0)]
        ]
        + [
            {"method": "LDA (scikit-learn)", "seed": 0, "coherence": -420.0}
            | {"shared words": 35, "ClustAcc": 0.2}
        ]
    },
    "and-fig5": {
        "Six components of the faces": [
            {"method": m, "relative error": e, "negative share": n}
            for m, e, n in (
                (AND, 0.16, 0.01),
                ("NMF (scikit-learn)", 0.16, 0.0),
                ("k-means", 0.2, 0.0),
                ("PCA", 0.15, 0.4),
                ("ICA", 0.15, 0.4),
                ("dictionary learning", 0.15, 0.4),
                ("sparse PCA", 0.15, 0.4),
            )
        ]
    },
    "purification-theorem1": {
        "Without noise": [
            {"eta": "1/60 (proof)", "mean factor": 0.98, "last": 1e-10},
            {"eta": "1/2 (solver)", "mean factor": 0.5, "last": 1e-12},
        ],
        "Adversarial noise": [
            {"adversary": a, "c": c, "effective c": c, "signal": 1.9}
            | {"E": 0.2 * c, "N": 0.4 * c, "error": 0.6 * c}
            for a in ("decoding", "features")
            for c in (0.01, 0.1, 1.0)
        ],
    },
    "purification-theorem2": {
        "Dominant noise": [
            {"k": 16, "noise": noise, "error": e, "error / ‖ν‖₁": e / 4, "1/√k": 0.25}
            for noise, e in (
                ("none", 0.1),
                ("unbiased", 0.5),
                ("unbiased, depends on x", 0.4),
                ("adversarial", 2.0),
            )
        ]
    },
    "purification-pseudo-inverse": {
        "Left inverses": [
            {"overlap": o, "effective c": 0.3, "min-inf worst weight": 0.1, "min-inf final E": 0.1}
            | {"moore-penrose worst weight": 0.2, "moore-penrose final E": 0.2}
            for o in (0.0, 0.5)
        ]
    },
    "purification-starts": {
        "Starts": [
            {START: s, "worst": 0.2, "sampling error": 0.1, "c": 0.1, "trials": 5}
            for s in (0.0, 0.1, 4.0)
        ]
    },
    "purification-theorem6": {
        "Linear sparsity s = G k": [
            {"G = s/k": g, "E without noise": 1e-10, "N without noise": 1e-12, "c": 0.1}
            | {"E with noise": 0.02, "N with noise": 0.04}
            for g in (0.1, 0.25, 0.4)
        ]
    },
    "purification-theorem7": {
        "Cases": [{"case": c, "c": 0.5, "error": 0.05, "power": -0.5} for c in "ab"],
        "Unequal proportions": [
            {"balanced": b, "iterations to 1e-6": n, "E at the end": 1e-10}
            for b, n in ((False, 40), (True, 30))
        ],
    },
    "cones-fig1": {
        "Relative errors, means of all runs": [
            {"n": n, "runs": 10, "Alg2": 0.08, "above a bound": 0, "Mult": 0.08, "Als": 0.1}
            | {"Theorem 4": 0.3, "largest Als": 0.5, "Alg2+Als": 0.02, "our Alg2+HALS": 0.02}
            for n in (100, 1000, 10_000)
        ]
    },
    "cones-theorem5": {
        title: [{"K": 3, "K found": 3, "error": 0.1, "bound": 0.2}]
        for title in ("Unknown K", "Real data")
    },
    "cones-table1": {
        "Seconds": [
            {"n": n, "Alg2": 0.5, "Mult": 1.0, "Alg2+Als": 1.1, "our Alg2": 0.1}
            for n in (100, 1000)
        ]
    },
    "merit-fig2": {"success rate": rates(SNRS)},
    "merit-fig3": {
        "MRSA, 0 to 100": by_snr("MRSA", 20.0, 10.0, 0.0),
        "RAE": by_snr("RAE", 0.6, 0.7, 0.75),
    },
    "merit-fig4": {
        "success rate": [
            {DB: s, "trials": 50, "SPA": 0.0, "FastGradient": float(s > 8), "MERIT": float(s > 7)}
            for s in (6, 8, 10, 12)
        ],
        "Peak memory of a fit beyond the data, MB": [
            {"n": 1000, "FastGradient": 50.0, "MERIT": 5.0, "our MERIT": 5.0},
            {"n": 10_000, "FastGradient": 4900.0, "MERIT": 50.0, "our MERIT": 50.0},
        ],
    },
    "merit-table1": {
        "success rate": table_1([(0.98, 0.98, 1.0), (0.84, 1, 1.0), (0.42, 1, 1.0), (0, 1, 1.0)]),
        "MRSA, 0 to 100": table_1([(17.5, 16.6, 16.6)] * 4),
        "RAE": table_1([(0.76, 0.77, 0.77)] * 4),
    },
    "merit-fig5": {
        "by λ": [
            {"λ": 0.1, "trials": 30, "8 dB": 0.0, "12 dB": 1.0},
            {"λ": 1.0, "trials": 30, "8 dB": 0.8, "12 dB": 1.0},
        ],
        "by μ": [{"μ": m, "8 dB": 0.5, "12 dB": 1.0} for m in (1e-5, 1e-3)],
    },
    "merit-table2": {
        "ClustAcc on tdt2": table_2("tdt2", (0.85, 0.84), 0.75),
        "Coherence on tdt2": table_2("tdt2", (-380.0, -390.0), -420.0),
        "ClustAcc on reuters21578": table_2("reuters21578", (0.55, 0.54), 0.5),
    },
    "merit-table4": {
        "SRC": [
            {"network": f"DBLP{i}", "GeoNMF": 0.25, "SPOC": 0.25, "MERIT": 0.3, "MERIT(0)": 0.29}
            | {"FastGradient": 0.2, "printed MERIT": 0.3, "printed MERIT(0)": 0.29}
            for i in (1, 2, 3, 4)
        ]
    },
    "merit-fig6": memory(20_000),
    "merit-fig7": memory(6500),
}
CASES = "Relative errors, means of all runs"
NEWS, FACES = "Measures of 10 topics", "Six components of the faces"
DOMINANT, SPARSE = "Dominant noise", "Linear sparsity s = G k"
FIT_MEMORY = "Peak memory of a fit beyond the data, MB"
# (table, which rows, column, forged value); several of them where one entry is not enough.
MUTANTS = {
    "and-fig1": {
        "and-converges": [("NEG", {"method": AND}, "error / start", 1e-3)],
        "and-linear-rate": [("DIR", {"method": AND}, "late factor", 0.99)],
        "hals-converges": [("DIR", {"method": "HALS"}, "error / start", 0.5)],
        "hals-slower": [("DIR", {"method": "HALS"}, "seconds", 1.0)],
        "hals-oscillates": [("CTM", {"method": "HALS"}, "largest rise", 0.9)],
        "hals-fails-on-neg": [("NEG", {"method": "HALS"}, "error / start", 1e-6)],
        "anls-slower": [("CTM", {"method": "ANLS"}, "seconds", 0.1)],
        "others-fail": [("CTM", {"method": "MU"}, "error / start", 1e-6)],
        "signed-features-fail": [
            ("NEG", {"method": "ANLS, signed features"}, "error / start", 1e-6)
        ],
    },
    "and-fig2": {
        "decreasing-falls": [("Thresholds on CTM", {"method": AND}, "error / start", 0.1)],
        "constant-stops": [("Thresholds on DIR", {"method": "constant 0.1"}, "late factor", 0.9)],
        "constant-stays-far": [
            ("Thresholds on DIR", {"method": "constant 0.0001"}, "error / start", 1e-7)
        ],
        "noise-first-drops": [("Noise on CTM", {"noise level": 0.1}, "error / start", 1.1)],
        "noise-stabilizes": [("Noise on CTM", {"noise level": 0.01}, "late factor", 0.9)],
        "noise-level-decides": [("Noise on CTM", {}, "error", 0.01)],
    },
    "and-fig3": {
        "in-span": [("Starts, in-span", {"size": 2.0}, "error / start", 0.2)],
        "in-span-exponential": [("Starts, in-span", {"size": 2.0}, "late factor", 0.99)],
        "out-of-span": [("Starts, out-of-span", {"size": 1.0}, "relative error", 0.2)],
    },
    "and-fig4": {
        "converges-to-20": [("Sparsity", {"α": 20}, "error / start", 0.2)],
        "exponential-to-20": [("Sparsity", {"α": 20}, "late factor", 1.0)],
        "small-error-at-80": [("Sparsity", {"α": 80}, "relative error", 0.3)],
    },
    "and-theorems": {
        "binary-recovered": [(BINARY, {"weights": "independent"}, "error / start", 0.1)],
        "highest-correlation": [(BINARY, {"weights": "pairs"}, "error / start", 0.1)],
        "section-6.1-fails": [("Weights of Section 6.1", {"method": AND}, "error", 1e-9)],
        "bounded-noise": [("Bounded noise", {"noise": "adversarial"}, "bound", 1e-4)],
        "noise-proportional": [("Bounded noise", {"noise": "random"}, "error", 1e-3)],
    },
    "purification-potential": {
        "coupled-decreases": [("Coupled potential", {}, "largest factor", 1.01)],
        "ends-small": [("Coupled potential", {}, "last", 0.9)],
    },
    "merit-lemmas": {
        "support-in-anchors": [("Without noise", {}, "entries outside the anchors", 1)],
        "fact-1": [("Without noise", {}, "smallest gap", 0.0)],
        "lemma-1-condition": [("Without noise", {}, "ω √K / 2", 1.5)],
        "lemma-1": [("Without noise", {}, "smallest maximum of an anchor", 0.5)],
        "proposition-1": [("Warm start", {}, "smallest difference", 1e-9)],
    },
    "and-table1": {
        "coherent": [(NEWS, {"method": AND}, "coherence", -425.0)],
        "distinct": [(NEWS, {"method": AND}, "shared words", 36)],
        "agree-with-groups": [(NEWS, {"method": AND}, "ClustAcc", 0.19)],
    },
    "and-fig5": {
        "fit-like-nmf": [(FACES, {"method": AND}, "relative error", 0.19)],
        "meaningful-images": [(FACES, {"method": AND}, "negative share", 0.2)],
        "better-than-others": [
            (FACES, {"method": m}, "negative share", 0.0) for m in ("PCA", "ICA")
        ]
        + [(FACES, {"method": "sparse PCA"}, "negative share", 0.0)],
    },
    "purification-theorem1": {
        "geometric-rate": [("Without noise", {"eta": "1/60 (proof)"}, "mean factor", 0.9999)],
        "arbitrarily-small": [("Without noise", {"eta": "1/60 (proof)"}, "last", 0.01)],
        "error-up-to-c": [("Adversarial noise", {"c": 0.1}, "N", 0.2)],
        "proportional": [("Adversarial noise", {"c": 0.01}, "error", 0.1)],
        "noise-as-large-as-signal": [("Adversarial noise", {}, "signal", 10.0)],
    },
    "purification-theorem2": {
        "noise-dominates": [(DOMINANT, {"noise": "none"}, "error", 0.5)],
        "error-over-sqrt-k": [(DOMINANT, {"noise": "unbiased, depends on x"}, "error / ‖ν‖₁", 0.3)],
        "adversarial-is-worse": [(DOMINANT, {"noise": "adversarial"}, "error", 0.4)],
    },
    "purification-pseudo-inverse": {
        "more-robust": [("Left inverses", {"overlap": 0.5}, "moore-penrose worst weight", 0.05)],
        "purification-succeeds": [("Left inverses", {"overlap": 0.5}, "min-inf final E", 1.0)],
    },
    "purification-starts": {
        "tenth-is-sufficient": [
            ("Starts", {START: 0.1}, "worst", 0.5),
            ("Starts", {START: 0.0}, "worst", 0.5),
        ],
        "start-does-not-matter": [("Starts", {START: 0.1}, "worst", 0.25)],
    },
    "purification-theorem6": {
        "linear-sparsity": [(SPARSE, {"G = s/k": 0.1}, "E without noise", 1e-2)],
        "mixing-within-bound": [(SPARSE, {"G = s/k": 0.1}, "E with noise", 0.06)],
        "outside-within-bound": [(SPARSE, {"G = s/k": 0.1}, "N with noise", 0.06)],
        "leaves-the-span-behind": [(SPARSE, {"G = s/k": 0.1}, "N without noise", 0.1)],
    },
    "purification-theorem7": {
        "general-weights": [("Cases", {"case": "a"}, "error", 0.6)],
        "averages-out": [("Cases", {"case": "a"}, "power", 0.0)],
        "balancing-recovers": [("Unequal proportions", {"balanced": True}, "E at the end", 0.1)],
        "balancing-needed": [("Unequal proportions", {}, "iterations to 1e-6", 30)],
    },
    "cones-fig1": {
        "below-the-bounds": [(CASES, {"n": 1000}, "above a bound", 1)],
        "als-unstable": [(CASES, {}, "largest Als", 0.1)],
        "alg2-like-mult": [(CASES, {"n": 100}, "Alg2", 0.2)],
        "better-for-large-n": [(CASES, {"n": 10_000}, "Alg2+Als", 0.07)],
        "outperforms-mult": [(CASES, {"n": 100}, "Alg2+Als", 0.66)],
    },
    "cones-theorem5": {
        "k-is-found": [("Unknown K", {}, "K found", 4)],
        "bound-for-unknown-k": [("Unknown K", {}, "error", 0.3)],
        "bound-on-real-data": [("Real data", {}, "error", 0.3)],
        "k-is-found-on-real-data": [("Real data", {}, "K found", 1)],
    },
    "cones-table1": {
        "alg2-als-like-mult": [("Seconds", {"n": 100}, "Alg2+Als", 5.0)],
        "alg2-faster-than-mult": [("Seconds", {"n": 100}, "Alg2", 1.2)],
    },
    "merit-fig2": {
        "merit-from-10-db": [("success rate", {DB: 10}, "MERIT", 0.72)],
        "fastgradient-from-16-db": [("success rate", {DB: 16}, "FastGradient", 0.86)],
        "spa-not-at-20-db": [("success rate", {DB: 20}, "SPA", 1.0)],
        "convex-above-spa": [
            ("success rate", {DB: s}, "SPA", 0.9) for s in (7, 8, 9, 10, 11, 12, 13)
        ],
        "merit-above-fastgradient": [
            ("success rate", {DB: s}, "FastGradient", 1.0) for s in SNRS if s >= 9
        ],
    },
    "merit-fig3": {
        "lowest-mrsa": [("MRSA, 0 to 100", {DB: 7}, "MERIT", 40.0)],
        "anchors-recovered": [("MRSA, 0 to 100", {DB: 20}, "MERIT", 5.0)],
        "highest-mean-rae": [("RAE", {}, "MERIT", 0.7)],
        "highest-rae-everywhere": [("RAE", {DB: 7}, "MERIT", 0.69)],
    },
    "merit-fig4": {
        "gap-to-spa": [("success rate", {DB: s}, "SPA", 0.9) for s in (10, 12)],
        "convex-methods-succeed": [("success rate", {DB: 12}, "MERIT", 0.8)],
        "fastgradient-5-gb": [(FIT_MEMORY, {"n": 10_000}, "FastGradient", 2300.0)],
        "merit-below-100-mb": [
            (FIT_MEMORY, {"n": 10_000}, "MERIT", 180.0),
            (FIT_MEMORY, {"n": 1000}, "MERIT", 18.0),
        ],
        "merit-grows-gracefully": [(FIT_MEMORY, {"n": 1000}, "MERIT", 1.0)],
    },
    "merit-table1": {
        "merit-succeeds": [("success rate", {"K": 50}, "MERIT", 0.9)],
        "fastgradient-succeeds": [("success rate", {"K": 50}, "FastGradient", 0.9)],
        "spa-falls": [("success rate", {"K": 70}, "SPA", 1.0)],
        "mrsa-below-spa": [("MRSA, 0 to 100", {"K": 70}, "SPA", 16.6)],
        "rae-as-printed": [("RAE", {"K": 40}, "MERIT", 0.7)],
    },
    "merit-fig5": {
        "larger-lambda-at-low-snr": [("by λ", {}, "8 dB", 0.5)],
        "some-lambda-succeeds": [("by λ", {}, "12 dB", 0.8)],
        "mu-hardly-matters": [("by μ", {"μ": 1e-3}, "8 dB", 0.0)],
    },
    "merit-table2": {
        "best-accuracy-on-tdt2": [("ClustAcc on tdt2", {"method": "XRAY"}, "K=5", 0.86)],
        "best-coherence-on-tdt2": [("Coherence on tdt2", {"method": "XRAY"}, "K=5", -300.0)],
        "five-percent-at-10": [("ClustAcc on tdt2", {"method": "SPA"}, "K=10", 0.82)],
        "top-two-on-reuters": [
            ("ClustAcc on reuters21578", {"method": m}, f"K={k}", 0.7)
            for m in ("SPA", "LDA")
            for k in (3, 4, 5, 6)
        ],
        "penalty-helps": [
            ("ClustAcc on tdt2", {"method": "MERIT(0)"}, f"K={k}", 0.9) for k in (3, 4, 5)
        ],
    },
    "merit-table4": {
        "among-two-best": [
            ("SRC", {"network": f"DBLP{i}"}, m, 0.4) for i in (1, 3) for m in ("GeoNMF", "SPOC")
        ],
        "scores-as-printed": [("SRC", {"network": "DBLP1"}, "MERIT(0)", 0.26)],
        "ahead-on-dblp2": [("SRC", {"network": "DBLP2"}, "GeoNMF", 0.3)],
    },
    "merit-fig6": {
        "fastgradient-needs": [("Peak memory", {}, "four n × n matrices MB", 1.0)],
        "merit-needs": [("Peak memory", {}, "MERIT MB", 3000.0)],
    },
    "merit-fig7": {
        "fastgradient-needs": [("Peak memory", {}, "four n × n matrices MB", 1264.0)],
        "merit-needs": [("Peak memory", {}, "MERIT MB", 400.0)],
    },
}


def forged(tables, edits):
    mutant = copy.deepcopy(tables)
    for title, where, name, value in edits:
        rows = [r for r in mutant[title] if all(r[key] == v for key, v in where.items())]
        assert rows, f"{title} has no row with {where}"
        for row in rows:
            row[name] = value
    return mutant


def decisions(name, tables):
    return {j.clause.name: j.decision for j in EXPERIMENTS[name].judge(tables)}


ALL_MUTANTS = [(name, clause) for name, mutants in MUTANTS.items() for clause in mutants]


def test_every_clause_has_a_mutant():
    clauses = {(name, c.name) for name, e in EXPERIMENTS.items() for c in e.clauses}
    assert clauses == set(ALL_MUTANTS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_good_results_hold(name):
    judged = EXPERIMENTS[name].judge(GOOD[name])
    assert {j.clause.name: j.decision for j in judged if j.decision != "holds"} == {}
    assert verdict_of(judged) == "holds"


@pytest.mark.parametrize(("name", "clause"), ALL_MUTANTS, ids="-".join)
def test_a_violated_clause_changes_the_verdict(name, clause):
    found = decisions(name, forged(GOOD[name], MUTANTS[name][clause]))
    assert [c for c, decision in found.items() if decision != "holds"] == [clause]
    assert found[clause] == "fails"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_nothing_holds_of_empty_tables(name):
    assert verdict_of(EXPERIMENTS[name].judge({})) == "not measured"


@pytest.mark.parametrize("name", [n for n, e in EXPERIMENTS.items() if e.clauses[0].fewest])
def test_one_trial_decides_nothing_that_depends_on_chance(name):
    few = forged(GOOD[name], [])
    for row in itertools.chain(*few.values()):
        row |= {key: 1 for key in ("trials", "runs") if key in row}
    if name == "and-table1":
        few[NEWS] = [row for row in few[NEWS] if row["seed"] == 0]
    if name == "merit-lemmas":
        few["Without noise"] = few["Without noise"][:1]
    judged = EXPERIMENTS[name].judge(few)
    assert {j.decision for j in judged if j.clause.fewest} == {"too few trials"}


def everything(title, names, value):
    return [(title, {}, name, value) for name in names]


METHODS = ("SPA", "FastGradient", "MERIT", "our MERIT")
# Nonsense that once passed: what must never be said to hold.
NONSENSE = {
    "every method fails every trial": (
        "merit-fig2",
        everything("success rate", METHODS, 0.0),
    ),
    "every method fails every trial of mixtures": (
        "merit-fig4",
        everything("success rate", METHODS, 0.0),
    ),
    "all methods return the same wrong rows": (
        "merit-fig3",
        everything("MRSA, 0 to 100", METHODS, 20.0) + everything("RAE", METHODS, 0.6),
    ),
    "all success rates are zero": ("merit-fig5", everything("by λ", ("8 dB", "12 dB"), 0.0)),
    "mu decides everything": ("merit-fig5", [("by μ", {"μ": 1e-3}, "12 dB", 0.0)]),
    "SPA always succeeds": ("merit-table1", everything("success rate", ("SPA",), 1.0)),
    "FastGradient needs a megabyte": (
        "merit-fig6",
        everything("Peak memory", ("four n × n matrices MB",), 1.0),
    ),
    "competitors converge, AND does not": (
        "and-fig1",
        [("DIR", {"method": m}, "error / start", 1e-13) for m in ("HALS", "ANLS", "MU", "LDA")]
        + [("DIR", {"method": AND}, "error / start", 1e-4)],
    ),
    "the error does not depend on the noise": (
        "and-fig2",
        everything("Noise on CTM", ("error",), 0.5),
    ),
    "the paper's schedule diverges from every start": (
        "and-fig3",
        [
            (t, {"method": AND}, "error / start", 1e9)
            for t in ("Starts, in-span", "Starts, out-of-span")
        ],
    ),
    "the final error is always 100": (
        "purification-starts",
        everything("Starts", ("worst",), 100.0),
    ),
    "Purification itself fails": (
        "purification-pseudo-inverse",
        everything("Left inverses", ("min-inf final E", "moore-penrose final E"), 100.0),
    ),
}


@pytest.mark.parametrize("case", NONSENSE)
def test_nonsense_does_not_hold(case):
    name, edits = NONSENSE[case]
    assert verdict_of(EXPERIMENTS[name].judge(forged(GOOD[name], edits))) != "holds"


def test_numbers_of_the_variant_are_those_of_its_rows_and_columns():
    tables = {"T": [{"method": "a", "x": 1}, {"method": "b", "x": 2}], "U": [{"a": 3, "b": 4}]}
    assert swapped(tables, {"a": "b"}) == {"T": [{"method": "a", "x": 2}], "U": [{"a": 4}]}
    shown = {
        j.clause.name: j.variant
        for j in EXPERIMENTS["merit-fig2"].judge(
            forged(GOOD["merit-fig2"], [("success rate", {DB: 10}, "our MERIT", 0.3)])
        )
    }
    assert shown["merit-from-10-db"] == 0.3 and shown["spa-not-at-20-db"] is None


@pytest.mark.parametrize("column", ["our MERIT", ADAPTIVE])
def test_our_variant_never_decides(column):
    for name, tables in GOOD.items():
        worse = copy.deepcopy(tables)
        for row in itertools.chain(*worse.values()):
            if column in row:
                row[column] = float("nan")
            if row.get("method") == column:
                row |= {key: float("nan") for key in row if key not in ("method", "α", "size")}
        assert verdict_of(EXPERIMENTS[name].judge(worse)) == "holds"


def test_the_record_is_judged_by_the_clauses_as_they_are():
    record = read_record()
    assert record.keys() <= EXPERIMENTS.keys()
    for name, stored in record.items():
        again = judge_again(EXPERIMENTS[name], stored)
        assert again["verdict"] == stored["verdict"], name
        assert [c["verdict"] for c in again["clauses"]] == [c["verdict"] for c in stored["clauses"]]
