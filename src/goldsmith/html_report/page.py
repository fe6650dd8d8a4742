"""Write a page: one file with everything in it, nothing fetched, every text escaped."""

from __future__ import annotations

import functools
from typing import Any

import jinja2
from markupsafe import Markup

from goldsmith._version import __version__
from goldsmith.html_report.curve import draw_curve, draw_histogram, draw_mark, draw_profile, draw_scores, number_of
from goldsmith.html_report.view import ROLES, SHORT_ROLES, Report

GENERATOR = '<meta name="generator" content="goldsmith '
"""What every page has near its beginning."""


def render_report(report: Report) -> str:
    """Return the page of one implementation."""
    return render("report.html", report=report)


def render(template: str, **content: Any) -> str:
    """Return a page from a template."""
    return _environment().get_template(template).render(version=__version__, **content)


@functools.cache
def _environment() -> jinja2.Environment:
    loader = jinja2.PackageLoader("goldsmith.html_report")
    found = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    found.globals |= {
        "roles": ROLES,
        "short_roles": SHORT_ROLES,
        "style": _text(loader, found, "page.css"),
        "script": _text(loader, found, "page.js"),
    }
    found.filters |= {
        "curve": draw_curve,
        "histogram": draw_histogram,
        "profile": draw_profile,
        "score_histogram": draw_scores,
        "mark": draw_mark,
        "number": number_of,
    }
    return found


def _text(loader: jinja2.BaseLoader, environment: jinja2.Environment, name: str) -> Markup:
    """Return the page's own style or script, which must not be escaped."""
    return Markup(loader.get_source(environment, name)[0])
