"""Render a result as one self-contained HTML page."""

from provenmf.report.page import render, write

__all__ = ["render", "write"]
