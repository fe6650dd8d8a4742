"""Guard: is any solution visible in what students get? Reads, compares, reports; changes nothing and runs nothing."""
