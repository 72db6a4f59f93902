"""Projections of FastGradient."""
