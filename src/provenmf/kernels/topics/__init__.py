"""Loops over documents and their words."""
