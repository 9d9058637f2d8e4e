"""Items as memories and back: nothing that both can say is lost, either way (P-64 to P-72)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given, strategies as st

from muniment.memory.config.settings import load_settings
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import make_memory
from muniment.memory.rules.merging.placement import sanitize_candidate
from muniment.memory.rules.redaction.redact import Redactor
from muniment.plugin.domain.item import ITEM_SCOPES, ITEM_TYPES, MemoryItem
from muniment.plugin.item_mapping import make_item, make_key, map_item, step_importance

MADE = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
REDACTOR = Redactor(load_settings({"HOME": "/nonexistent"}).redact)
WORDS = st.lists(
    st.sampled_from(["use", "pnpm", "构建", "vor", "Rust", "tabs", "näher", "部署", "fast"]), min_size=1, max_size=6
)
TEXTS = WORDS.map(" ".join)
NAMES = st.lists(TEXTS, max_size=3, unique_by=str.casefold).map(tuple)


@st.composite
def draw_items(draw: st.DrawFn) -> MemoryItem:
    scope = draw(st.sampled_from(ITEM_SCOPES))
    optional = st.none() | TEXTS
    return MemoryItem(
        id=str(draw(st.uuids(version=4))),
        tenant_id=draw(TEXTS),
        user_id=draw(TEXTS),
        project_id=draw(TEXTS if scope == "project" else optional),
        session_id=draw(TEXTS if scope == "session" else optional),
        scope=scope,
        type=draw(st.sampled_from(ITEM_TYPES)),
        content=draw(TEXTS),
        summary=draw(optional),
        tags=draw(NAMES),
        keywords=draw(NAMES),
        confidence=draw(st.floats(0, 1)),
        importance=draw(st.floats(0, 1)),
        source=draw(st.sampled_from(["user", "tool", "document", "agent"])),
        origin=draw(optional),
        created_at=draw(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))),  # noqa: DTZ001 - the zone is the strategy's
        ttl=draw(st.none() | st.timedeltas(timedelta(seconds=1), timedelta(days=3650))),
        pinned=draw(st.booleans()),
    )


def keep(item: MemoryItem) -> tuple[StoredMemory, Scope]:
    """The memory that the engine makes of an item: redacted and as new."""
    mapped = map_item(item, make_key(item))
    safe = sanitize_candidate(mapped.candidate, REDACTOR)
    return make_memory(safe, MemoryId(UUID(item.id)), mapped.scope, MADE), mapped.scope


@given(draw_items())
def test_an_item_comes_back(item: MemoryItem) -> None:
    """All but the importance, which comes back as the value of its step."""
    memory, _ = keep(item)
    found = make_item(memory, tenant=item.tenant_id, user=item.user_id)
    assert found == replace(item, importance=(step_importance(item.importance) - 1) / 4)
    assert abs(found.importance - item.importance) <= 0.125 + 1e-9


@given(draw_items())
def test_a_memory_comes_back(item: MemoryItem) -> None:
    """A memory that was made of an item is the same once it has been an item again."""
    memory, _ = keep(item)
    again, _ = keep(make_item(memory, tenant=item.tenant_id, user=item.user_id))
    assert again == memory


@given(draw_items(), draw_items())
def test_a_key_says_what_the_item_says(item: MemoryItem, other: MemoryItem) -> None:
    """Another content has another digest; use alone has not."""
    assert make_key(item) == make_key(replace(item, last_accessed_at=MADE, updated_at=MADE))
    if other.content != item.content:
        assert make_key(replace(item, content=other.content)).digest != make_key(item).digest
