"""Sparse mixtures of rows: search, pairwise steps, dual ascent."""
