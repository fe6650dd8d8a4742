"""`goldsmith inject` and `reset`: the solution in the starter's place and back, with a journal."""
