"""How close a result is to the truth, or to what people expect."""
