"""Small constrained least-squares problems, many at once, and the products behind them."""
