"""Left inverses with the least infinity norm, and what Purification does with them.

1. Time of one round of linear programs (one for each feature) at d = 1000, k = 50 and d = 5000,
   k = 100: our batched simplex method cold, warm after changes of the features of several sizes,
   and HiGHS through highspy (warm from one feature to the next; on some features only where all
   would take minutes, scaled up), if it is installed.
2. The slopes that the theorems speak of, from the experiments of `provenmf reproduce`.
3. One iteration of the whole method, by parts, and all iterations of a fit.

    python benchmarks/purification.py [--quick]
"""

import argparse
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from provenmf.blocks import as_blocks
from provenmf.datasets.purification import sample_purification, warm_start
from provenmf.linalg.pseudo_inverse import left_inverse
from provenmf.reproduce import purification, purification_choices, purification_general
from provenmf.reproduce.experiment import Settings
from provenmf.solvers.purification import initial_state, pair_moments
from provenmf.solvers.purification import purification as solve

CONSOLE = Console(width=140)


def seconds(function):
    """Wall time and result of one call."""
    started = time.perf_counter()
    result = function()
    return time.perf_counter() - started, result


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


def programs_table(quick):
    table = Table(title="One round of linear programs: seconds (rounds of the simplex method)")
    for column in ("d", "k", "features", "ours, cold", "warm 1e-1", "warm 1e-2", "warm 1e-4"):
        table.add_column(column)
    for column in ("warm, same", "HiGHS", "HiGHS / cold", "same sums"):
        table.add_column(column)
    sizes = [(300, 20)] if quick else [(1000, 50), (5000, 100)]
    for d, k in sizes:
        rng = np.random.default_rng(0)
        for name, components in (
            ("uniform", rng.random((k, d))),
            ("overlapping", sample_purification(2, d, k, random_state=0).components * d),
        ):
            cold, found = seconds(lambda c=components: left_inverse(c))
            cells = [f"{cold:.3f} ({found.rounds})"]
            for size in (1e-1, 1e-2, 1e-4, 0.0):
                changed = components * (1 + size * rng.standard_normal(components.shape))
                warm, again = seconds(lambda c=changed, b=found.basis: left_inverse(c, basis=b))
                cells.append(f"{warm:.3f} ({again.rounds})")
            cells += highs_cells(components, found, cold, n_features=k if d <= 1000 else 3)
            table.add_row(str(d), str(k), name, *cells)
    CONSOLE.print(table)


def highs_cells(components, found, cold, n_features):
    try:
        elapsed, sums = seconds(lambda: highs_row_sums(components, n_features))
    except ImportError:
        return ["not installed", "-", "-"]
    elapsed *= len(components) / n_features
    ours = np.abs(found.rows[:n_features]).sum(axis=1)
    difference = np.abs(ours / sums - 1).max()
    shown = f"{elapsed:.2f}" if n_features == len(components) else f"about {elapsed:.0f}"
    return [shown, f"{elapsed / cold:.1f}", f"to {difference:.0e}"]


def theorems_table(quick):
    table = Table(title="Experiments", show_lines=True)
    for column in ("name", "holds", "seconds", "verdict"):
        table.add_column(column)
    modules = (purification, purification_general, purification_choices)
    for experiment in (e for module in modules for e in module.EXPERIMENTS):
        elapsed, outcome = seconds(lambda e=experiment: e.run(Settings(quick=quick)))
        table.add_row(experiment.name, str(outcome.holds), f"{elapsed:.1f}", outcome.verdict)
    CONSOLE.print(table)


def iteration_table(quick):
    n, d, k = (5000, 300, 20) if quick else (20000, 1000, 50)
    sample = sample_purification(n, d, k, noise="decoding", noise_level=0.1 / d, random_state=0)
    blocks, start = as_blocks(sample.data), warm_start(sample.components, random_state=1)
    table = Table(title=f"A fit of n = {n}, d = {d}, k = {k}")
    for column in ("left inverse", "iterations", "seconds", "seconds of one pass", "rounds"):
        table.add_column(column)
    for kind in ("min-inf", "moore-penrose"):
        state = initial_state(blocks, start, pseudo_inverse=kind)
        one_pass, _ = seconds(lambda s=state: pair_moments(blocks, s))
        elapsed, found = seconds(
            lambda p=kind: solve(blocks, start, pseudo_inverse=p, tol=1e-6, max_iter=50)
        )
        rounds = " ".join(f"{r:.0f}" for r in found.trace["simplex_rounds"][:8])
        table.add_row(kind, str(len(found.trace)), f"{elapsed:.2f}", f"{one_pass:.3f}", rounds)
    CONSOLE.print(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes")
    quick = parser.parse_args().quick
    programs_table(quick)
    iteration_table(quick)
    theorems_table(quick)


if __name__ == "__main__":
    main()
