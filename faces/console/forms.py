"""Forms: read with bounds, and taken from pages of the same session only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from pydantic import SecretStr
from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request

from muniment.memory.bootstrap.console_sessions import ConsoleSessions
from muniment.memory.errors import BadInput, NotPermitted

FORM_KEY = "form_key"  # the hidden field of every form that changes something
_MEDIA_TYPE = "application/x-www-form-urlencoded"
_MAX_FIELDS = 1_000
_STORABLE_LINES = str.maketrans({"\r": None})
_FOREIGN = "this form is not of your login, or the login is over: open the page again"


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form as they were sent: texts, not checked yet."""

    fields: ImmutableMultiDict[str, str]

    def get(self, name: str, default: str = "") -> str:
        """Return the text of a field; the default where it was not sent. Line ends are as on Unix."""
        return self.fields.get(name, default).translate(_STORABLE_LINES)

    def list_values(self, name: str, most: int = _MAX_FIELDS) -> Sequence[str]:
        """Return all texts of a field, such as the boxes that are ticked. Raises BadInput for more than `most`."""
        values = self.fields.getlist(name)
        if len(values) > most:
            raise BadInput(f"{name}: has {len(values):,} values; at most {most:,} are allowed")
        return values

    def require_text(self, name: str) -> str:
        """Return the text of a field without spaces around it. Raises BadInput where there is none."""
        text = self.get(name).strip()
        if not text:
            raise BadInput(f"{name}: is missing")
        return text

    def is_ticked(self, name: str) -> bool:
        """Whether a box is ticked."""
        return name in self.fields


async def read_form(request: Request) -> Form:
    """Return the fields of a form. Raises BadInput for a body that is none, that has a NUL or a half character, or too
    many fields."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _MEDIA_TYPE:
        raise BadInput(f"body: send a form ({_MEDIA_TYPE})")
    try:
        text = (await request.body()).decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="strict")
    except ValueError:
        raise BadInput("body: is not a form in UTF-8, or has too many fields") from None
    if any("\0" in part for pair in pairs for part in pair):
        raise BadInput("body: a field has a NUL")
    return Form(ImmutableMultiDict(pairs))


def check_origin(request: Request) -> None:
    """Raise NotPermitted for a form that a browser says comes from another site. A client that is no browser says
    nothing, and needs the form key like all."""
    origin = request.headers.get("origin")
    is_foreign = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    if is_foreign or request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise NotPermitted(_FOREIGN)


def check_form(request: Request, form: Form, sessions: ConsoleSessions, session: SecretStr) -> None:
    """Raise NotPermitted for a form that is not of a page of this session."""
    check_origin(request)
    if not sessions.is_form_key(session, form.get(FORM_KEY)):
        raise NotPermitted(_FOREIGN)
