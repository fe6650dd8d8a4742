"""The sandbox that a process enters before it runs untrusted code: Landlock, seccomp, limits, bubblewrap if it works.

Lowest layer: it knows neither what runs inside nor what gold is. Imports nothing heavy.
"""
