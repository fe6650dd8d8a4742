"""Make text from a submission safe to show: one printable line of limited length, without the grader's paths; and
redact whole verdicts, which also removes gold's values."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from goldsmith.foundation.log_injection import BLANK_LETTERS, without_commands
from goldsmith.judge.verdicts import OWN_WEIGHTS, Verdict
from goldsmith.judge.weight_caveat import CAVEAT

MAX_TEXT_CHARS = 400
_MAX_NOTES = 20
_MARKUP = re.compile(r"([\\`*_\[\]<>#@|~&!])")
_NAME = re.compile(
    r"""(
        `[\w.]+`                                    # what its author has marked as code
        | (?<![\w.`/])(?=[^\W\d])(?:
            (?:\w+/)*\w{2,}(?:\.\w+)+               # blocks.0.norm, parts/policy.py
            | \w*_\w*                               # gold_output
            | [A-Z]+[a-z]+[A-Z]\w+                  # FeedForward
            | [A-Z]{2,}[a-z]\w+                     # RMSNorm
        )(?![\w`])
    )""",
    re.VERBOSE | re.ASCII,
)
"""Matches names from code, as opposed to words."""
_QUOTED = re.compile(r"""(['"])(?:file:/{0,2})?/[^'"\n]*/([^'"/\n]*)\1""")
_MIN_LINE_CHARS = 16
"""Shorter lines of a private file reveal nothing."""
_BARE = re.compile(r"""(?:file:/{0,2}|~\w*|(?<![\w.~/…-]))(?:/+[^\s/'"`:,;()<>|\[\]{}]+){2,}""")


@dataclass(frozen=True)
class Redaction:
    """What students must not see: the grader's `paths`, and the lines of private `files` such as a recipe outside the
    starter. Tracebacks are matched by file name, all other text by `lines`."""

    paths: Sequence[str] = ()
    files: Sequence[str] = ()
    lines: Sequence[str] = ()


def private_lines(private: Iterable[str], public: Iterable[str]) -> tuple[str, ...]:
    """List lines of `private` texts that are long enough to reveal something and are in no `public` text, longest
    first."""
    known = {_join(line) for text in public for line in text.splitlines()}
    found = {_join(line) for text in private for line in text.splitlines()}
    telling = sorted(line for line in found - known if len(line) >= _MIN_LINE_CHARS)
    return tuple(sorted(telling, key=len, reverse=True))


def _join(text: str) -> str:
    return " ".join(text.split())


def one_line(text: str, longest: int = MAX_TEXT_CHARS) -> str:
    """Join text into one line, escape what cannot be seen (control characters, direction marks, broken bytes), and cut
    it at `longest`."""
    line = without_commands(_join(text[: 8 * longest]))
    if not line.isprintable() or not BLANK_LETTERS.isdisjoint(line):
        shown = (char.isprintable() and char not in BLANK_LETTERS for char in line)
        line = "".join(char if is_shown else _escape(ord(char)) for char, is_shown in zip(line, shown, strict=True))
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escaped(text: str) -> str:
    """Escape text for Markdown, in one line: it cannot become a link, a mention, a table cell or any other markup.
    Names from code become code, which is also readable unrendered."""
    pieces = _NAME.split(one_line(text))  # every second one is a name
    return "".join(f"`{piece.strip('`')}`" if index % 2 else _inert(piece) for index, piece in enumerate(pieces))


def code(text: str) -> str:
    """Format a name as code in Markdown."""
    line = one_line(text)
    return f"`{line}`" if line and not set(line) & {"`", "|", "\\"} else escaped(line)


def _inert(text: str) -> str:
    return _MARKUP.sub(r"\\\1", text).replace("://", ":\\//").replace("www.", "www\\.")


def without_paths(text: str, paths: Sequence[str] = ()) -> str:
    """Shorten absolute paths to their last part; `paths` are known to be the grader's."""
    for path in sorted(filter(None, (path.rstrip("/") for path in paths)), key=len, reverse=True):
        text = text.replace(f"{path}/", "…/").replace(path, "…")
    text = _QUOTED.sub(r"\1…/\2\1", text)
    return _BARE.sub(lambda found: f"…/{found[0].rpartition('/')[2]}", text)


def redact(verdict: Verdict, veil: Redaction) -> Verdict:
    """Return the verdict as its author may see it: without gold's values and private lines, all text cleaned."""
    plain = _shown(msgspec.to_builtins(verdict), tuple(veil.paths), tuple(veil.lines))
    plain["choices"] = plain["choices"][:_MAX_NOTES]
    plain["unfinished"] = plain["unfinished"][:_MAX_NOTES]
    plain["notes"] = plain["notes"][:_MAX_NOTES]
    for case in plain["cases"]:
        if case["kind"] == OWN_WEIGHTS:
            case["reason"] = CAVEAT  # without gold's mean and spread
        case["notes"] = case["notes"][:_MAX_NOTES]
        for item in case["chosen"]:
            item["why"] = ""  # it tells what gold chose, and its scores
        for name in ("leaves", "natural"):
            case[name] = [_without_gold(leaf) for leaf in case[name]]
        for module in case["modules"]:
            module["said"] = ""  # it had seen gold's intermediate values by then, and may reveal them
            module["relative"] = None if module["alone"] else module["relative"]
        if case["failure"]:
            for frame in case["failure"]["frames"]:
                is_private = frame["file"] in veil.files or frame["file"].rpartition("/")[2] in veil.files
                frame["text"] = "" if is_private else frame["text"]
    return msgspec.convert(plain, Verdict)


def _shown(value: Any, paths: tuple[str, ...], lines: tuple[str, ...]) -> Any:
    kind = type(value)
    if kind is str:
        return _text(value[: 8 * MAX_TEXT_CHARS], paths, lines)
    if kind is dict:
        return {key: _shown(item, paths, lines) for key, item in value.items()}
    return [_shown(item, paths, lines) for item in value] if kind in (list, tuple) else value


@functools.lru_cache(maxsize=2**12)
def _text(value: str, paths: tuple[str, ...], lines: tuple[str, ...]) -> str:
    """Clean one text. Cached, because most texts in a verdict are in every verdict."""
    if lines:
        value = _any_of(lines).sub("…", _join(value))
    return one_line(without_paths(value, paths))


@functools.lru_cache(maxsize=4)
def _any_of(lines: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, lines)))


_GOLDS = {"gold": None, "gold_rms": None, "atol_alone": None, "rtol_alone": None, "ulps": None, "cosine": None}


def _without_gold(leaf: dict[str, Any]) -> dict[str, Any]:
    return {**leaf, **_GOLDS, "largest_gap": 0.0, "rms_gap": 0.0}
