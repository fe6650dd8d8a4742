"""One side of a parity that lives in this process: a model or function that is run, traced and put back as it was."""
