"""Pages as HTML: every value is escaped, and a page loads and sends nothing but to this service."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup
from starlette.responses import Response

from muniment import __version__
from muniment.faces.console.static_files import locate_static
from muniment.faces.console.texts import LANGUAGES, Texts

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    # A browser that may tell no address tells no origin either, and by that a form is known to be of this site.
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
ROOT = "/console"


def make_address(path: str, user: str | None = None, **parameters: Any) -> str:
    """Return the address of a page of the console, such as `/memories`; a parameter of None is left out. `user` is the
    one that an operator looks at."""
    given = {"user": user, **parameters}
    pairs = [
        (name, each)
        for name, value in given.items()
        if value is not None
        for each in (value if isinstance(value, list | tuple) else (value,))
    ]
    place = "/" if path == "/" else ROOT + path
    return f"{place}?{urlencode(pairs)}" if pairs else place


def render_page(name: str, texts: Texts, status: int = 200, **shown: Any) -> Response:
    """Return a page of a template with these values. Raises jinja2's UndefinedError for a value that is missing."""
    text = render_part(name, texts, languages=LANGUAGES, static=locate_static, version=__version__, **shown)
    return Response(text, status, media_type="text/html; charset=utf-8")


def render_part(name: str, texts: Texts, **shown: Any) -> Markup:
    """Return what a template makes of these values, for a page to put in as it is. Raises jinja2's UndefinedError for a
    value that is missing."""
    return Markup(_load_templates().get_template(name).render(t=texts, **shown))  # noqa: S704 - escaped by the template


@cache
def _load_templates() -> Environment:
    folder = files(__package__) / "templates"
    texts = {each.name: each.read_text(encoding="utf-8") for each in folder.iterdir() if each.name.endswith(".html")}
    return Environment(
        loader=DictLoader(texts), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
