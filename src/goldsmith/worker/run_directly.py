"""`goldsmith.main()`: run a recipe alone, or hand it over to the session that supervises it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from goldsmith.recipe import decorators as registry
from goldsmith.recipe.seeding import DEFAULT_SEED, seed_everything
from goldsmith.worker.record_session import Session

_active: Session | None = None


def activate(session: Session) -> None:
    """Let `main()` record into `session` from now on: the recipe runs under `goldsmith generate`."""
    global _active
    _active = session


def main() -> None:
    """Run this recipe's cases; the last line of a recipe, under `if __name__ == "__main__":`.

    `python -m goldsmith.run_recipe RECIPE --output DIR` runs it alone: files are written, and not verified.
    """
    if _active is not None:
        _active.run(registry.registered)
        return
    options = _parse(sys.argv[1:])
    seed_everything(options.seed, threads=options.threads)
    session = Session(
        options.output,
        seed=options.seed,
        device=options.device,
        threads=options.threads,
        on_case=lambda name, number, of: print(f"[{number}/{of}] {name}", flush=True),
    )
    session.run(registry.registered)
    for item in session.facts:
        print(f"wrote {options.output / item.file.name}")
    print("Not verified: `goldsmith generate` does that, and publishes.")


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Record this recipe's cases into a folder, on the code as it stands.")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="the folder to write into")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="default: %(default)s")
    parser.add_argument("--device", default="cpu", help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=1, help="default: %(default)s")
    return parser.parse_args(arguments)
