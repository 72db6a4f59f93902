"""One algorithm a file; each reads like the box in its paper and returns a `Solution`."""
