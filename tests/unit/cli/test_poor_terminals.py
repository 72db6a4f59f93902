"""Commands where Python has few letters, no docstrings, no folders or no streams."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest


def run(arguments, folder, flags=(), **environment):
    return subprocess.run(
        [sys.executable, *flags, "-m", "provenmf", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
    )


def test_letters_that_the_terminal_lacks_are_shown_by_number(tmp_path):
    texts = "ship sail wave f\u00f6hn\nbread oven flour\n" * 8
    (tmp_path / "t.txt").write_text(texts, encoding="utf-8")
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    arguments = ["topics", "t.txt", "-k", "2", "-o", "t.npz", "--no-report"]
    done = run(arguments, tmp_path, **ascii_only, PYTHONIOENCODING="ascii:strict")
    assert done.returncode == 0, done.stderr
    assert b"f\\xf6hn" in done.stdout


SPA = ["fit", "m.npy", "-k", "2", "-m", "spa", "-o", "m.npz", "--no-report", "--force"]


@pytest.fixture
def folder(tmp_path):
    np.save(tmp_path / "m.npy", np.random.default_rng(0).random((20, 5)))
    return tmp_path


def test_nothing_of_what_is_usual(folder):
    """Settings that nobody understands, and neither home, cache nor temporary folder."""
    nowhere = os.path.join(folder, "m.npy", "no", "folder")
    names = ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "TMPDIR", "MPLCONFIGDIR")
    odd = {"OMP_NUM_THREADS": "0", "NUMBA_NUM_THREADS": "abc", "COLUMNS": "x", "LANG": "C"}
    quick = {"NUMBA_OPT": "0", "PYTHONOPTIMIZE": "2"}  # nothing compiled is kept
    done = run([*SPA, "--no-certify"], folder, **dict.fromkeys(names, nowhere), **odd, **quick)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("threads", ["0", "-1"])
def test_a_number_of_threads_that_numba_refuses(folder, threads):
    done = run(SPA, folder, NUMBA_NUM_THREADS=threads)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count(b"\n") == 1
    assert f"NUMBA_NUM_THREADS is '{threads}'; set it to 1".encode() in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="closes streams as a shell does")
@pytest.mark.parametrize(("data", "code"), [("m.npy", 0), ("no.npy", 2)])
def test_closed_streams(folder, data, code):
    """Files that are opened later must not take their places."""
    command = " ".join([sys.executable, "-m", "provenmf", *SPA]).replace("m.npy", data)
    done = subprocess.run(["sh", "-c", f"{command} <&- >&- 2>&-"], cwd=folder)
    assert done.returncode == code
    assert (folder / "m.npz").exists() == (code == 0)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_an_error_that_cannot_be_told(folder):
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "provenmf", "fit", "no.npy"], stderr=full)
    assert done.returncode == 2


@pytest.mark.parametrize("command", [["--help"], ["diagnose", "m.npy", "--methods", "spa"], SPA])
@pytest.mark.skipif(os.name != "posix", reason="pipes as a shell makes them")
def test_a_reader_that_goes_away_is_no_error(folder, command):
    """`| head` ended in exit code 1 or a traceback."""
    process = subprocess.Popen(
        [sys.executable, "-m", "provenmf", *command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert b"Traceback" not in err and b"Exception ignored" not in err


@pytest.mark.parametrize("columns", ["0", "-5", "100000", "1"])
def test_terminals_of_sizes_that_no_terminal_has(folder, columns):
    command = ["--help"] if columns == "-5" else ["diagnose", "m.npy", "--methods", "spa"]
    done = run(command, folder, COLUMNS=columns)
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.decode().splitlines())) <= 200


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
@pytest.mark.parametrize("seconds", [0.4, 1.0])
def test_an_interruption_while_libraries_load_is_one_line(folder, seconds):
    process = subprocess.Popen(
        [sys.executable, "-m", "provenmf", *SPA],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode in (0, 130, -signal.SIGINT), err
    assert process.returncode != 130 or err.count(b"\n") == 1
    if process.returncode != -signal.SIGINT:  # Python itself was still starting
        assert b"Traceback" not in err


@pytest.mark.skipif(os.name != "posix", reason="file names with control characters")
def test_names_and_cells_do_not_steer_the_terminal(folder):
    odd = "a\x1b[31mb.csv"
    (folder / odd).write_text("x,\x1b[2Jy\n1,\x1b]0;title\x07\n")
    for command in (["fit", odd, "-k", "1"], ["topics", odd, "-k", "2"], ["fit", "\x1b[1m"]):
        done = run(command, folder)
        assert done.returncode == 2 and b"\x1b" not in done.stderr + done.stdout
        assert done.stderr.count(b"\n") == 1 and len(done.stderr) < 800


def test_a_mistake_is_told_before_the_libraries_load(folder):
    program = (
        "import sys; from provenmf.cli.main import main\n"
        "for wrong in sys.argv[1:]:\n"
        "    sys.argv = ['provenmf', *wrong.split()]\n"
        "    try: main()\n"
        "    except SystemExit: pass\n"
        "    heavy = {'numpy', 'scipy', 'sklearn', 'numba', 'jinja2'} & sys.modules.keys()\n"
        "    if heavy: raise SystemExit(f'{wrong} loads {heavy}')"
    )
    wrongs = ["--help", "fit no.npy", "fit m.npy -m no", "topics m.npy -k 0", "report m.npy"]
    wrongs += ["topics m.npy --stop-words no", "unmix m.npy --shape no"]
    done = subprocess.run([sys.executable, "-c", program, *wrongs], cwd=folder, capture_output=True)
    assert done.returncode == 0 and done.stderr.count(b"Error: ") == len(wrongs) - 1, done.stderr


def test_the_languages_of_the_option_are_those_of_the_library():
    from provenmf.applications.topics.texts import stop_word_lists
    from provenmf.cli import options

    assert options.LANGUAGES == tuple(stop_word_lists())


def test_nothing_is_imported_before_the_command_handles_interruptions():
    program = (
        "import sys; before = set(sys.modules)\n"
        "import provenmf.__main__\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert set(done.stdout.split()) <= {"_signal", "provenmf", "provenmf.__main__"}, done
