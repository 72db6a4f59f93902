"""AND (Li & Liang 2017): threshold the decoded weights, fit the features to them, repeat.

Read `solver.py` first: the paper's loop over stages and the thresholds. `kernels.py` has the passes
over the data, `adaptive.py` our schedule of thresholds and what it repairs.
"""
