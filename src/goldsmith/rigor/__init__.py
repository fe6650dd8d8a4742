"""How sharp gold is: the internal tests on solution and starter, and mutants of the solution beside the gold.

Here live the mutation operators, the mutants they make, their trial, and the score. What a mutant's run is worth is
decided by `checking`, as for any submission.
"""
