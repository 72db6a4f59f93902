"""MERIT (Nguyen, Fu & Wu 2021): anchors from how every row mixes all rows.

Read `solver.py` first: Algorithm 1, our pairwise steps, how anchors are read off. `mixture.py`
holds C and its steps (compiled loops in `kernels.py`), `start.py` where to begin and which rows may
be vertices, `gap.py` how far the optimum can be, `settings.py` all thresholds, `guarantee.py` what
can be proved.
"""
