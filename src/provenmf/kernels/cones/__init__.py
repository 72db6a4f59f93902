"""Products with the rows of each cluster."""
