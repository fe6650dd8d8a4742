"""The marker `rigor`, added where the course's pytest reads its settings, with every other byte left as it is.

The new text is parsed again before it is accepted; if it says anything else, the user has to add the marker by hand.
"""

from __future__ import annotations

import configparser
import re
import tomllib
from pathlib import Path
from typing import Any

from goldsmith.courses.scaffold.changes import Change, extended

PART = "marker"
MARKER = "rigor: internal tests, against the gold; students do not see them"
_FRESH = f"""\
[pytest]
testpaths = tests
addopts = --import-mode=importlib --strict-markers
markers =
    {MARKER}
"""
_INI = {"pytest.ini": "pytest", ".pytest.ini": "pytest", "tox.ini": "pytest", "setup.cfg": "tool:pytest"}
_TOML = {
    "pytest.toml": ("pytest",),
    ".pytest.toml": ("pytest",),
    "pyproject.toml": ("tool", "pytest", "ini_options"),
}
_ORDER = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")


def marker_change(root: Path) -> Change:
    """Plan the marker in the first file that pytest takes its settings from, or in a new pytest.ini."""
    for name in _ORDER:
        path = root / name
        if path.is_file():
            change = _in_ini(root, path) if name in _INI else _in_toml(root, path)
            if change is not None:
                return change
    project = root / "pyproject.toml"
    if project.is_file():
        text, newline = _read(project)
        addition = f'\n[tool.pytest.ini_options]\nmarkers = [\n    "{MARKER}",\n]\n'
        new = None if text is None else _checked_toml(text, text.rstrip("\n") + "\n" + addition, _TOML[project.name])
        return extended(root, PART, project, new, addition.strip(), newline=newline)
    return extended(root, PART, root / "pytest.ini", _FRESH, _FRESH)


def _read(path: Path) -> tuple[str | None, str]:
    """Return the text with plain line ends, and the line end that the file uses."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return None, "\n"
    newline = "\r\n" if "\r\n" in text else "\n"
    plain = text.replace("\r\n", "\n")
    return (None, newline) if plain.replace("\n", newline) != text else (plain, newline)


# --- TOML


def _in_toml(root: Path, path: Path) -> Change | None:
    """Plan the marker in a TOML file; None when it has no settings for pytest."""
    keys = _TOML[path.name]
    text, newline = _read(path)
    dotted = ".".join(keys)
    by_hand = f'markers = ["{MARKER}"]  # in [{dotted}]'
    try:
        document = tomllib.loads(text) if text is not None else None
    except tomllib.TOMLDecodeError:
        document = None
    if text is None or document is None:
        return extended(root, PART, path, None, by_hand)
    table = _table(document, keys)
    if table is None and (_table(document, keys[:-1]) or {}).keys() - {"ini_options"} and path.name == "pyproject.toml":
        keys = keys[:-1]  # pytest 9 reads [tool.pytest] itself
        table = _table(document, keys)
    if table is None:
        return None
    markers = table.get("markers", [])
    if _known(markers):
        return extended(root, PART, path, text, by_hand, newline=newline)
    new = _with_toml_marker(text, keys, has_markers="markers" in table)
    return extended(root, PART, path, _checked_toml(text, new, keys), by_hand, newline=newline)


def _table(document: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any] | None:
    table: Any = document
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else None


def _known(markers: Any) -> bool:
    lines = markers.splitlines() if isinstance(markers, str) else markers if isinstance(markers, list) else []
    return any(isinstance(line, str) and re.match(r"\s*rigor\b", line) for line in lines)


def _with_toml_marker(text: str, keys: tuple[str, ...], *, has_markers: bool) -> str | None:
    dotted = r"[ \t]*\.[ \t]*".join(map(re.escape, keys))
    header = re.search(rf"^[ \t]*\[[ \t]*{dotted}[ \t]*\][ \t]*(#.*)?$", text, re.M)
    if header is None:
        return None
    if not has_markers:
        return f'{text[: header.end()]}\nmarkers = [\n    "{MARKER}",\n]{text[header.end() :]}'
    opening = re.compile(r"^[ \t]*markers[ \t]*=[ \t]*\[", re.M).search(text, header.end())
    closing = _closing_bracket(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return None
    inside = text[opening.end() : closing]
    if "\n" not in inside:
        comma = ", " if inside.strip() and not inside.rstrip().endswith(",") else " " if inside.strip() else ""
        return f'{text[: opening.end()]}{inside.rstrip()}{comma}"{MARKER}"{text[closing:]}'
    last = _end_of_last_item(inside)
    kept, rest = inside[:last], inside[last:]
    comma = "" if not kept.strip() or rest.lstrip().startswith(",") else ","
    lines = rest.rstrip(" \t")
    indent = (re.findall(r"^([ \t]+)[\"']", inside, re.M) or ["    "])[-1]
    tail = inside[len(kept) + len(lines) :]
    return f'{text[: opening.end()]}{kept}{comma}{lines}{indent}"{MARKER}",\n{tail}{text[closing:]}'


def _closing_bracket(text: str, start: int) -> int | None:
    for token in re.finditer(r'"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]]', text[start:]):
        if token[0] == "]":
            return start + token.start()
        if token[0] == "[":
            return None
    return None


def _end_of_last_item(inside: str) -> int:
    ends = [
        token.end() for token in re.finditer(r'"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*', inside) if token[0][0] != "#"
    ]
    return ends[-1] if ends else 0


def _checked_toml(old: str, new: str | None, keys: tuple[str, ...]) -> str | None:
    """Return `new` if it says exactly what `old` said and adds the marker; else None."""
    try:
        before, after = tomllib.loads(old), tomllib.loads(new or "")
    except tomllib.TOMLDecodeError:
        return None
    table = before
    for key in keys:
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            return None
    table["markers"] = [*table.get("markers", []), MARKER]
    return new if after == before else None


# --- INI


def _in_ini(root: Path, path: Path) -> Change | None:
    section = _INI[path.name]
    by_hand = f"markers =\n    {MARKER}  (in [{section}])"
    text, newline = _read(path)
    if text is None:
        return extended(root, PART, path, None, by_hand)
    before = _sections(text)
    if before is None:
        return extended(root, PART, path, None, by_hand)
    if section not in before:
        if path.name not in ("pytest.ini", ".pytest.ini"):
            return None
        text = f"{text.rstrip()}\n\n[{section}]\n".lstrip("\n")
        before[section] = {}
    markers = before[section].get("markers")
    if markers is not None and _known(markers):
        return extended(root, PART, path, text, by_hand, newline=newline)
    new = _with_ini_marker(text, section, has_markers=markers is not None)
    before[section]["markers"] = f"{markers or ''}\n{MARKER}"
    right = new is not None and _comparable(_sections(new)) == _comparable(before)
    return extended(root, PART, path, new if right else None, by_hand, newline=newline)


def _sections(text: str) -> dict[str, dict[str, str]] | None:
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    return {name: dict(parser[name]) for name in parser.sections()}


def _comparable(sections: dict[str, dict[str, str]] | None) -> dict[str, dict[str, list[str]]]:
    return {
        name: {key: [line.strip() for line in value.splitlines() if line.strip()] for key, value in table.items()}
        for name, table in (sections or {}).items()
    }


def _with_ini_marker(text: str, section: str, *, has_markers: bool) -> str | None:
    lines = text.split("\n")
    start = next((at for at, line in enumerate(lines) if line.strip() == f"[{section}]"), None)
    if start is None:
        return None
    if not has_markers:
        return "\n".join([*lines[: start + 1], "markers =", f"    {MARKER}", *lines[start + 1 :]])
    at = next((at for at in range(start + 1, len(lines)) if re.match(r"markers\s*[=:]", lines[at])), None)
    if at is None:
        return None
    end, indent = at, "    "
    for number in range(at + 1, len(lines)):
        value = re.match(r"([ \t]+)[^ \t#;]", lines[number])
        if value:
            end, indent = number, value[1]
        elif lines[number].strip() and not lines[number].lstrip().startswith(("#", ";")):
            break
    return "\n".join([*lines[: end + 1], f"{indent}{MARKER}", *lines[end + 1 :]])
