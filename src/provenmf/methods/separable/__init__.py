"""Methods that choose rows of the data as components: anchors.

Read `spa.py` first, the shortest; `xray.py`, `fast_anchor.py` and `fast_gradient.py` are
alternatives from the literature, each with its estimator. `anchors.py` has what they share,
`farthest.py` the search for the farthest row in few passes, `vertices.py` means of rows around the
anchors. `margins.py` and `guarantee.py` say what can be proved.
"""
