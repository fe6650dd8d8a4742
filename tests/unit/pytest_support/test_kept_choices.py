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


NOISY = """
import numpy as np

W = np.random.default_rng(3).normal(size=(24, 17)).astype(np.float32)


def tokens(x):
    scores, large = x @ W, x * np.float32(4e6)
    scores[:, 5] = large.sum(-1) + x[:, 0] - large[:, ::-1].sum(-1)
    return scores, {tokens}


def test_tokens(gold):
    gold.check(tokens, np.random.default_rng(0).normal(size=(80, 24)).astype(np.float32))
"""


def test_what_noise_decides_does_not_pass(pytester: pytest.Pytester) -> None:
    path = Path(pytester.path) / "test_noisy.py"
    path.write_text(NOISY.format(tokens="scores.argmax(-1)"), encoding="utf-8")
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "--gold-update").assert_outcomes(passed=1)
    anything = "np.where((scores.max(-1) < 4) & (np.arange(80) < 30), 5, scores.argmax(-1))"
    path.write_text(NOISY.format(tokens=anything), encoding="utf-8")
    found = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["*inconclusive*choices in * are not judged*"])
