"""The error along a model's calls as an SVG: relative error on a log scale, over a band that is the measured noise
and a line that is what is tolerated.

Colours come from the page's style by class, so that they follow its theme; every role has a shape of its own as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from markupsafe import Markup, escape

from goldsmith.html_report.pictures import Profile
from goldsmith.html_report.view import ROLES, Lane, Point, Role

Place = Callable[[int], float]
"""Where the point of a number is."""
Height = Callable[[float | None], float]
"""How high a point with an error is."""
_HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 250, 70, 16, 14, 30
_MIN_WIDTH, _STEP, _MAX_STEP = 660, 12, 90
_SMALLEST_DECADE = -17
_NAMED_STEP, _NAME_CHARS, _CHAR_HEIGHT = 24, 20, 3.9
"""From how many pixels for each point on names are written below them, how much of a name is, and how high that is for
each letter."""
_SHAPES: dict[Role, str] = {
    "source": "M0 -7L7 0L0 7L-7 0Z",
    "hidden": "M0 -7L7 0L0 7L-7 0Z",
    "victim": "M-5 0A5 5 0 1 1 5 0A5 5 0 1 1 -5 0Z",
    "holds": "M-5 -5H5V5H-5Z",
    "wrong": "M-5 -5H5V5H-5Z",
    "right": "M-3.5 0A3.5 3.5 0 1 1 3.5 0A3.5 3.5 0 1 1 -3.5 0Z",
    "unpaired": "M-5 -5L5 5M5 -5L-5 5",
    "unknown": "M0 -6L6 5H-6Z",
}


def draw_mark(role: Role) -> Markup:
    """Draw the mark of a role, for legends and trees."""
    return Markup(
        '<svg class="mark {0}" viewBox="-8 -8 16 16" width="14" height="14" aria-hidden="true"><path d="{1}"/></svg>'
    ).format(role, _SHAPES[role])


def draw_curve(lane: Lane, name: str) -> Markup:
    """Draw one lane; `name` is its id in the page."""
    points = lane.points
    step = min(_MAX_STEP, max(_STEP, (_MIN_WIDTH - _LEFT - _RIGHT) / max(len(points), 1)))
    width = _LEFT + _RIGHT + step * len(points)
    longest = max((len(point.label) for point in points), default=0) if step >= _NAMED_STEP else 0
    height = _HEIGHT + round(12 + _CHAR_HEIGHT * min(longest, _NAME_CHARS) if longest else 0)
    low, high = _decades(points)
    scale = (_HEIGHT - _TOP - _BOTTOM) / (high - low)

    def x(number: int) -> float:
        return round(_LEFT + step * (number + 0.5), 1)

    def y(value: float | None) -> float:
        if value is None or math.isnan(value):
            return _HEIGHT - 12
        decade = high if math.isinf(value) else max(low, math.log10(value) if value > 0 else low)
        return round(_TOP + (high - decade) * scale, 1)

    parts = [
        Markup(
            '<svg class="curve" id="{}" viewBox="0 0 {} {}" width="{}" height="{}" role="group" aria-label="{}">'
        ).format(name, round(width), height, round(width), height, f"{lane.title}: relative error, {lane.order}"),
        _grid(low, high, width, y, points),
        _band(points, x, y),
        _limits(points, x, y),
        _line(points, x, y),
        *(_mark(point, x(number), y(point.error), step) for number, point in enumerate(points)),
        _names(points, x) if step >= _NAMED_STEP else "",
        Markup("</svg>"),
    ]
    return Markup("").join(parts)


def _names(points: Sequence[Point], x: Place) -> Markup:
    """Write the end of each name below its point, which tells names apart; marks have the whole of it."""
    texts = [
        Markup('<text transform="translate({} {}) rotate(-38)" text-anchor="end">{}</text>').format(
            x(number) + 5, _HEIGHT + 4, label if len(label) <= _NAME_CHARS else f"…{label[1 - _NAME_CHARS :]}"
        )
        for number, label in enumerate(point.label for point in points)
    ]
    return Markup('<g class="names" aria-hidden="true">{}</g>').format(Markup("").join(texts))


def draw_profile(profile: Profile) -> Markup:
    """Draw the largest difference at each index of an axis: bars on a log scale, the tolerance at half height."""
    width, height = 320, 64
    step = width / len(profile.units)
    bars = [
        Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
            "out" if units > 1 else "in", step * number, height - tall, max(step - 0.5, 0.5), tall
        )
        for number, units in enumerate(profile.units)
        for tall in [_height(units) * height]
    ]
    wrong = [number for number, units in enumerate(profile.units) if units > 1]
    label = f"axis {profile.axis}: {_places(wrong, len(profile.units), profile.size)}"
    return Markup(
        '<svg class="profile" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" aria-label="{2}">{3}'
        '<line class="limit" x1="0" x2="{0}" y1="{4}" y2="{4}"/></svg>'
    ).format(width, height, label, Markup("").join(bars), height / 2)


def draw_histogram(shares: Sequence[tuple[str, float]]) -> Markup:
    """Draw the share of elements in each decade of the difference over tolerance."""
    width, height, below = 320, 84, 18
    step = width / len(shares)
    bars = [
        Markup(
            '<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>'
            '<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>'
        ).format(
            "in" if number <= 2 else "out",
            step * number + 1,
            (height - below) * (1 - share),
            step - 2,
            max((height - below) * share, 1.0 if share else 0.0),
            step * (number + 0.5),
            height - 4,
            name,
        )
        for number, (name, share) in enumerate(shares)
    ]
    label = "share of elements: " + ", ".join(f"{share:.1%} {name}" for name, share in shares if share)
    return Markup(
        '<svg class="histogram" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" aria-label="{2}">{3}</svg>'
    ).format(width, height, f"{label} times the tolerance", Markup("").join(bars))


def draw_scores(bins: Sequence[tuple[str, int]]) -> Markup:
    """Draw how many submissions earned how much."""
    width, height, below, above = 440, 130, 18, 14
    step = width / len(bins)
    most = max([count for _, count in bins], default=0) or 1
    bars = [
        Markup(
            '<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>'
            '<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>'
            '<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>'
        ).format(
            step * place + 2,
            height - below - tall,
            step - 4,
            tall,
            step * (place + 0.5),
            height - 4,
            name,
            step * (place + 0.5),
            height - below - tall - 3,
            count or "",
        )
        for place, (name, count) in enumerate(bins)
        for tall in [(height - below - above) * count / most]
    ]
    label = ", ".join(f"{count} from {name}" for name, count in bins if count)
    return Markup('<svg viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" aria-label="{2}">{3}</svg>').format(
        width, height, label, Markup("").join(bars)
    )


def number_of(value: float | None) -> str:
    """Write a relative error as people read it."""
    if value is None:
        return "—"
    return "0" if value == 0 else "∞" if math.isinf(value) else "not a number" if math.isnan(value) else f"{value:.1e}"


def _height(units: float) -> float:
    """Return a bar's height: the tolerance is at one half, a millionth or a million times of it at the ends."""
    if units <= 0:
        return 0.0
    return min(1.0, max(0.02, 0.5 + math.log10(min(units, 1e6)) / 12))


def _places(wrong: Sequence[int], shown: int, size: int) -> str:
    if not wrong:
        return "all within tolerance"
    ratio = size / shown
    return f"out of tolerance from index {int(wrong[0] * ratio)} to {min(size, int((wrong[-1] + 1) * ratio)) - 1}"


def _decades(points: Iterable[Point]) -> tuple[int, int]:
    values = [value for point in points for value in (point.error, point.noise, point.limit)]
    known = [math.log10(value) for value in values if value and math.isfinite(value)]
    low = max(_SMALLEST_DECADE, math.floor(min(known, default=-8.0)) - 1)
    return low, max(low + 3, math.ceil(max(known, default=0.0)) + 1)


def _grid(low: int, high: int, width: float, y: Height, points: Sequence[Point]) -> Markup:
    has_infinite = any(point.error is not None and math.isinf(point.error) for point in points)
    lines = [
        Markup('<line x1="{0}" x2="{1}" y1="{2}" y2="{2}"/><text x="{3}" y="{4}" text-anchor="end">{5}</text>').format(
            _LEFT, round(width - _RIGHT), y(10.0**decade), _LEFT - 8, y(10.0**decade) + 4, f"1e{decade}"
        )
        for decade in range(low, high + (not has_infinite), max(1, (high - low) // 6))
    ]
    rows: list[tuple[str, float | None]] = [("other", math.inf)] if has_infinite else []
    rows += [("no number", None)] if any(point.error is None for point in points) else []
    for name, value in rows:
        lines.append(Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(_LEFT - 8, y(value) + 4, name))
    return Markup('<g class="grid" aria-hidden="true">{}</g>').format(Markup("").join(lines))


def _band(points: Sequence[Point], x: Place, y: Height) -> Markup:
    floor = _HEIGHT - _BOTTOM
    steps = []
    half = (x(1) - x(0)) / 2
    for number, point in enumerate(points):
        if point.noise is not None:
            top = y(point.noise)
            left, right = x(number) - half, x(number) + half
            steps.append(f"M{left:.1f} {floor}V{top}H{right:.1f}V{floor}Z")
    return Markup('<path class="band" d="{}"/>').format(" ".join(steps))


def _limits(points: Sequence[Point], x: Place, y: Height) -> Markup:
    half = (x(1) - x(0)) / 2
    steps = [
        f"M{x(number) - half:.1f} {y(point.limit)}h{2 * half:.1f}"
        for number, point in enumerate(points)
        if point.limit is not None
    ]
    return Markup('<path class="limit" d="{}"/>').format(" ".join(steps)) if steps else Markup("")


def _line(points: Sequence[Point], x: Place, y: Height) -> Markup:
    known = [(x(number), y(point.error)) for number, point in enumerate(points) if point.error is not None]
    return Markup('<polyline class="path" points="{}"/>').format(" ".join(f"{one},{two}" for one, two in known))


def _mark(point: Point, x: float, y: float, step: float) -> Markup:
    off = "no output to compare" if point.error is None else f"off by {number_of(point.error)}"
    off = point.not_comparable or off
    measured = point.error is not None and math.isfinite(point.error)
    noise = "" if point.noise is None or not measured else f", its noise is {number_of(point.noise)}"
    limit = "" if point.limit is None or not measured else f", {number_of(point.limit)} is tolerated"
    note = f"; {point.note}" if point.note else ""
    text = f"{point.label} ({point.kind}): {ROLES[point.role]}; {off}{noise}{limit}{note}"
    return Markup(
        '<g class="mark {0}" transform="translate({1} {2})" tabindex="0" role="img" aria-label="{3}">'
        '<title>{3}</title><rect class="hit" x="{4}" y="-9" width="{5}" height="18"/><path d="{6}"/></g>'
    ).format(point.role, x, y, escape(text), -step / 2, step, _SHAPES[point.role])
