"""Methods that choose rows of the data as components: anchors.

Read `spa.py` first, the shortest; `xray.py`, `fast_anchor.py`, `fast_gradient.py` (with
`price.py`) and `geo_nmf.py` are alternatives from the literature, `hull.py` grows a hull.
`anchors.py` and `farthest.py` have what they share.
"""
