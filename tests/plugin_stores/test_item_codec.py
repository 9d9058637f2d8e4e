"""Items as JSON, both ways."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_args

import pytest
from hypothesis import given, strategies as st

from muniment.memory.errors import BadInput
from muniment.plugin.domain.item import ITEM_SCOPES, ITEM_TYPES, ItemSource, MemoryItem
from muniment.plugin.item_codec import check_item, decode_item, encode_item
from tests.plugin_stores.items import make_item

_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40).filter(
    str.strip
)
_TIMES = st.datetimes(
    datetime(1900, 1, 1),  # noqa: DTZ001 - the zone is added
    datetime(2200, 1, 1),  # noqa: DTZ001 - as above
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-8))]),
)
_SHARES = st.floats(0, 1)
ITEMS = st.builds(
    MemoryItem,
    id=st.uuids().map(str),
    tenant_id=_TEXT,
    user_id=_TEXT,
    type=st.sampled_from(ITEM_TYPES),
    content=_TEXT,
    created_at=_TIMES,
    scope=st.sampled_from(ITEM_SCOPES),
    project_id=_TEXT,
    session_id=_TEXT,
    summary=st.none() | _TEXT,
    tags=st.lists(_TEXT, max_size=3).map(tuple),
    keywords=st.lists(_TEXT, max_size=3).map(tuple),
    confidence=_SHARES,
    importance=_SHARES,
    source=st.sampled_from(get_args(ItemSource)),
    origin=st.none() | _TEXT,
    updated_at=st.none() | _TIMES,
    last_accessed_at=st.none() | _TIMES,
    ttl=st.none() | st.timedeltas(timedelta(microseconds=1), timedelta(days=36_500)),
    pinned=st.booleans(),
    deleted=st.booleans(),
)


@given(ITEMS)
def test_an_item_survives_json(item: MemoryItem) -> None:
    """P-64 to P-72, P-94."""
    check_item(item)
    assert decode_item(json.loads(json.dumps(encode_item(item)))) == item


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", "x"), ("id", None), ("tenant_id", ""), ("tenant_id", 7), ("content", []), ("content", "x" * 5_000),
        ("type", "song"), ("type", ["rule"]), ("created_at", "yesterday"), ("created_at", "2026-11-12T09:00:00"),
        ("created_at", 7), ("ttl", -1), ("ttl", "1 day"), ("ttl", True), ("confidence", "high"), ("confidence", 2),
        ("pinned", 1), ("tags", "ops"), ("tags", [7]), ("tags", ["x"] * 65), ("secret", "hunter2"),
    ],
)  # fmt: skip
def test_what_is_no_item(field: str, value: Any) -> None:
    """The message has the name of a known field, and never the value."""
    with pytest.raises(BadInput) as failed:
        decode_item(encode_item(make_item("Use pnpm.")) | {field: value})
    assert "item" in str(failed.value)
    assert "hunter2" not in str(failed.value)


@pytest.mark.parametrize("raw", [None, [], "x", {}])
def test_no_object(raw: Any) -> None:
    with pytest.raises(BadInput):
        decode_item(raw)


def test_a_vector_is_not_sent() -> None:
    assert "embedding" not in encode_item(make_item("Use pnpm.", embedding_model="m"))
