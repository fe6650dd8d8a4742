"""Testing: gold in the hands of a pytest test. What the plugin's hooks and fixtures do lives here, behind thin hooks.

Every name is imported when it is first asked for: a pytest that never speaks of gold must not wait for NumPy.
"""
