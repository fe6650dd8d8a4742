"""What a recipe's author calls: `@case`, `Case`, seeding; and how a recipe imports the assignment's code."""
