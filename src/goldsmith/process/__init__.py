"""The parent's side of worker processes: start them, talk to them, limit them, end them; and the form of messages and
result files, which a worker writes by the same modules.

Nothing that a worker wrote is trusted: a submission may have replaced it. `untrusted_files.py` opens it safely; what a
submission's runs left is parsed and checked in `check/replay_results.py`.
"""
