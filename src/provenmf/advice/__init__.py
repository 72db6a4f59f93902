"""Before a fit: how many components, and which guarantee can apply to this data."""
