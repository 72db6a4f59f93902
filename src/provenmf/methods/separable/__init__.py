"""Methods that choose rows of the data as components: anchors.

Read `spa.py` first: SPA and FastAnchor, one row at a time; `xray.py` and `fast_gradient.py` are
alternatives from the literature, each with its estimator. `anchors.py` has what they share,
`vertices.py` means of rows around the anchors; `methods/farthest.py` finds the farthest row.
`guarantee.py` says what can be proved, `margins.py` what noise each anchor survives.
"""
