"""`python -m goldsmith`: the command line, where its script is not on the path."""

from goldsmith.cli import run

if __name__ == "__main__":
    run()
