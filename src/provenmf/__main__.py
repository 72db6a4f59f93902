"""The command `provenmf`, also as `python -m provenmf`."""

import sys


def main() -> None:
    """Run the command; Ctrl-C while libraries are still being loaded ends it with one line too."""
    try:
        from provenmf.cli.main import main as run

        run()
    except KeyboardInterrupt:
        print("Interrupted before there was an answer; nothing was written.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
