"""scikit-learn classes around the solvers; no mathematics here."""
