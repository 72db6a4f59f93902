"""The mathematical vocabulary: short pure functions with plain names."""
