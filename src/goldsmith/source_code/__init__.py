"""Code of recipes, starters and solutions, read and rewritten as text or compiled, but never run."""
