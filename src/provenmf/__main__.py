"""`python -m provenmf` is the command `provenmf`."""

from provenmf.cli.main import main

if __name__ == "__main__":
    main()
