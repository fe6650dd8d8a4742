"""A first recipe for a solution that nobody has described: a case for every part that students write.

How a part is called is learned from the course's public tests, from examples in docstrings and from its other parts
(`sightings`), else guessed (`guessing`) and tried (`calls`). What is written (`composing`, `text`, `recipe`) has been
run as a case and judged as gold (`proof`). Runs in the child, where the solution may be imported.
"""
