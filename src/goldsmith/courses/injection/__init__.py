"""`goldsmith inject` and `reset`: put the solution in the starter's place and take it back, with a journal."""
