"""What Goldsmith knows of torch."""
