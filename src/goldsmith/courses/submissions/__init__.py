"""What was submitted: which of its files are the starter's, and how much of it is read."""
