"""The API of recipes: `@case`, `Case`, seeding; and how a recipe imports the assignment's code."""
