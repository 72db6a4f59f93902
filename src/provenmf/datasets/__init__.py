"""Synthetic data with its truth, and loaders of real data."""
