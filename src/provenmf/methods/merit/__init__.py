"""MERIT (Nguyen, Fu & Wu 2021): anchors by a sparse self-dictionary, X ≈ C X.

Read `solver.py` first: Algorithm 1, our pairwise steps, how anchors are read off. `mixture.py`
holds C, its steps and the duality gap (`kernels.py` compiled loops),
`start.py` where to begin and which rows may be vertices, `number.py` how many anchors there are,
`settings.py` all thresholds, `guarantee.py` what can be proved.
"""
