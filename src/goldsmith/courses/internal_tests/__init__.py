"""`goldsmith test`: run the internal tests, which must pass on the solution and fail on the starter."""
