"""The parent's side of worker processes: start them, talk to them, limit them, end them, read what they wrote.

What a worker wrote is opened with suspicion: a submission may have put anything in its place.
"""
