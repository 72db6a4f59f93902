"""Measures of recovery, of topics, and of agreement with labels."""
