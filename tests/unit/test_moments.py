"""What a read goes back to, as it is typed."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from muniment.memory import query_codec
from muniment.memory.errors import BadInput


@pytest.mark.parametrize(
    ("typed", "last"),
    [
        ("2026-05-01", "2026-05-01"),
        ("2026-W47", "2026-11-22"),
        ("2026W47", "2026-11-22"),
        ("2026-W47-3", "2026-11-18"),
        ("2026W473", "2026-11-18"),
    ],
)
def test_a_date_is_its_end(typed: str, last: str) -> None:
    """A week's is that of its Sunday."""
    assert query_codec.parse_as_of(typed) == datetime.fromisoformat(f"{last}T23:59:59.999999").replace(tzinfo=UTC)


@pytest.mark.parametrize("typed", ["9999-W52", "2026-W60", "2026-13", "W47"])
def test_no_date(typed: str) -> None:
    """The week that ends behind the calendar is none either."""
    with pytest.raises(BadInput, match="as_of"):
        query_codec.parse_as_of(typed)
