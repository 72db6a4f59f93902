"""Minimum-volume factorization: unique components though no row is pure.

Read `solver.py` first: the objective, the path of penalties and the rule that ends it.
"""
