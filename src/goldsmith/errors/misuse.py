"""The error a recipe gets when it asks for something that cannot become gold."""


class RecipeMisuse(Exception):
    """Raised inside a recipe; its message is one sentence for the recipe's author."""
