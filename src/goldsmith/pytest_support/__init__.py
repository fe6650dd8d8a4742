"""The pytest plugin's work: gold in tests. The plugin's hooks and fixtures only delegate to here.

Modules are imported when they are first needed: a pytest run that never uses gold must not wait for NumPy.
"""
