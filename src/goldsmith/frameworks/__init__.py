"""What Goldsmith knows of the libraries whose arrays and models it records and judges, each in a folder of its own."""
