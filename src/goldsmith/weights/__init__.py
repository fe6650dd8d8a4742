"""Model weights: storing them, placing them in another model by name, by rule or by shape, and reading them back."""
