"""Factorization of counts under the Kullback-Leibler divergence: Poisson likelihood.

Read `solver.py` first: the alternation with extrapolation. `counts.py` sweeps over the weights of
rows, and over the components of columns, with `kernels.py`.
"""
