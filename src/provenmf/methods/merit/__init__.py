"""MERIT (Nguyen, Fu & Wu 2021): anchors from how every row mixes all rows.

Read `solver.py` first: Algorithm 1 and our pairwise steps. `mixture.py` holds C and its steps,
`steps.py` which of them comes next,
`start.py` where to begin, `dictionary.py` which rows may be vertices, `gap.py` how far the
optimum can be, `number.py` how many anchors there are.
"""
