"""The process that runs a recipe: recording, replaying, trials, drafting; and the fork server that starts it quickly.

Everything here runs beside code that nobody trusts. The parent never imports it (`make lint` makes sure of that).
"""
