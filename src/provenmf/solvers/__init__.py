"""One algorithm a family: `Blocks` in, `Solution` out.

`run.py` owns looping, timing and stopping; `weights.py` finds weights of given components.
Every other folder is a family; its first lines say which file to read first.
"""
