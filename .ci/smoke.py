"""Try an installed provenmf outside its source tree: imports, a fit, its report and certificate.

Run it with the interpreter of the environment to be tried. Modules whose optional dependency is
not installed are counted, and named; any other failure ends the script.
"""

import importlib
import json
import pkgutil
import subprocess
import sys
import tempfile
from pathlib import Path

OPTIONAL = {
    *("dask", "distributed", "matplotlib"),
    *("pandas", "networkx", "PIL"),
}


def main() -> None:
    """Refuse a source tree, import every module, then work through the command line."""
    import provenmf

    if "site-packages" not in Path(provenmf.__file__).parts:
        raise SystemExit(f"{provenmf.__file__} is a source tree, not an installed package")
    imported, skipped = import_everything(provenmf.__path__)
    print(f"provenmf {provenmf.__version__}: {imported} modules imported")
    for module, missing in skipped.items():
        print(f"  {module} needs {missing}, which is not installed")
    with tempfile.TemporaryDirectory() as folder:
        fit_and_certify(Path(folder))
    print("fit, report and certificate: fine")


def import_everything(path: list[str]) -> tuple[int, dict[str, str]]:
    """Return how many modules import, and which lack an optional dependency."""
    skipped: dict[str, str] = {}
    imported = 0
    for module in pkgutil.walk_packages(path, "provenmf."):
        if module.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(module.name)
            imported += 1
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in OPTIONAL:
                raise
            skipped[module.name] = str(error.name)
    return imported, skipped


def fit_and_certify(folder: Path) -> None:
    """Put data with a known answer through the command line."""
    import numpy as np

    from provenmf.datasets.separable import dirichlet_mixtures

    np.savez(folder / "mixed.npz", data=dirichlet_mixtures(200, 20, 3, random_state=0).data)
    fit = ("fit", "mixed.npz", "--key", "data", "-k", "3", "--method", "spa", "-o", "result.npz")
    outcome = json.loads(command(folder, *fit, "--json"))
    if not outcome or not (folder / "result.html").exists():
        raise SystemExit("provenmf fit printed no JSON or wrote no report")
    command(folder, "certify", "result.npz", "mixed.npz", "--key", "data")


def command(folder: Path, *arguments: str) -> str:
    """Return what `provenmf ARGUMENTS` prints in the folder; its failure ends the script."""
    run = subprocess.run(
        [sys.executable, "-m", "provenmf", *arguments], cwd=folder, capture_output=True, text=True
    )
    if run.returncode:
        raise SystemExit(f"provenmf {' '.join(arguments)}:\n{run.stdout}\n{run.stderr}")
    return run.stdout


if __name__ == "__main__":
    main()
