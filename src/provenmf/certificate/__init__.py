"""Theorems as functions of measured quantities; they never call a solver."""
