"""Submissions, attacks, course shapes and examples that tests and benchmarks judge."""
