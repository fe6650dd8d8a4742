"""Python in files of any kind: modules, notebooks, prose with code in it, patches, commented-out or quoted code.

A file need not parse as a whole: every stretch that parses is returned. Prose that happens to parse does no harm.
"""

from __future__ import annotations

import ast
import binascii
import codecs
import contextlib
import json
import re
import textwrap
import warnings
from collections.abc import Iterator
from html import escape, unescape
from pathlib import PurePosixPath

from goldsmith.foundation.syntax import syntax_tree

_MAX_WINDOW_CHARS, _OVERLAP_CHARS = 2 * 2**20, 2**15
"""A longer text is looked through in windows; two of them share what the longest function takes."""
_TABLES = (".csv", ".tsv", ".lock", ".parquet")
_JSON = (".json", ".jsonl", ".ndjson")
_MARKUP = (".html", ".htm", ".mht", ".mhtml", ".svg", ".xml")
_PARAGRAPH = re.compile(r"</(?:w:p|a:p|text:p|text:h|p|div|li|pre|si|tr)>|<(?:w:br|text:line-break|br) */?>")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WITHOUT_MARK = {(1,): "utf-16-le", (0,): "utf-16-be", (1, 2, 3): "utf-32-le", (0, 1, 2): "utf-32-be"}
"""Which bytes of each letter of plain English are zero."""
_TEXT_IN_DATA = re.compile(rb"[\t\n\r\x20-\x7e\x80-\xff]{100,}")
_MAX_TEXTS_IN_DATA = 1000
_DEFINITION = re.compile(r"\s*(?:async +def|def|class) ")
_FUNCTION = re.compile(
    r"(?:^(?:[^\s:]{1,200}:)?(?:[ \t]{0,8}\d{1,6}[:|\t -])?[ \t>+#/|-]{0,100}|\\n[ \t]{0,100})"
    r"(?:async +def|def|class|return)\b"
    r"|\blambda\b[^\n:]{0,200}:",
    re.MULTILINE,
)
"""What has none of these is not looked through where there may be very much of it."""
_PRINTABLE = re.compile(r"^content-transfer-encoding: *quoted-printable", re.IGNORECASE | re.MULTILINE)
_MIN_ESCAPED_LINES = 3
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": ""}
_QUOTED_LINE = re.compile(r"^[ \t]*>+ ?")
_NUMBERED_LINE = re.compile(r"^[ \t]*(?:[^\s:]{1,200}:)?\d{1,6}(?::|[ \t|]{1,2}|$)")
_LEVEL = "(?:DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL)"
_TIME = r"\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d[\d.,Z+:-]*\]?"
_LOGGED_LINE = re.compile(
    rf"^[ \t]*(?:{_TIME}(?:[ \t]+\[?{_LEVEL}\]?(?:[ \t]+[\w.-]+)?:?)?(?:[ \t]|$)|{_LEVEL}:[\w.-]*:)"
)
_STRING_IN_LINE = re.compile(r""""((?:[^"\\]|\\.?)*+)(?:"|$)|'((?:[^'\\]|\\.?)*+)(?:'|$)""")
"""One that is not closed ends with the line: nothing is looked at twice."""
_MIN_QUOTED_LINES = 5
_SPACES = {ord(space): " " for space in "\u00a0\u2007\u2008\u2009\u200a\u202f\u3000"} | dict.fromkeys(
    range(0x2000, 0x2007), " "
)
"""What pages and word processors write for a space."""
_MOST_CUTS, _LONGEST = 400, 400
_LOOKS_LIKE_CODE = re.compile(r"\b(?:def|return|import|lambda|self|for|torch|np)\b|=")


def decoded(content: bytes) -> str | None:
    """Decode text in any of the usual encodings; None for binary content."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return content.decode(encoding, "replace")
    if content[:4000].count(b"\0") > 8:
        encoding = _encoding_without_mark(content[:4000])
        return content.decode(encoding, "replace") if encoding else None
    return content.replace(b"\0", b"").decode("utf-8", "replace")


def _encoding_without_mark(start: bytes) -> str:
    for zeros, encoding in _WITHOUT_MARK.items():
        width = 4 if "32" in encoding else 2
        filled = [start[at::width] for at in range(width)]
        if all(
            (part.count(0) > 0.8 * len(part)) if at in zeros else (part.count(0) < 0.02 * len(part))
            for at, part in enumerate(filled)
        ):
            return encoding
    return ""


def trees_in(file: str, content: bytes) -> Iterator[tuple[ast.Module, int, bool]]:
    """Yield every stretch of code with the line it begins at, and whether it would run: comments and strings do not."""
    suffix = PurePosixPath(file).suffix.lower()
    text = decoded(content)
    if text is not None and not text.isascii():
        text = text.translate(_SPACES)
    if text is None:
        for found in _texts_in_data(content):
            yield from _in_text(found, 1)
    elif suffix == ".ipynb" or suffix in _JSON:
        for source, line in json_texts(text):
            if suffix == ".ipynb" or _FUNCTION.search(source):
                yield from _in_text(source, line)
    else:
        if _PRINTABLE.search(text):
            text = binascii.a2b_qp(text.encode()).decode("utf-8", "replace")
        if text.startswith("{\\rtf"):
            text = re.sub(r"\\(?:par|line)\b ?", "\n", text)
            text = re.sub(r"\\([{}\\])|\\[a-z]{1,32}-?\d{0,9} ?", r"\1", text)
        if suffix in _MARKUP:
            text = unescape(re.sub(r"<[^<>]*>", "", _PARAGRAPH.sub("\n", _without_cdata(text))))
        if suffix in _TABLES:
            for source, line in _quoted_lines(text.replace('""', "'")):
                yield from _in_text(source, line)
            text = text.replace('""', '"')
        for window, first in windows(text):
            if _FUNCTION.search(window) or (window is text and suffix not in _TABLES):
                yield from _in_text(window, first)


def _without_cdata(markup: str) -> str:
    """Write what is marked as no markup in the usual way."""
    plain, *marked = markup.split("<![CDATA[")
    parts = (part.partition("]]>") for part in marked)
    return plain + "".join(f"{escape(data)}{rest}" for data, _, rest in parts)


def windows(text: str) -> Iterator[tuple[str, int]]:
    """Yield a text, or overlapping parts of a long one, each with the line that it begins at."""
    if len(text) <= _MAX_WINDOW_CHARS:
        yield text, 1
        return
    begin, line = 0, 1
    while begin < len(text):
        end = text.find("\n", begin + _MAX_WINDOW_CHARS) + 1 or len(text)
        end = min(end, begin + 2 * _MAX_WINDOW_CHARS)
        yield text[begin:end], line
        cut = text.rfind("\n", begin + 1, end - _OVERLAP_CHARS) + 1 or end - _OVERLAP_CHARS
        after = end if end == len(text) else cut
        line += text.count("\n", begin, after)
        begin = after


def _texts_in_data(content: bytes) -> Iterator[str]:
    """Yield text with functions in it from a file that is none, such as a database or a pickle."""
    number = 0
    for found in _TEXT_IN_DATA.finditer(content):
        text = found[0].decode("utf-8", "replace")
        if ("\n" in text or "\\n" in text) and _FUNCTION.search(text):
            number += 1
            if number > _MAX_TEXTS_IN_DATA:
                return
            yield from (window for window, _ in windows(text))


def json_texts(text: str) -> Iterator[tuple[str, int]]:
    """Yield what is text in JSON, or in its lines, with a line of the file: sources, outputs and metadata of a
    notebook's cells, and whatever else is kept so. What is not JSON is text itself."""
    rows = text.splitlines()
    try:
        values = [json.loads(text)]
    except (ValueError, RecursionError):
        values = list(_from_lines(rows))
    if not values:
        yield from windows(text)
        return
    at = 0
    for found in _strings(values):
        start = found.strip().splitlines()[:1]
        needle = json.dumps(start[0][:40])[1:-1] if start else ""
        if len(text) <= _MAX_WINDOW_CHARS:  # else it would be searched over and over
            at = next((number for number in range(at, len(rows)) if needle and needle in rows[number]), at)
        yield re.sub(r"^\s*[%!].*$|\?+$", "", found, flags=re.M), at + 1
    yield from _quoted_lines(text)


def _from_lines(rows: list[str]) -> Iterator[object]:
    """Yield the values of the lines that are JSON each."""
    for row in rows:
        if row.startswith(("{", "[", '"')):
            with contextlib.suppress(ValueError, RecursionError):
                yield json.loads(row)


def _strings(value: object) -> Iterator[str]:
    """Yield texts of more than one line, escaped ones as well, and joined lists of lines, at any depth."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key != "image/png":
                yield from _strings(item)
    elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        yield ("" if any("\n" in item for item in value) else "\n").join(value)
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, dict | list | str):
                yield from _strings(item)
    elif isinstance(value, str) and ("\n" in value or "\\n" in value):
        yield value


def _in_text(text: str, first: int) -> Iterator[tuple[ast.Module, int, bool]]:
    """Yield the trees of the text itself, then of code hidden in it: comments, strings, code blocks in prose."""
    whole = _parsed(text)
    if whole is not None:
        yield whole, first, True
    for source, line in (*_hidden(text), *(() if whole is not None else _marked_off(text))):
        for tree, at in _salvaged(source):
            yield tree, first + line + at - 2, False


def _hidden(text: str) -> Iterator[tuple[str, int]]:
    rows: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        match = re.match(r"\s*(?:#+(?!!)|//) ?(.*)$", line)
        if match:
            rows.append(match[1])
            continue
        if rows:
            yield "\n".join(rows), number - len(rows)
        rows = []
    for block in re.finditer(r"(\"\"\"|''')(.*?)\1", text, flags=re.S):
        yield _unprompted(block[2]), text.count("\n", 0, block.start(2)) + 1
    yield from _escaped(text)
    yield from _quoted_lines(text)


def _quoted_lines(text: str) -> Iterator[tuple[str, int]]:
    """Yield what the longest strings in lines are together, where most lines have one: code that builds text line by
    line, tables, logs in JSON."""
    lines = text.splitlines()
    found = [max((one or two for one, two in _STRING_IN_LINE.findall(line)), key=len, default="") for line in lines]
    quoted = sum(map(bool, found))
    if quoted < _MIN_QUOTED_LINES or quoted <= 0.5 * sum(bool(line.strip()) for line in lines):
        return
    plain = "\n".join(_ESCAPE.sub(_unescaped, row).rstrip("\n") for row in found)
    if _FUNCTION.search(plain):
        yield _unprompted(plain), 1


def _escaped(text: str) -> Iterator[tuple[str, int]]:
    """Yield lines in which the ends of lines are written as `\\n`, as JSON, logs, settings and strings in code do."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.count("\\n") >= _MIN_ESCAPED_LINES:
            plain = _ESCAPE.sub(_unescaped, line)
            for found in (plain, _ESCAPE.sub(_unescaped, plain)):  # twice where it was quoted twice
                if _FUNCTION.search(found):
                    yield _unprompted(found), number


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _ESCAPED.get(found[3], found[3])


def _marked_off(text: str) -> Iterator[tuple[str, int]]:
    """Yield fenced blocks, up to the end of the file if not closed, and then the whole text without prompts."""
    for block in re.finditer(r"^[ \t>]*(```+|~~~+)[^\n]*\n(.*?)(?:^[ \t>]*\1|\Z)", text, flags=re.M | re.S):
        body = re.sub(r"^[ \t]*>+ ?", "", block[2], flags=re.M)
        yield _unprompted(body), text.count("\n", 0, block.start(2)) + 1
    yield _unprompted(text), 1
    if re.search(r"^@@ ", text, flags=re.M):
        removed = re.sub(r"^(?:\+|@@|diff |index |--- ).*$", "", text, flags=re.M)
        yield re.sub(r"^[- ]", "", removed, flags=re.M), 1


def _unprompted(text: str) -> str:
    """Remove the prefixes of patches, consoles and merge conflicts."""
    text = re.sub(r"^(<{7}|={7}|>{7}).*$", "", text, flags=re.M)
    text = _without_margin(text)
    if re.search(r"^\s*>>> ", text, flags=re.M):
        return re.sub(r"^\s*(>>>|\.\.\.) ?", "", text, flags=re.M)
    if re.search(r"^@@ ", text, flags=re.M) or len(re.findall(r"^\+", text, flags=re.M)) > 2:
        return re.sub(r"^[+ ]", "", re.sub(r"^(-|@@|diff|index|\+\+\+).*$", "", text, flags=re.M), flags=re.M)
    return text


def _without_margin(text: str) -> str:
    """Remove what quoting in mail, a listing with numbers, or a log puts before most lines."""
    lines = text.splitlines()
    filled = sum(bool(line.strip()) for line in lines)
    for margin in (_LOGGED_LINE, _NUMBERED_LINE, _QUOTED_LINE):
        marked = sum(margin.match(line) is not None for line in lines) if ">>> " not in text else 0
        if marked > 0.5 * filled:
            return "\n".join(margin.sub("", line) for line in lines)
    return text


def _salvaged(text: str) -> Iterator[tuple[ast.Module, int]]:
    """Yield the longest stretches of `text` that parse and look like code. In a long text, only those that begin with a
    definition once there were many others."""
    lines = text.splitlines()
    start, cuts = 0, 0
    while start < len(lines) and cuts < 10 * _MOST_CUTS:
        if not lines[start].strip() or (cuts >= _MOST_CUTS and not _DEFINITION.match(lines[start])):
            start += 1
            continue
        end = _end_of_stretch(lines, start)
        tree, length = _longest(lines[start:end])
        if tree is not None and _LOOKS_LIKE_CODE.search("\n".join(lines[start : start + length])):
            yield tree, start + 1
        start += max(1, length)
        cuts += 1


def _end_of_stretch(lines: list[str], start: int) -> int:
    """Return where a line is indented less than the first, or a function could not be longer."""
    indent = len(lines[start]) - len(lines[start].lstrip())
    last = min(len(lines), start + _LONGEST)
    for number in range(start + 1, last):
        line = lines[number]
        if line.strip() and len(line) - len(line.lstrip()) < indent:
            return number
    return last


def _longest(lines: list[str]) -> tuple[ast.Module | None, int]:
    """Parse the longest beginning of `lines` that parses: cut before the line with the error, and try again."""
    length = len(lines)
    for _ in range(12):
        if length <= 0:
            break
        source = textwrap.dedent("\n".join(lines[:length]))
        tree, wrong = _tried(source)
        if tree is not None:
            return tree, length
        length = min(length - 1, max(wrong - 1, 0))
    return None, 0


def _parsed(source: str) -> ast.Module | None:
    """Parse as a module, or as the body of a function, which is how people paste."""
    for text in (source, textwrap.dedent(source), "def _():\n" + textwrap.indent(textwrap.dedent(source), " ")):
        tree, _ = _tried(text)
        if tree is not None:
            return tree
    return None


def _tried(source: str) -> tuple[ast.Module | None, int]:
    """Return the tree, or the line with the error. A `return` outside of a function is accepted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return syntax_tree(source), 0
        except SyntaxError as error:
            return None, error.lineno or 1
        except (ValueError, RecursionError, MemoryError):
            return None, 0
