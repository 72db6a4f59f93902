"""Left inverses with the least infinity norm, and what Purification does with them.

1. Time of one round of linear programs (one for each feature) at d = 1000, k = 50 and d = 5000,
   k = 100: our batched simplex method cold, warm after changes of the features of several sizes,
   and HiGHS through highspy (warm from one feature to the next; on some features only where all
   would take minutes, scaled up), if it is installed.
2. A fit: all iterations, and one pass over the data.
3. The slopes that the theorems speak of, from the experiments of `provenmf reproduce`.

    python benchmarks/purification.py [--quick] [--only programs|fits|theorems]
"""

import argparse
import time
from typing import NamedTuple

import numpy as np

from provenmf.data import as_blocks
from provenmf.datasets.purification import sample_purification, warm_start
from provenmf.linalg.left_inverse import left_inverse
from provenmf.methods.purification.kernels import pair_moments
from provenmf.methods.purification.solver import initial_state
from provenmf.methods.purification.solver import purification as solve
from provenmf.reproduce import purification, purification_choices, purification_general
from provenmf.reproduce.experiment import Settings


def seconds(function):
    """Wall time, processor time of all threads, and result of one call."""
    wall, processor = time.perf_counter(), time.process_time()
    result = function()
    return Seconds(time.perf_counter() - wall, time.process_time() - processor), result


class Seconds(NamedTuple):
    """On a busy machine only the processor time can be compared."""

    wall: float
    processor: float

    def __str__(self):
        return f"{self.wall:.3f} s ({self.processor:.3f} s)"


def highs_row_sums(components, n_features):
    """‖b_i‖₁ of the first features by HiGHS: one model, only the right-hand side changes."""
    import highspy

    k, d = components.shape
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = 2 * d, k
    program.col_cost_ = np.ones(2 * d)
    program.col_lower_, program.col_upper_ = np.zeros(2 * d), np.full(2 * d, np.inf)
    program.row_lower_ = program.row_upper_ = np.zeros(k)
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_ = np.arange(2 * d + 1) * k
    program.a_matrix_.index_ = np.tile(np.arange(k), 2 * d)
    program.a_matrix_.value_ = np.hstack([components, -components]).T.ravel()
    solver = highspy.Highs()
    for option, value in (("output_flag", False), ("presolve", "off"), ("solver", "simplex")):
        solver.setOptionValue(option, value)
    solver.passModel(program)
    sums = []
    for i in range(n_features):
        if i:
            solver.changeRowBounds(i - 1, 0.0, 0.0)
        solver.changeRowBounds(i, 1.0, 1.0)
        solver.run()
        sums.append(solver.getInfo().objective_function_value)
    return np.array(sums)


def programs(quick):
    print("One round of linear programs: wall (processor) time, rounds of the simplex method")
    for d, k in [(300, 20)] if quick else [(1000, 50), (5000, 100)]:
        rng = np.random.default_rng(0)
        for name, components in (
            ("uniform", rng.random((k, d))),
            ("overlapping", sample_purification(2, d, k, random_state=0).components * d),
        ):
            print(f"d = {d}, k = {k}, {name} features")
            cold, found = seconds(lambda c=components: left_inverse(c))
            print(f"  {'ours, cold':32}{cold}  {found.rounds} rounds", flush=True)
            for size in (1e-1, 1e-2, 1e-4, 0.0):
                changed = components * (1 + size * rng.standard_normal(components.shape))
                warm, again = seconds(lambda c=changed, b=found.basis: left_inverse(c, basis=b))
                print(f"  {f'ours, warm, changed by {size:g}':32}{warm}  {again.rounds} rounds")
            with_highs(components, found, cold, n_features=k if d <= 1000 else 3)


def with_highs(components, found, cold, n_features):
    try:
        elapsed, sums = seconds(lambda: highs_row_sums(components, n_features))
    except ImportError:
        print("  HiGHS: highspy is not installed")
        return
    share = len(components) / n_features
    ours = np.abs(found.rows[:n_features]).sum(axis=1)
    print(
        f"  {'HiGHS, from row to row':32}{elapsed}  for {n_features} of {len(components)} rows; "
        f"processor time for all {share * elapsed.processor:.1f} s, "
        f"{share * elapsed.processor / cold.processor:.1f} times ours cold; "
        f"sums agree to {np.abs(ours / sums - 1).max():.0e}",
        flush=True,
    )


def theorems(quick):
    modules = (purification, purification_general, purification_choices)
    for experiment in (e for module in modules for e in module.EXPERIMENTS):
        elapsed, outcome = seconds(lambda e=experiment: e.run(Settings(quick=quick)))
        print(
            f"{experiment.name}, {elapsed}: holds {outcome.holds}\n  {outcome.verdict}", flush=True
        )


def fits(quick):
    n, d, k = (5000, 300, 20) if quick else (20000, 1000, 50)
    sample = sample_purification(n, d, k, noise="decoding", noise_level=0.1 / d, random_state=0)
    blocks, start = as_blocks(sample.data), warm_start(sample.components, random_state=1)
    print(f"A fit of n = {n}, d = {d}, k = {k}: wall (processor) time")
    for kind in ("min-inf", "moore-penrose"):
        state = initial_state(blocks, start, pseudo_inverse=kind)
        one_pass, _ = seconds(lambda s=state: pair_moments(blocks, s.inverse.rows, s.threshold))
        elapsed, found = seconds(
            lambda p=kind: solve(blocks, start, pseudo_inverse=p, tol=1e-6, max_iter=50)
        )
        rounds = " ".join(f"{r:.0f}" for r in found.trace["simplex_rounds"][:10])
        print(
            f"  {kind:14} {len(found.trace)} iterations in {elapsed}, one pass {one_pass}, "
            f"simplex rounds {rounds}",
            flush=True,
        )


PARTS = {"programs": programs, "fits": fits, "theorems": theorems}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only", choices=list(PARTS), help="one part of the three")
    options = parser.parse_args()
    for name, part in PARTS.items():
        if options.only in (None, name):
            part(options.quick)


if __name__ == "__main__":
    main()
