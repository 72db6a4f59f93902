"""Purification (Li, Liang & Risteski 2016): ReLU decoding, features from covariances.

Read `solver.py` first: Algorithm 1. `kernels.py` has the passes over the data: decoding, moments,
and the balancing of unequal proportions (Section 6).
"""
