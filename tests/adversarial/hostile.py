"""Try what once broke provenmf again, as an attacker or a careless user would.

    python tests/adversarial/hostile.py              all points, a few minutes on one core
    python tests/adversarial/hostile.py --point 9    one of them

One line for each of the seventeen points and the low ones: what was tried, how often, what came out
now and what came out before. They run in a process with the limits of the fuzzer
(`pool.py`): one that crashes, hangs or eats the memory is a failure, and so is an answer
that breaks one of its oracles. All data are made here; processes, signals, forks, pipes and limits
are real. The exit code is 1 after a failure.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import files
import numpy as np
import scipy.sparse as sp
import threads
from commands import typed
from matrices import Rng, fingerprint, unsorted
from oracles import check_fit, hold, is_allowed, relative_error, saved_equal, strict
from pool import Worker, run_case

from provenmf import (
    AND,
    ANLS,
    HALS,
    MERIT,
    SPA,
    FastAnchor,
    Purification,
    diagnose,
    find_communities,
    load,
    unmix,
)
from provenmf.datasets.networks import mixed_membership_network
from provenmf.io import read_cube, read_graph, read_images, read_matrix, read_texts
from provenmf.methods import CATALOGUE, make_estimator
from provenmf.progress import Progress
from provenmf.results import StopReason

Tried = tuple[int, str]  # how many, and what came out
NO_REPORT = ["--no-report", "--force"]
FORK: Any = multiprocessing.get_context("fork")


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        yield Path(name)


def ended(call: Callable[..., Any], *arguments: Any) -> str:
    """Whether a call answered or refused by name; anything else is raised."""
    try:
        call(*arguments)
    except Exception as error:
        if not is_allowed(error):
            raise
        return "refused"
    return "answered"


def counted(calls: Iterator[Callable[[], Any]] | list[Callable[[], Any]]) -> Tried:
    ends = [ended(call) for call in calls]
    return len(ends), f"{ends.count('answered')} answered, {ends.count('refused')} refused by name"


def few(method: str, k: int, **options: Any) -> Any:
    """An estimator that stops soon."""
    model = make_estimator(method, k, random_state=0, **options)
    return model.set_params(max_iter=20) if method in threads.FEW_ITERATIONS else model


def damaged_files(rng: Rng) -> Tried:
    names = ("m.h5ad", "m.mtx", "dense.mtx", "m.mat", "packed.mat", "new.mat", "sparse.npz")
    ends = [files.of_format(rng, name) for name in names for _ in range(60)]
    mtx = files.good("m.mtx")
    for place in range(len(mtx) - 120, len(mtx)):
        ends.append(files.read_mutant("m.mtx", mtx[:place] + b"\0" + mtx[place + 1 :]))
    run_case("files:corpus", 0)
    return len(ends), f"{ends.count('read')} read, {ends.count('refused')} refused in one line"


def eigenvalues(rng: Rng) -> Tried:
    longest, tried = 0.0, 0
    for _ in range(10):
        wide = 10.0 ** rng.uniform(-190, 120, (3, 3))
        for X in (wide, 10.0 ** rng.uniform(-59, 59, (3, 3))):
            for method in CATALOGUE:
                started = time.process_time()
                ended(few(method, 2).fit, X)
                longest, tried = max(longest, time.process_time() - started), tried + 1
    return tried, f"longest {longest:.1f} CPU s"


def users_data(rng: Rng) -> Tried:
    tried = 0
    for method in CATALOGUE:
        for writeable in (True, False):
            X = unsorted(rng.random((20, 6)) * (rng.random((20, 6)) < 0.6))
            for array in (X.data, X.indices, X.indptr):
                array.flags.writeable = writeable
            before = fingerprint(X)
            ended(few(method, 2).fit, X)
            hold(fingerprint(X) == before, f"{method} changed its argument")
            tried += 1
    for _ in range(12):
        X = unsorted(rng.random((40, 8)))
        before = fingerprint(X)
        fits = [threading.Thread(target=AND(2, max_iter=3).fit, args=(X,)) for _ in range(3)]
        for fit in fits:
            fit.start()
        for fit in fits:
            fit.join()
        hold(fingerprint(X) == before, "threads changed the values of the matrix that they share")
        tried += 3
    return tried, "0 changed"


def measures(rng: Rng) -> Tried:
    hold(ended(SPA(2).fit, rng.random((9, 5)) * 1e-170) == "refused", "1e-170 is taken")
    worst, tried = 0.0, 1
    near = np.outer(rng.random(30), rng.random(8)) + 1e-9 * rng.random((30, 8))
    for X in (rng.random((30, 8)), rng.random((30, 8)) * 1e23, near):
        for method in ("spa", "xray", "hals", "merit"):
            for dtype in (np.float32, np.float64):
                found = few(method, 3).fit(sp.csr_array(X.astype(dtype))).factorization_
                true = relative_error(X.astype(dtype), found.weights, found.components)
                said = found.certificate.measures["relative_error"]
                worst, tried = max(worst, abs(said - true)), tried + 1
    hold(worst < 1e-6, f"a relative error is wrong by {worst:.1e}")
    return tried, f"1e-170 refused; errors right to {worst:.0e}"


def hdf5_that_leads_out(rng: Rng) -> Tried:
    import h5py

    header = (b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM").ljust(512, b"\0")
    tried = 0
    with folder() as here:
        secret, raw = here / "secret.h5", here / "secret.raw"
        with h5py.File(secret, "w") as file:
            file["X"] = rng.random((4, 3))
        raw.write_bytes(rng.random((4, 3)).tobytes())
        for kind in ("external link", "link to a link", "external storage", "virtual"):
            with h5py.File("crafted.h5ad", "w") as file:
                if kind == "external storage":
                    file.create_dataset(
                        "X", (4, 3), "f8", external=[(str(raw), 0, h5py.h5f.UNLIMITED)]
                    )
                elif kind == "virtual":
                    layout = h5py.VirtualLayout((4, 3), "f8")
                    layout[:] = h5py.VirtualSource(str(secret), "X", (4, 3))
                    file.create_virtual_dataset("X", layout)
                else:
                    file["way"] = h5py.ExternalLink(str(secret), "/")
                    file["X"] = (
                        h5py.SoftLink("/way/X")
                        if kind == "link to a link"
                        else h5py.ExternalLink(str(secret), "/X")
                    )
            Path("crafted.mat").write_bytes(header + Path("crafted.h5ad").read_bytes())
            for name in ("crafted.h5ad", "crafted.mat"):
                for command in (["fit", name, "-k", "2"], ["convert", name, "out.npz"]):
                    code, out, err = typed(command)
                    hold(code == 2 and err.count("\n") == 1, f"{kind} in {name}: {out}{err}")
                    tried += 1
    return tried, "all refused in one line"


def hostile_results(rng: Rng) -> Tried:
    made = ("record.npz", "topics.npz", "result.npz")
    tried = refused = 0
    with folder():
        Path("m.npy").write_bytes(files.good("m.npy"))
        header = files.good("m.npy")
        cases = [(["report", "r.npz"], files.mutant(rng, name)) for name in made * 12]
        cases += [(["certify", "r.npz", "m.npy"], files.mutant(rng, name)) for name in made * 12]
        cases += [(["label", "r.npz", "1=a"], files.mutant(rng, name)) for name in made * 4]
        cases += [(["fit", "r.npy", "-k", "2"], header.replace(b"<f8", each)) for each in BAD_TYPES]
        cases += [(["topics", "r.jsonl", "-k", "2"], b"[" * 100_000 + b"\n")]
        for arguments, content in cases:
            Path(arguments[1]).write_bytes(content)
            code, _, err = typed([*arguments, *(NO_REPORT if arguments[0] == "fit" else [])])
            hold(code in (0, 2) and "Traceback" not in err, f"{arguments}: {err[-600:]}")
            tried, refused = tried + 1, refused + (code == 2)
            Path("r.html").unlink(missing_ok=True)
        Path("pictures").mkdir()
        huge = b"P5 60000 60000 255\n" + bytes(1000)
        Path("pictures", "huge.pgm").write_bytes(huge)
        hold(ended(read_images, "pictures") == "refused", "a bomb of a picture is read")
    return tried + 1, f"{refused + 1} refused in one line, no traceback"


BAD_TYPES = (b"|O8", b"<f9", b"<c8", b"<U3", b"<M8", b"(((")


def strict_results(rng: Rng) -> Tried:
    tried = 0
    hard = np.vstack([np.zeros((2, 6)), np.eye(6), 1e9 * np.eye(6), 1e-9 * np.ones((2, 6))])
    with folder():
        for number, X in enumerate((rng.random((20, 6)), hard, np.ones((8, 6)))):
            np.save(f"{number}.npy", X)
            for method in ("auto", *CATALOGUE):
                name = f"{number}.npy"
                options = ["-k", "2", "-m", method, "-o", "r.npz", "--json", *NO_REPORT]
                code, out, err = typed(["fit", name, *options])
                hold(code in (0, 2), f"{method}: {err}")
                if code == 0:
                    strict(out)
                    saved_equal(load("r.npz"))
                tried += 1
    return tried, "all strict, saved records equal themselves"


def outputs(rng: Rng) -> Tried:
    fit = ["fit", "m.npy", "-k", "2", "-m", "spa", *NO_REPORT, "-o"]
    with folder() as here:
        np.save("m.npy", rng.random((9, 4)))
        content = Path("m.npy").read_bytes()
        os.symlink("m.npy", "link.npz")
        os.mkfifo("pipe.npz")
        Path("kept").mkdir()
        targets = ["m.npy", "link.npz", "pipe.npz", "kept", "no/folder/r.npz"]
        with contextlib.suppress(OSError):  # only an administrator can
            os.mknod("device.npz", stat.S_IFCHR | 0o600, os.makedev(1, 3))
            targets.append("device.npz")
        for target in targets:
            kind = stat.S_IFMT(os.lstat(target).st_mode) if (here / target).exists() else 0
            code, _, err = typed([*fit, target])
            hold(code == 2 and err.count("\n") == 1, f"{target}: {err}")
            after = stat.S_IFMT(os.lstat(target).st_mode) if (here / target).exists() else 0
            hold(after == kind, f"{target} is no longer what it was")
        hold(Path("m.npy").read_bytes() == content, "the input was overwritten")
        for mask, mode in ((0o077, 0o600), (0o022, 0o644)):
            before = os.umask(mask)
            code, _, err = typed([*fit, f"{mode}.npz"])
            os.umask(before)
            hold(code == 0, err)
            hold(os.stat(f"{mode}.npz").st_mode & 0o777 == mode, "the umask is ignored")
        hold(not list(here.glob(".*.part")), "temporary files are left")
    return len(targets) + 2, f"{len(targets)} refused in one line, modes follow the umask"


def interrupted(rng: Rng) -> Tried:
    """Ctrl-C to a process of its own, when the method shows its first row of progress."""
    with folder():
        np.save("m.npy", rng.random((300, 40)))
        slowest = max(_ctrl_c(method) for method in CATALOGUE)
    return len(CATALOGUE), f"all keep the best so far, at most {slowest:.1f} s later"


def _ctrl_c(method: str) -> float:
    reader, writer = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_fit_and_tell, args=(method, writer))
    process.start()
    writer.close()
    reader.recv()
    started = time.monotonic()
    os.kill(process.pid, signal.SIGINT)
    process.join(120)
    seconds = time.monotonic() - started
    if process.exitcode is None:
        process.kill()
    said = Path("said.txt").read_text()
    hold(process.exitcode == 0 and "Traceback" not in said, f"{method}: {said[-600:]}")
    found = load(f"{method}.npz")
    hold(np.isfinite(found.weights).all(), f"{method}: no answer is kept")
    hold(found.stop_reason is StopReason.INTERRUPTED, f"{method} did not hear Ctrl-C")
    return seconds


def _fit_and_tell(method: str, writer: Any) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    show = Progress.row

    def row(self: Any, *arguments: Any, **options: Any) -> Any:
        if not writer.closed:
            writer.send("fitting")
            writer.close()
            time.sleep(0.5)  # the signal comes from outside
        return show(self, *arguments, **options)

    Progress.row = row  # type: ignore[method-assign]
    words = ["fit", "m.npy", "-k", "4", "-m", method, "-o", f"{method}.npz", *NO_REPORT]
    code, out, err = typed(words)
    Path("said.txt").write_text(out + err)
    sys.exit(code)


def sane_input(rng: Rng) -> Tried:
    X, graph = rng.random((12, 5)), mixed_membership_network(60, 2, random_state=0).adjacency
    calls: list[Callable[[], Any]] = [
        *(
            lambda cls=cls: cls(3, init="nndsvd").fit(rng.random((7, 2)))
            for cls in (HALS, ANLS, Purification)
        ),
        lambda: diagnose(np.zeros((6, 4))),
        lambda: AND(2, n_steps=50, step_size=100.0, scale_rows=False).fit(X),
        lambda: AND(2, schedule="paper", decay=50, max_iter=200, tol=0).fit(X),
        lambda: find_communities(graph, None),
        lambda: find_communities(graph, True),  # type: ignore[arg-type]
        *(
            lambda dtype=dtype, method=method: few(method, 2).fit(X.astype(dtype))
            for dtype in ("f2", ">f4", ">f8", "g")
            for method in CATALOGUE
        ),
        *(
            lambda method=method: few(method, 3).fit(sp.eye_array(60, format="csr"))
            for method in CATALOGUE
        ),
    ]
    return counted(calls)


def long_rows(rng: Rng) -> Tried:
    worst, tried = 0.0, 0
    for scale in (1e12, 1e15, 1e17, 1e20):
        for cls in (SPA, MERIT, FastAnchor):
            X = rng.random((10, 4))
            model = cls(2, constraint="simplex").fit(X)
            sums = model.transform(X * scale).sum(axis=1)
            worst, tried = max(worst, float(np.abs(sums - 1).max())), tried + len(X)
    hold(worst < 1e-9, f"weights miss one by {worst:.1e}")
    return tried, f"|sum - 1| at most {worst:.0e}"


def wide_purification(rng: Rng) -> Tried:
    longest = 0.0
    for _ in range(10):
        X = 10.0 ** rng.uniform(-9, 9, (8, 10))
        started = time.process_time()
        ended(Purification(3, random_state=0).fit, X)
        longest = max(longest, time.process_time() - started)
    hold(longest < 20, f"{longest:.1f} s for 8 x 10 entries")
    return 10, f"longest {longest:.1f} CPU s"


def extreme_scales(rng: Rng) -> Tried:
    X = rng.random((12, 5))
    return counted(
        [
            lambda scale=scale, method=method: _checked_fit(method, X * scale)
            for scale in (1e-300, 1e-200, 1e-100, 1e-59, 1e59, 1e100, 1e200, 1e300)
            for method in CATALOGUE
        ]
    )


def _checked_fit(method: str, X: Any) -> None:
    check_fit(few(method, 2).fit(X), X, single=False)


def storages(rng: Rng) -> Tried:
    ends = [run_case("estimators:storage_case", 500 + number) for number in range(150)]
    return len(ends), f"{ends.count('compared')} compared, none differs"


COMPILED = """
import numpy as np
from provenmf.linalg.products import multiply_rows_in_place as multiply
out, index, pointers = np.zeros((1, 1)), np.zeros(1, np.int32), np.array([0, 1], np.int32)
multiply(pointers, index, np.full(1, 3.0), np.full((1, 1), 2.0), 0, 1, out)
print(out[0, 0])
"""


def compiled_cache(rng: Rng) -> Tried:
    damages: dict[str, Callable[[bytes], bytes]] = {
        "none": lambda content: content,
        "cut": lambda content: content[: len(content) // 2],
        "empty": lambda content: b"",
        "random bytes": lambda content: rng.bytes(len(content)),
        "another pickle": lambda content: b"\x80\x04N.",
    }
    tried = 0
    with folder() as here:
        for damage in damages.values():
            for ending in ("nbi", "nbc") if tried else ("nbi",):
                for file in here.rglob(f"*.{ending}"):
                    file.write_bytes(damage(file.read_bytes()))
                ran = subprocess.run(
                    [sys.executable, "-c", COMPILED],
                    env={**os.environ, "NUMBA_CACHE_DIR": str(here)},
                    capture_output=True,
                    text=True,
                )
                hold(ran.stdout == "6.0\n", f"{ran.stderr[-600:]}")
                tried += 1
    return tried, "all compiled anew"


def forks(rng: Rng) -> Tried:
    fits = threads.all_fits()
    expected = {one: threads.fit(*one) for one in fits}
    differing = threads.differing(threads.forked_while_fitting, fits, expected)
    hold(not any(differing.values()), f"other bits: {differing}")
    return len(fits), "all end, with the same bits"


def known_memberships(rng: Rng) -> Tried:
    """An edge list in any order, with names or numbers, has the score of the graph itself."""
    tried = 0
    with folder():
        for seed in range(3):
            network = mixed_membership_network(120, 3, random_state=seed)
            edges = np.argwhere(np.triu(network.adjacency.toarray()))
            truth = network.memberships
            np.savez("truth.npz", X=truth)
            sp.save_npz("graph.npz", network.adjacency)
            expected = _score("graph.npz", "truth.npz")
            for first in (0, 1):
                mixed = rng.permuted(rng.permutation(edges), axis=1) + first
                Path("e.txt").write_text("".join(f"{i} {j}\n" for i, j in mixed))
                hold(abs(_score("e.txt", "truth.npz") - expected) < 1e-9, "rows by position")
            Path("n.txt").write_text("".join(f"n{i} n{j}\n" for i, j in rng.permutation(edges)))
            lines = [f"n{i},{','.join(map(str, truth[i]))}" for i in rng.permutation(len(truth))]
            Path("n.csv").write_text("\n".join(["node,a,b,c", *lines]))
            hold(abs(_score("n.txt", "n.csv") - expected) < 1e-9, "rows by position")
            code, _, err = typed(["communities", "n.txt", "-k", "3", "--truth", "truth.npz"])
            hold(code == 2 and "name the rows" in err, "rows without names are taken")
            tried += 5
    return tried, "same score in any order, by name or number; others refused"


def _score(graph: str, truth: str) -> float:
    options = ["-k", "3", "--truth", truth, "-o", "c.npz", *NO_REPORT]
    code, _, err = typed(["communities", graph, *options])
    hold(code == 0, err)
    return float(load("c.npz").rank_correlation)


def bombs(rng: Rng) -> Tried:
    started = time.process_time()
    with folder():
        for name, line in (("b.csv.gz", b"1,2\n"), ("b.txt.gz", b"a b\n"), ("b.jsonl.gz", b"{}\n")):
            with gzip.open(name, "wb", compresslevel=1) as file:
                for _ in range(300):
                    file.write(line * (2**20 // len(line)))
            reader = read_matrix if name == "b.csv.gz" else read_texts
            hold(ended(reader, Path(name)) == "refused", f"{name} is read")
    return 3, f"refused; {time.process_time() - started:.0f} CPU s with making them"


def declared(rng: Rng) -> Tried:
    with folder():
        empty = {"indices": np.zeros(1, int), "indptr": np.array([0, 1]), "data": np.ones(1)}
        np.savez("t.npz", shape=[1, 20 * 10**9], format=b"csr", **empty)
        commands = (["topics", "t.npz", "-k", "2"], ["fit", "t.npz", "-k", "2"], ["rank", "t.npz"])
        for command in commands:
            code, _, err = typed(command)
            hold(code == 2 and err.count("\n") == 1, err)
    return len(commands), "refused in one line"


def pipes(rng: Rng) -> Tried:
    names = ["a.npy", "a.npz", "a.csv", "a.txt", "a.mtx", "a.mat", "a.h5ad", "a.parquet", "a.jsonl"]
    readers = (read_matrix, read_texts, read_graph, read_images, read_cube, load)
    with folder():
        for name in names:
            os.mkfifo(name)
            for reader in readers:
                hold(ended(reader, Path(name)) == "refused", f"{reader} reads {name}")
    return len(names) * len(readers), "refused at once"


def kills(rng: Rng) -> Tried:
    """SIGKILL while a result is saved again and again; the next one tidies up."""
    found, left = SPA(2).fit(rng.random((3000, 40))).factorization_, 0
    with folder() as here:
        found.save("r.npz")
        for _ in range(20):
            child = FORK.Process(target=_save_for_ever, args=(found,))
            child.start()
            time.sleep(rng.uniform(0.01, 0.1))
            child.kill()
            child.join()
            left += len(list(here.glob(".*.part")))
            hold(load("r.npz") == found, "half a result")
        found.save("r.npz")
        hold([path.name for path in here.iterdir()] == ["r.npz"], "temporary files stay")
    return 20, f"always a whole file; {left} temporary files, none after the next save"


def _save_for_ever(found: Any) -> None:
    while True:
        found.save("r.npz")


def full_disk(rng: Rng) -> Tried:
    fit = ["fit", "m.npy", "-k", "2", *NO_REPORT, "-m"]
    commands = [[*fit, method, "-o", f"{method}.npz"] for method in ("spa", "hals", "cones")]
    commands += [["convert", "m.npy", "c.npz"], ["convert", "m.npy", "c.npy"]]
    with folder() as here:
        np.save("m.npy", rng.random((2000, 30)))
        for command in commands:
            name = command[-1]
            child = FORK.Process(target=_without_room, args=(command,))
            child.start()
            child.join()
            text = Path("said.txt").read_text()
            hold(text.startswith("2 ") and f"cannot write {name}" in text, f"{name}: {text}")
            hold(not list(here.glob(".*.part")), "temporary files stay")
    return len(commands), "one line that names the file"


def _without_room(command: list[str]) -> None:
    """Every file beyond 2000 bytes fails as on a full disk."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
    code, _, err = typed(command)
    Path("said.txt").write_text(f"{code} {err}"[:1500])


def silent_answers(rng: Rng) -> Tried:
    pixels = rng.dirichlet(np.full(4, 0.3), 400) @ rng.random((4, 30))
    noisy = np.maximum(pixels + 0.02 * rng.standard_normal(pixels.shape), 0).reshape(20, 20, 30)
    found = unmix(noisy, 4, method="purification", random_state=0)
    noted = any("negative values" in note for note in found.notes)
    hold(found.endmembers.min() >= 0 or noted, "negative spectra without a note")
    worst = 0.0
    for seed in range(5):
        network = mixed_membership_network(200, 3, random_state=seed)
        found = find_communities(network.adjacency, 3, energy=1.0, scale=False)
        said = found.factorization.certificate.measures.get("relative_error", 0.0)
        worst = max(worst, said)
        hold(said <= 1 or found.notes, f"relative error {said:.3g} without a note")
    return 6, f"negative spectra noted; relative error of communities at most {worst:.2f}"


# number: what is tried, what came out before, and how
POINTS: dict[str, tuple[str, str, Callable[[Rng], Tried]]] = {
    "1": ("damaged h5ad, mtx, mat, npz", "segmentation faults", damaged_files),
    "2": ("3 x 3, entries 1e-190 to 1e120", "hang, killed after 30 min", eigenvalues),
    "3": ("unsorted, read-only, shared CSR", "137 changed; 4 of 12 by threads", users_data),
    "4": ("tiny, single, dependent: measures", "0 for 1.0; wrong by .25; NaN", measures),
    "5": ("HDF5 that leads out of the file", "any file was copied", hdf5_that_leads_out),
    "6": ("load, report, certify: forged files", "33 tracebacks", hostile_results),
    "7": ("--json, records with NaN", "Infinity in 6197; unequal", strict_results),
    "8": ("-o device, pipe, link, input; umask", "replaced, overwritten, 600", outputs),
    "9": ("Ctrl-C, each method, a process", "nothing kept by some", interrupted),
    "10": ("sane input that crashed", "IndexError and others", sane_input),
    "11": ("simplex weights of long rows", "sums of 0", long_rows),
    "12": ("Purification, 8 x 10, 1e-9 to 1e9", "49 s", wide_purification),
    "13": ("scales 1e-300 to 1e300", "ZeroDivisionError, LinAlgError", extreme_scales),
    "14": ("dense against sparse", "65 differ", storages),
    "15": ("damaged cache of compiled code", "every later fit fails", compiled_cache),
    "16": ("fork while another thread fits", "deadlock", forks),
    "17": ("communities --truth, shuffled", ".095 for .205, silently", known_memberships),
    "a": ("gzip bombs of 300 MB", "no limit", bombs),
    "b": ("npz that declares 20e9 columns", "1e9 words are made", declared),
    "c": ("pipes in the place of files", "wait for ever", pipes),
    "d": ("SIGKILL while saving", "temporary files stay", kills),
    "e": ("full disk", "message without the file", full_disk),
    "f": ("negative spectra, error of communities", "no note, 10.75", silent_answers),
}


def point(rng: Rng, number: str) -> Tried:
    """One point, in the process that is to survive it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return POINTS[number][2](rng)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--point", action="append", choices=list(POINTS), help="only this one")
    failures, worker = 0, Worker()
    print(f"{'':3} {'tried':36} {'times':>5}  {'now':58} before", flush=True)
    for number in parser.parse_args().point or POINTS:
        tried, before, _ = POINTS[number]
        status, found = worker.ask(f"hostile:point:{number}", 0)
        count, now = found if status == "ok" else ("", f"FAILED: {status}")
        print(f"{number:>3} {tried:36} {count:>5}  {now:58} {before}", flush=True)
        if status != "ok":
            failures += 1
            print(found, file=sys.stderr, flush=True)
    worker.close()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
