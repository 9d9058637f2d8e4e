"""Texts in each language, and how numbers and times are written in it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

LANGUAGES: Mapping[str, str] = {"en": "English", "zh": "中文"}  # by code, each in its own words
_UNITS = ("B", "kB", "MB", "GB", "TB")
_MICROS = 1_000_000


@dataclass(frozen=True, slots=True)
class Texts:
    """The catalogue of one language. A key is the name of a file and the keys in it, as in `overview.title`."""

    language: str
    catalogue: dict[str, str]

    def __call__(self, key: str, /, **values: Any) -> str:
        """Return a text with the values put in. Raises KeyError for an unknown key or a value that is missing."""
        return self.catalogue[key].format(**values) if values else self.catalogue[key]

    def has_text(self, key: str) -> bool:
        """Whether there is a text under a key."""
        return key in self.catalogue

    def format_count(self, key: str, number: int, /, **values: Any) -> str:
        """Return the text of a number of things: that under `key.one` or `key.other`, with `n` put in."""
        form = "one" if number == 1 else "other"
        return self.catalogue[f"{key}.{form}"].format(n=self.format_number(number), **values)

    def name_value(self, group: str, value: str) -> str:
        """Return the name of one of the product's own words, such as a state; an unknown word, such as a category of
        the installation's own, stays as it is."""
        text: str = self.catalogue.get(f"{group}.{value}", value)
        return text

    def format_number(self, value: float, digits: int = 0) -> str:
        """Return a number with groups of thousands and so many decimal digits."""
        return f"{value:,.{digits}f}"

    def format_percent(self, share: float, digits: int = 0) -> str:
        """Return a share from 0 to 1 in per cent."""
        return self.catalogue["base.format.percent"].format(n=self.format_number(share * 100, digits))

    def format_money(self, micros: int, currency: str) -> str:
        """Return an amount that is given in millionths of a currency."""
        amount = micros / _MICROS
        return self.catalogue["base.format.money"].format(
            n=self.format_number(amount, 2 if amount >= 1 else 4), unit=currency
        )

    def format_size(self, count: float) -> str:
        """Return a number of bytes in a unit that fits, of 1,000 each."""
        unit = 0
        while count >= 1000 and unit < len(_UNITS) - 1:
            count, unit = count / 1000, unit + 1
        return f"{self.format_number(count, 1 if unit else 0)} {_UNITS[unit]}"

    def format_day(self, value: date) -> str:
        """Return a date."""
        month = self.catalogue[f"base.month.{value.month}"]
        return self.catalogue["base.format.date"].format(year=value.year, month=month, day=value.day)

    def format_time(self, value: datetime) -> str:
        """Return a moment in UTC, to the minute."""
        at = value.astimezone(UTC)
        return self.catalogue["base.format.time"].format(day=self.format_day(at.date()), clock=f"{at:%H:%M}")


@cache
def load_common(language: str) -> dict[str, str]:
    """Return what all texts of a language share: months, formats, and the names of states and categories."""
    return read_catalogue(files(__package__) / "catalogue" / language)


def read_catalogue(folder: Traversable) -> dict[str, str]:
    """Return the texts in the TOML files of a folder, each under the name of its file and its keys in it."""
    return {
        f"{file.name.removesuffix('.toml')}.{key}": text
        for file in folder.iterdir()
        if file.name.endswith(".toml")
        for key, text in _flatten(tomllib.loads(file.read_text(encoding="utf-8")))
    }


def _flatten(table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from ((f"{key}.{below}", text) for below, text in _flatten(value))
        else:
            yield key, str(value)
