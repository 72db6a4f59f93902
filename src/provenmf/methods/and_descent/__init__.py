"""AND (Li & Liang 2017): threshold the decoded weights, fit the features to them, repeat.

Read `solver.py` first: it is the paper's loop over stages. `stage.py` is one stage, `sums.py` the
one pass over the data inside it, `schedule.py` the thresholds. `span.py` projects the start;
`facets.py` and `restart.py` mend components that took a wrong turn; `stream.py` takes batches.
"""
