"""Methods that choose rows of the data as components: anchors.

Read `spa.py` first: SPA and FastAnchor, one row at a time; `xray.py` and `fast_gradient.py` are
alternatives from the literature, each with its estimator. `anchors.py` has what they share,
the search for the farthest row with it, `vertices.py` means of rows around the anchors.
`guarantee.py` says what can be proved, `margins.py` what noise each anchor survives.
"""
