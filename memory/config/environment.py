"""Environment variables as typed values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from muniment.memory.config.yaml_file import describe_shape
from muniment.memory.errors import BadConfig

DSN = "a postgresql:// URL or a key=value DSN"


@dataclass(frozen=True, slots=True)
class Environment:
    """Reads environment variables by their names. Each method raises BadConfig that names the variable, and shows its
    value only by its shape."""

    values: Mapping[str, str]

    def read_text(self, name: str, valid: Callable[[str], bool] = bool, allowed: str = "UTF-8 text") -> str | None:
        """The trimmed value; None for a variable that is empty or not set."""
        value = self.values.get(name, "").strip()
        if not value:
            return None
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise BadConfig(f"environment: {name} is not UTF-8", key=name)
        if not valid(value):
            raise BadConfig(f"environment: {name} is {describe_shape(value)}; allowed: {allowed}", key=name)
        return value

    def read_secret(self, name: str, valid: Callable[[str], bool], allowed: str) -> SecretStr | None:
        """The value, which is shown nowhere; None for a variable that is not set."""
        value = self.read_text(name, valid, allowed)
        return SecretStr(value) if value else None

    def read_path(self, name: str) -> Path | None:
        """The absolute path, with `~` for the home folder; None for a variable that is not set."""
        value = self.read_text(name)
        try:
            return Path(value).expanduser().absolute() if value else None
        except RuntimeError as error:  # what pathlib raises when `~` has no home
            raise BadConfig(
                f"environment: {name} begins with ~ but there is no home folder of that name", key=name
            ) from error


def is_dsn(value: str) -> bool:
    """Whether this may be the address of a Postgres: a URL, or keys and values."""
    return value.startswith(("postgresql://", "postgres://")) or bool(re.match(r"\w+\s*=", value))


def is_one_word(value: str) -> bool:
    """Whether this is one word without spaces."""
    return len(value.split()) == 1


def is_url(value: str) -> bool:
    """Whether this may be the URL of an HTTP endpoint."""
    return value.startswith(("http://", "https://")) and is_one_word(value)
