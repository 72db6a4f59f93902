"""Purification (Li, Liang & Risteski 2016): ReLU decoding, features from covariances.

Read `solver.py` first: Algorithm 1. `decoding.py` is the decoder with the least infinity norm,
`balancing.py` evens out unequal proportions of the features (Section 6).
"""
