"""The command `provenmf`, also as `python -m provenmf`."""

import _signal as signal  # already loaded: Ctrl-C within an import would end in a traceback
import io
import os
import sys

INTERRUPTED = "Interrupted before there was an answer; nothing was written.\n"
LATER = 0.1  # seconds until a lost Ctrl-C is repeated


def main() -> None:
    """Run the command; Ctrl-C at any time ends it with one line."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:  # half-loaded libraries turn Ctrl-C into other errors
        signal.signal(signal.SIGINT, stop_at_once)
    sys.unraisablehook = interrupt_again
    open_streams()
    try:
        from provenmf.cli.main import main as run

        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        run()
    except KeyboardInterrupt:
        sys.stderr.write(INTERRUPTED)
        sys.exit(130)
    finally:
        if ours:  # only the exit is left
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def stop_at_once(*_: object) -> None:
    """Exit with one line; suppress the exit messages of half-loaded libraries."""
    try:
        os.write(2, INTERRUPTED.encode())
    finally:
        os._exit(130)


def open_streams() -> None:
    """Replace standard streams that the caller has closed by the null device; print any letter.

    Otherwise the next file that is opened takes the place of one, and libraries write into it.
    """
    try:
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(descriptor)
    except OSError:
        pass
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def interrupt_again(lost: "sys.UnraisableHookArgs") -> None:
    """Raise KeyboardInterrupt again if Python dropped it inside a library's callback.

    Later, because Python drops what is raised in here too.
    """
    if issubclass(lost.exc_type, KeyboardInterrupt):
        import _thread
        import threading

        again = threading.Timer(LATER, _thread.interrupt_main)
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(lost)


if __name__ == "__main__":
    main()
