"""One self-contained HTML page from a saved result, and nothing else."""

from provenmf.report.page import render, write

__all__ = ["render", "write"]
