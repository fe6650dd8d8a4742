"""`goldsmith test`: the internal tests must pass on the solution and fail on the starter."""
