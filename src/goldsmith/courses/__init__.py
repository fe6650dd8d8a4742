"""What only courses need: layout, grading, packs, kits, the guard, notebooks, scaffolding, injection, tests, skills."""
