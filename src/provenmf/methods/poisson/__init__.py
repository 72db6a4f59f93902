"""Factorization of counts under the Kullback-Leibler divergence: Poisson likelihood.

Read `solver.py` first: the alternation with extrapolation. `rows.py` improves or solves the
weights of rows with the components fixed.
"""
