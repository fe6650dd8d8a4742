"""What Goldsmith knows of JAX, and of the libraries of models that are built on it: Flax and Equinox."""
