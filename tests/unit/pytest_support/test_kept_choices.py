"""A token that a test keeps is judged by the scores that were kept with it, or seen inside."""

from __future__ import annotations

from support.pytest_values import KeepingTests

TEST = """
W = torch.randn(24, 19, generator=torch.Generator().manual_seed(1))
W[:, 3] = W[:, 7] * (1 - 2e-7)


def tokens(x, off={off}):
    scores = x.flip(-1) @ W.flip(0) if off else x @ W
    return {{"scores": scores, "tokens": (scores + off * torch.eye(19)[3]).argmax(-1)}}


def test_tokens(gold):
    gold.check(tokens, torch.randn(200, 24, generator=torch.Generator().manual_seed(2)))
"""


def test_a_token_that_ties_with_the_kept_one_agrees(keeping: KeepingTests) -> None:
    keeping.record(TEST.format(off=0.0))
    keeping.run(tests=TEST.format(off=1e-6)).assert_outcomes(passed=1)
    wrong = keeping.run(tests=TEST.format(off=0.3))
    wrong.assert_outcomes(failed=1)
    wrong.stdout.fnmatch_lines(["*tokens: * of 200 elements*"])


NOISY = """
W = np.random.default_rng(3).normal(size=(24, 17)).astype(np.float32)


def tokens(x):
    scores, large = x @ W, x * np.float32(4e6)
    scores[:, 5] = large.sum(-1) + x[:, 0] - large[:, ::-1].sum(-1)
    return scores, {tokens}


def test_tokens(gold):
    gold.check(tokens, np.random.default_rng(0).normal(size=(80, 24)).astype(np.float32))
"""


def test_what_noise_decides_does_not_pass(keeping: KeepingTests) -> None:
    keeping.record(NOISY.format(tokens="scores.argmax(-1)"))
    anything = "np.where((scores.max(-1) < 4) & (np.arange(80) < 30), 5, scores.argmax(-1))"
    found = keeping.run(tests=NOISY.format(tokens=anything))
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["*inconclusive*choices in * are not judged*"])


ROWS = """
ROWS = np.random.default_rng(0).normal(size=(500, 4)).astype(np.float32)
ROWS[:, 0] = 1.0


def test_rows(gold):
    rows = {rows}
    gold.check({{"boxes": rows, "labels": np.arange(500) % 7}}, unordered={unordered})
"""
SHUFFLED = "(ROWS * np.float32(1 + 1e-7))[np.random.default_rng(1).permutation(500)]"


def test_rows_that_may_come_in_any_order_do_and_others_do_not(keeping: KeepingTests) -> None:
    keeping.record(ROWS.format(rows="ROWS", unordered='["boxes"]'))
    keeping.run(tests=ROWS.format(rows=SHUFFLED, unordered='["boxes"]')).assert_outcomes(passed=1)
    other = keeping.run(tests=ROWS.format(rows=f"{SHUFFLED} + (np.arange(500) == 3)[:, None]", unordered=["boxes"]))
    other.assert_outcomes(failed=1)
    together = keeping.run(tests=ROWS.format(rows=SHUFFLED, unordered="True"))
    together.assert_outcomes(failed=1)  # each label is that of its box
    for unordered, said in ((["box"], "*the value has no 'box'*"), (["labels", "boxes.0"], "*has no 'boxes.0'*")):
        found = keeping.run(tests=ROWS.format(rows="ROWS", unordered=unordered))
        found.stdout.fnmatch_lines([said])


FOLLOWING = """
W = np.random.default_rng(3).normal(size=(24, 17)).astype(np.float32)
W[:, 2] *= 2
W[:, 11] = W[:, 2]


def route(x):
    scores = x @ W
    best = {best}
    return {{"scores": scores, "best": best, "y": {y} * (1 + best)[:, None].astype(x.dtype)}}


def test_route(gold):
    gold.check(route, np.random.default_rng(0).normal(size=(80, 24)).astype(np.float32))
"""


def test_what_follows_from_equal_scores_is_doubt_and_what_does_not_differs(keeping: KeepingTests) -> None:
    keeping.record(FOLLOWING.format(best="scores.argmax(-1)", y="x"))
    last = "16 - scores[:, ::-1].argmax(-1)"
    doubt = keeping.run(tests=FOLLOWING.format(best=last, y="x"))
    doubt.stdout.fnmatch_lines(["*inconclusive: * of 80 choices in best are not judged: 11 is chosen before 2*"])
    wrong = keeping.run(tests=FOLLOWING.format(best=last, y="1.1 * x"))
    wrong.assert_outcomes(failed=1)
    wrong.stdout.no_fnmatch_line("*inconclusive*")
