"""The parent's side of worker processes: start them, talk to them, limit them, end them, read what they wrote.

Nothing that a worker wrote is trusted: a submission may have replaced it.
"""
