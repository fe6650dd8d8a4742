"""`goldsmith guard`: look for solutions in what students get. It only reads and reports; nothing is changed or run."""
