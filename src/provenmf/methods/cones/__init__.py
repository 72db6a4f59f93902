"""Cone NMF (Liu & Tan 2017): greedy clusters, then one rank-one factorization for each.

Read `solver.py` first: Algorithms 1 and 2. `farthest_first.py` chooses the centroids,
`rank_one.py` finds the leading singular pair of each cluster.
"""
