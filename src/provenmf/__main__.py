"""`python -m provenmf` is the command `provenmf`."""

from provenmf.cli.main import main

main()
