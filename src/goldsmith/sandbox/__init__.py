"""A process locks itself in before it runs code that nobody trusts: Landlock, seccomp, limits, bubblewrap if it works.

At the bottom of the arrows: what runs inside is not known here, nor what gold is. Imports nothing heavy.
"""
