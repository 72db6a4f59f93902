"""Sweeps over the coordinates of one factor."""
