"""The command `provenmf`, also as `python -m provenmf`."""

import _thread
import contextlib
import os
import sys
import threading

LATER = 0.1  # seconds until a lost Ctrl-C is repeated


def main() -> None:
    """Run the command; Ctrl-C while libraries are still being loaded ends it with one line too."""
    sys.unraisablehook = interrupt_again
    open_closed_streams()
    try:
        from provenmf.cli.main import main as run

        run()
    except KeyboardInterrupt:
        print("Interrupted before there was an answer; nothing was written.", file=sys.stderr)
        sys.exit(130)


def open_closed_streams() -> None:
    """Nothing in the place of standard streams that the caller has closed.

    Otherwise the next file that is opened takes the place of one, and libraries write into it.
    """
    with contextlib.suppress(OSError):
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(descriptor)
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))


def interrupt_again(lost: "sys.UnraisableHookArgs") -> None:
    """Repeat a Ctrl-C that came while a library called back, where Python drops exceptions.

    Later, because Python drops what is raised in here too.
    """
    if issubclass(lost.exc_type, KeyboardInterrupt):
        again = threading.Timer(LATER, _thread.interrupt_main)
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(lost)


if __name__ == "__main__":
    main()
