"""National ids and codes of doors leave a text where the settings say so."""

from __future__ import annotations

from typing import get_args

import pytest

from muniment.memory.config.schema import Country
from muniment.memory.config.settings import load_settings
from muniment.memory.rules.redaction.national_ids import list_countries
from muniment.memory.rules.redaction.redact import Redactor

DEFAULTS = load_settings({"HOME": "/nonexistent"}).redact
WITH_IDS = Redactor(DEFAULTS.model_copy(update={"national_ids": ("us", "de", "fr", "es", "it", "pl", "nl", "br")}))
WITH_DOORS = Redactor(DEFAULTS.model_copy(update={"door_codes": True}))
IDS = [
    "536-90-4399", "36 574 261 809", "36574261809", "2 95 10 99 126 111 93", "54362315K", "54362315-K", "X-2482300-W",
    "RCCMNL83S18D969H", "44051401359", "111222333", "1112.22.333", "390.533.447-05",
]  # fmt: skip
DOORS = [
    ("the door code is 4711#", "4711#"),
    ("gate code: *2580", "*2580"),
    ("alarm code 839201", "839201"),
    ("der Türcode lautet 4711", "4711"),
    ("le digicode est 4816", "4816"),
    ("el código de la puerta es 4711", "4711"),
    ("门禁码是4711", "4711"),
    ("the safe combination for the office is 12-34-56", "12-34-56"),
]


def test_the_settings_name_the_countries_that_are_known() -> None:
    assert {*get_args(Country)} == list_countries()


@pytest.mark.parametrize("number", IDS)
def test_a_national_id_leaves_where_its_country_is_named(number: str) -> None:
    """Not by default, and not with a wrong check digit."""
    text = f"mine is {number}, thanks"
    assert WITH_IDS.sanitize_text(text) == "mine is [redacted:national_id], thanks"
    assert Redactor(DEFAULTS).sanitize_text(text) == text


@pytest.mark.parametrize(
    "text",
    ["mine is 000-12-3456", "36574261808 it is", "call 5551234567", "54362315A", "on 2026-11-27 at 10:30", "v1.2.3"],
)
def test_what_is_no_national_id_stays(text: str) -> None:
    assert WITH_IDS.sanitize_text(text) == text


@pytest.mark.parametrize(("text", "code"), DOORS)
def test_the_code_of_a_door_leaves_where_it_is_asked_for(text: str, code: str) -> None:
    assert WITH_DOORS.sanitize_text(text) == text.replace(code, "[redacted:password]")
    assert Redactor(DEFAULTS).sanitize_text(text) == text


@pytest.mark.parametrize(
    "text", ["the door code was changed in 2024", "a code of conduct", "the gate code is on the sign"]
)
def test_what_is_no_code_of_a_door_stays(text: str) -> None:
    assert WITH_DOORS.sanitize_text(text) == text
