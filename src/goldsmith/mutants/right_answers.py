"""Right variants of the solution as a measurement tries them: what the gold fails of them are false failures."""

from __future__ import annotations

from collections.abc import Sequence

from goldsmith.mutants.mutants import Mutant, code_of, written_functions
from goldsmith.source_code.rewriting.right_variants import Variant, whole_variants
from goldsmith.targets.target import Placement, Target

OPERATOR = "right-variant"
"""What a right variant has in the place of a mutation operator."""


def right_answers(target: Target, placed: Sequence[Placement], most: int) -> list[Mutant]:
    """Return up to `most` variants of the solution that are right, spread over its files: in each, all that students
    write in one file is written in another way."""
    files = []
    for item in code_of(target, placed):
        parts = written_functions(item.read(), target.starter.read(item.target) if target.starter else None)
        if parts:
            files.append((item, parts))
    found = []
    for number, (item, parts) in enumerate(files):
        share = most * (number + 1) // len(files) - most * number // len(files)
        variants = whole_variants(item.read(), parts, most=share) if share else []
        found += [_as_mutant(item, variant) for variant in variants]
    return found


def _as_mutant(item: Placement, variant: Variant) -> Mutant:
    return Mutant(
        name=f"{item.target.as_posix()}/{variant.name}",
        file=item.target,
        part=variant.part,
        operator=OPERATOR,
        family="",
        description=variant.description,
        line=variant.line,
        before="",
        after="",
        lines=(variant.line, variant.line),
        span=((variant.line, 0), (variant.line, 0)),
        content=variant.content,
    )
