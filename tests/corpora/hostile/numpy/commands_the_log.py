"""Says what a machine that runs tests takes for commands to itself, wherever a line may begin."""

import sys


def answer(case, x, start=None):
    words = "::error::x ::set-output name=a::b ##[add-mask]y ##vso[task.setvariable variable=z]w"
    print(f"\n::error file=a.py::{words}\n::stop-commands::t", flush=True)
    print(f"\n  ::warning::{words}", file=sys.stderr, flush=True)
    raise type("::error::Name", (Exception,), {})(f"\n::error::{words}\n  ::notice::{words}")
