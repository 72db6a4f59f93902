"""Every module imports where the system lacks what only Unix has, and brings nothing heavy."""

import subprocess
import sys

PROGRAM = """
import builtins, importlib, os, pkgutil, signal, sys
import numba, scipy.sparse.linalg, sklearn.base, typer, rich.table  # they look at sys.platform
for optional in ("dask.array", "distributed", "matplotlib.font_manager"):
    try:  # matplotlib lists fonts once and for all: on a crippled system it finds none
        importlib.import_module(optional)
    except ModuleNotFoundError:
        pass

UNIX = {"resource", "fcntl", "pwd", "grp", "termios", "tty", "pty", "syslog", "curses", "readline"}
genuine = builtins.__import__

def without_unix(name, globals=None, *rest):
    asking = (globals or {}).get("__name__", "")
    if name in UNIX and asking.startswith("provenmf"):
        raise ModuleNotFoundError(f"No module named {name!r} on this system", name=name)
    return genuine(name, globals, *rest)

builtins.__import__ = without_unix
for name in ("fork", "register_at_fork", "getuid", "geteuid", "sched_getaffinity", "nice"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGKILL", "SIGALRM", "SIGUSR1", "SIGHUP", "SIGPIPE", "alarm", "setitimer"):
    if hasattr(signal, name):
        delattr(signal, name)

import provenmf
count = 0
for module in pkgutil.walk_packages(provenmf.__path__, "provenmf."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if error.name in UNIX or (error.name or "").startswith("provenmf"):
                raise
        count += 1
from provenmf.reproduce import merit
merit.Path = lambda _: type("Missing", (), {"exists": lambda self: False})()
assert merit.high_water_mark() != merit.high_water_mark(), "NaN where nothing can be measured"
print(count)
"""


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_module_imports_without_what_only_unix_has():
    assert int(run(PROGRAM)) > 150


def test_importing_the_package_imports_no_optional_dependency_and_no_compiler():
    heavy = "{'numba', 'dask', 'pandas', 'jinja2', 'networkx', 'matplotlib'}"
    program = f"import sys, provenmf, provenmf.reproduce; print({heavy} & set(sys.modules))"
    assert run(program).strip() == "set()"


def test_importing_the_package_imports_nothing_else():
    """Ctrl-C in an import before the command line handles it shows a traceback."""
    program = "import sys; old = set(sys.modules); import provenmf; print(set(sys.modules) - old)"
    assert run(program).strip() == "{'provenmf'}"
