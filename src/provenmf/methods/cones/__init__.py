"""Cone NMF (Liu & Tan 2017): greedy clusters, then one rank-one factorization for each.

Read `solver.py` first: Algorithms 1 and 2. `kernels.py` multiplies and factorizes all clusters at
once; `enclosing_cones.py` finds the smallest cones around them, for the guarantee.
"""
