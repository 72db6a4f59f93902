"""Alternating least squares: improve weights and components in turn.

Read `solver.py` first: the iteration of HALS and ANLS. `steps.py` forms and solves the problems of
one half of it; `starts.py` has the starts of all iterative methods.
"""
