"""What gold is made for: a recipe, the implementation that it runs on, and where its gold is."""
