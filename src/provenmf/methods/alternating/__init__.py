"""Alternating least squares: improve weights and components in turn.

Read `loop.py` first: the iteration that `hals.py` and `anls.py` fill with their own step.
`starts.py` says where to begin, `coarse.py` solves a sample first, `refine.py` polishes the
answer of another method.
"""
