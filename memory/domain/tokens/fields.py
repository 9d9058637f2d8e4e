"""Checks of the single fields of a token's configuration. No value is ever part of an error."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from muniment.memory.errors import TokenConfigError

MASK = "****"  # before the last characters of a key that is shown
MAX_BYTES = 20_000  # of a body or another text
_UNSENDABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_URL = "an http:// or https:// URL without a user, query or fragment"


class FieldReader:
    """Reads fields by their names. Each method raises TokenConfigError that names the field."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given

    def read_text(self, name: str) -> str:
        """A text that is not empty."""
        value = self._given.get(name)
        if not isinstance(value, str) or not value.strip() or _UNSTORABLE.search(value):
            raise self._refuse(name, "text that is not empty")
        if len(value.encode()) > MAX_BYTES:
            raise self._refuse(name, f"at most {MAX_BYTES:,} bytes")
        return value

    def read_secret(self, name: str) -> SecretStr:
        """A key that can be sent as a header."""
        value = self._given.get(name)
        if isinstance(value, SecretStr):
            value = value.get_secret_value()
        if not isinstance(value, str) or not value.strip():
            raise self._refuse(name, "a key that is not empty")
        if value.startswith(MASK):
            raise self._refuse(name, "a key, not its mask; leave it out and it stays")
        if value != value.strip() or not value.isascii() or _UNSENDABLE.search(value) or len(value) > MAX_BYTES:
            raise self._refuse(name, "a key that can be sent in a header: ASCII without blanks around it")
        return SecretStr(value)

    def read_url(self, name: str) -> str:
        """The base of an endpoint, without a slash at its end."""
        value = self._given.get(name)
        if not isinstance(value, str) or not is_base_url(value):
            raise self._refuse(name, _URL)
        return value.rstrip("/")

    def read_choice(self, name: str, allowed: Sequence[str]) -> str:
        """One of the allowed words."""
        value = self._given.get(name)
        if not isinstance(value, str) or value not in allowed:
            raise self._refuse(name, " or ".join(allowed))
        return value

    def read_count(self, name: str, most: int) -> int:
        """A whole number from 1 to `most`."""
        value = self._given.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise self._refuse(name, f"a whole number from 1 to {most:,}")
        return value

    def read_seconds(self, name: str) -> float:
        """A time that is longer than nothing."""
        value = self._given.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise self._refuse(name, "seconds, more than 0")
        return float(value)

    def read_body(self, name: str, *, without: Collection[str]) -> Mapping[str, Any]:
        """A JSON object that goes to an endpoint as it is: with the name of a model, without what each request sets."""
        value = self._given.get(name)
        try:
            text = value if isinstance(value, str) else json.dumps(value, allow_nan=False)
            read = json.loads(text, parse_constant=_refuse_constant, parse_float=_read_finite)
        except (TypeError, ValueError, RecursionError):
            raise self._refuse(name, "a JSON object") from None
        if not isinstance(read, dict) or _UNSTORABLE.search(text):
            raise self._refuse(name, "a JSON object")
        if len(text.encode()) > MAX_BYTES:
            raise self._refuse(name, f"at most {MAX_BYTES:,} bytes")
        for key in without:
            if key in read:
                raise self._refuse(name, f"no {key!r}, which each request sets itself")
        model = read.get("model")
        if not isinstance(model, str) or not model.strip() or _UNSENDABLE.search(model):
            raise self._refuse(name, 'a JSON object with the name of a model in "model"')
        return MappingProxyType(read)

    def _refuse(self, name: str, allowed: str) -> TokenConfigError:
        shape = _describe_shape(self._given[name]) if name in self._given else "missing"
        return TokenConfigError(f"{name}: is {shape}; allowed: {allowed}", field=name)


def is_base_url(value: str) -> bool:
    """Whether a text is an http or https address with a host, and without a user, a query or a fragment."""
    if len(value) > MAX_BYTES or _UNSENDABLE.search(value) or len(value.split()) != 1 or value != value.strip():
        return False
    try:
        parts = urlsplit(value)
        has_port = parts.port != 0
    except ValueError:
        return False
    is_plain = parts.username is None and parts.password is None and not {"?", "#"} & set(value)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and has_port and is_plain


def _refuse_constant(_: str) -> None:
    raise ValueError("not in JSON")


def _read_finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("not in JSON")
    return number


def _describe_shape(value: object) -> str:
    """The kind and size of a value, without a text in it."""
    match value:
        case None:
            return "empty"
        case bool():
            return "true or false"
        case int() | float() if len(str(value)) <= len("-1234.5678"):
            return str(value)
        case SecretStr() | str():
            return f"text of {len(value)} characters"
        case list() | tuple():
            return f"a list of {len(value)}"
        case Mapping():
            return f"an object of {len(value)} keys"
        case _:
            return f"a {type(value).__name__}"
