"""A token that a test keeps is judged by the scores that were kept with it, or seen inside."""

from __future__ import annotations

from pathlib import Path

import pytest

TEST = """
import torch

W = torch.randn(24, 19, generator=torch.Generator().manual_seed(1))
W[:, 3] = W[:, 7] * (1 - 2e-7)


def tokens(x, off={off}):
    scores = x.flip(-1) @ W.flip(0) if off else x @ W
    return {{"scores": scores, "tokens": (scores + off * torch.eye(19)[3]).argmax(-1)}}


def test_tokens(gold):
    gold.check(tokens, torch.randn(200, 24, generator=torch.Generator().manual_seed(2)))
"""


@pytest.mark.long
def test_a_token_that_ties_with_the_kept_one_agrees(pytester: pytest.Pytester) -> None:
    def result(off: float, *options: str) -> pytest.RunResult:
        path = Path(pytester.path) / "test_tokens.py"
        path.write_text(TEST.format(off=off), encoding="utf-8")
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *options)

    result(0.0, "--gold-update").assert_outcomes(passed=1)
    result(1e-6).assert_outcomes(passed=1)
    wrong = result(0.3)
    wrong.assert_outcomes(failed=1)
    wrong.stdout.fnmatch_lines(["*tokens: * of 200 elements*"])
