"""Newton steps on rows of a Poisson regression with nonnegative weights."""
