"""Does a fit stay within `memory=`? Peak memory of each method with a budget, on data on disk.

A matrix of separable rows is written a block at a time, larger than the smaller budgets, and each
fit runs in a process of its own, certificate included. Its peak is what the kernel counted (VmHWM,
Linux only; ru_maxrss would include the memory of the process that started it). A budget that is too
small must be refused before the fit starts.

    python -m benchmarks.scale.memory_budget --quick
    python -m benchmarks.scale.memory_budget --megabytes 1000 --budgets 600MB 1GB
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.scale.larger_than_memory import write

from provenmf.budget import bytes_of

METHODS = ["spa", "xray", "fast_anchor", "cones", "merit", "hals", "anls", "and_descent"]
METHODS += ["purification", "poisson", "fast_gradient"]
LIMITED = {"hals", "anls", "and_descent", "purification", "poisson"}  # ten iterations are enough
CHILD = """
import json, sys, time
from pathlib import Path
from provenmf import ProvenmfError, factorize
from provenmf import resources
path, method, budget, k, more = json.loads(sys.argv[1])
said = ""
try:
    with resources(memory=budget, n_jobs=1):
        factorize(path, k, method=method, random_state=0, **more)
except ProvenmfError as error:
    said = str(error)
status = Path("/proc/self/status").read_text()
peak = 1024 * int(status.split("VmHWM:")[1].split()[0])
print(json.dumps({"peak": peak, "seconds": round(time.process_time(), 1), "refused": said}))
"""


def measured(path: Path, method: str, budget: str, k: int) -> dict[str, object]:
    """Run one fit in a process of its own."""
    more = {"max_iter": 10} if method in LIMITED else {}
    arguments = json.dumps([str(path), method, budget, k, more])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD, arguments], capture_output=True, text=True
    )
    if done.returncode:
        return {"method": method, "budget": budget, "failed": done.stderr.strip()[-300:]}
    found = json.loads(done.stdout.splitlines()[-1])
    row = {"method": method, "budget": budget, "peak MB": round(found["peak"] / 1e6)}
    if found["refused"]:
        return {**row, "refused": found["refused"]}
    kept = bool(found["peak"] <= bytes_of(budget))
    return {**row, "kept": kept, "processor seconds": found["seconds"]}


def main() -> None:
    """One JSON object a line for each method and budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 MB")
    parser.add_argument("--megabytes", type=int, default=1000, help="size of the data")
    parser.add_argument("--budgets", nargs="+", default=["600MB", "1GB"])
    parser.add_argument("--methods", nargs="+", default=METHODS)
    chosen = parser.parse_args()
    megabytes = 100 if chosen.quick else chosen.megabytes
    with tempfile.TemporaryDirectory(prefix="provenmf-") as folder:
        matrix = Path(folder) / "data.npy"
        write(matrix, megabytes * 250, 1000, 8)
        for method in chosen.methods:
            for budget in chosen.budgets:
                print(json.dumps(measured(matrix, method, budget, 8)), flush=True)


if __name__ == "__main__":
    main()
