"""The process that runs a recipe: recording, replaying, trials, drafting; and the fork server that starts it quickly.

Everything here runs in one process with untrusted code. The parent never imports it, which `make lint` checks.
"""
