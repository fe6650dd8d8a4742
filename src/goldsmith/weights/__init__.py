"""Weights of models: kept, carried into somebody else's model by name, by rule or by shape, and read back."""
