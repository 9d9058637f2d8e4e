"""What every store of items does: the same items and queries give the same answers (P-64 to P-79, P-84, P-88, P-94)."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from muniment.memory.errors import BadInput, DuplicateMemory, RemoteStoreError
from muniment.plugin.domain.item import CompactPolicy, ItemOwner, MemoryItem
from muniment.plugin.ports import MemoryStore
from muniment.plugin.stores.remote.store import RemoteStore
from muniment.plugin.stores.scoring import Weights, score_item
from tests.plugin_stores.items import ANA, START, ask, everything, make_id, make_item

DAY = timedelta(days=1)


async def test_an_item_comes_back_with_all_its_fields(store: MemoryStore) -> None:
    """P-64 to P-72."""
    item = make_item(
        "Deploys go out on Tuesdays only.",
        type="rule",
        scope="project",
        summary="Deploy on Tuesdays",
        tags=("release", "ops"),
        keywords=("rollout",),
        confidence=0.9,
        importance=0.75,
        source="document",
        origin="docs/release.md",
        ttl=timedelta(days=30),
        pinned=True,
    )
    [stored] = await store.upsert([item])
    assert (stored.given_id, stored.outcome) == (item.id, "added")
    [found] = await store.list(everything())
    assert replace(found, id=item.id) == item


async def test_the_same_item_twice_is_one(store: MemoryStore) -> None:
    """P-84: a replay is one row."""
    item = make_item("The API is versioned by date.")
    [first] = await store.upsert([item])
    [second] = await store.upsert([item])
    assert (first.outcome, second.outcome) == ("added", "known")
    assert first.id == second.id
    assert len(await store.list(everything())) == 1


async def test_the_same_statement_under_another_id_is_one(store: MemoryStore) -> None:
    """P-63: its id is the one that stands."""
    item = make_item("Use tabs in Makefiles.")
    [first] = await store.upsert([item])
    [second] = await store.upsert([make_item("use tabs in  makefiles", days=0)])
    assert second.outcome in ("known", "merged")
    assert second.id == first.id
    assert len(await store.list(everything())) == 1


async def test_one_call_with_a_statement_twice_writes_it_once(store: MemoryStore) -> None:
    stored = await store.upsert([make_item("Use tabs."), make_item("Use tabs."), make_item("Use spaces in YAML.")])
    assert [each.outcome for each in stored] == ["added", "known", "added"]
    assert stored[0].id == stored[1].id


async def test_an_item_does_not_come_to_say_what_another_one_says(store: MemoryStore) -> None:
    """P-63, P-84: the change is refused, both stay as they were, and the others of the call are written."""
    first, second, third = make_item("Use pnpm."), make_item("Use yarn."), make_item("Use bun.", scope="project")
    await store.upsert([first, second, third])
    given = [replace(each, content="use pnpm", updated_at=START + DAY) for each in (second, third)]
    refused, changed = await store.upsert(given)
    assert (refused.id, refused.outcome, refused.reason) == (second.id, "refused", str(DuplicateMemory()))
    assert (changed.id, changed.outcome) == (third.id, "updated")
    assert {item.id: item.content for item in await store.list(everything())} == {
        first.id: "Use pnpm.",
        second.id: "Use yarn.",
        third.id: "use pnpm",
    }
    await store.forget(ANA, [second.id])
    [changed] = await store.upsert([replace(first, type="todo", updated_at=START + DAY)])
    assert changed.outcome == "updated"


async def test_one_statement_of_two_types_and_places_is_found_three_times(store: MemoryStore) -> None:
    """P-73: nothing that was kept is left out because something else says the same."""
    said = "Retry the queue twice."
    items = [make_item(said), make_item(said, type="todo"), make_item(said, scope="project")]
    await store.upsert(items)
    assert {hit.item.id for hit in await store.search(ask("retry the queue"))} == {item.id for item in items}


async def test_a_statement_of_another_place_is_another(store: MemoryStore) -> None:
    texts = [make_item("Use tabs."), make_item("Use tabs.", scope="project"), make_item("Use tabs.", scope="session")]
    assert [each.outcome for each in await store.upsert(texts)] == ["added"] * 3


async def test_a_search_scores_by_the_formula(store: MemoryStore) -> None:
    """P-73, P-75, P-76."""
    items = [
        make_item("The auth refactor moves tokens into cookies.", id=make_id(1)),
        make_item("Auth tests run against the staging realm.", id=make_id(2), days=-200),
        make_item("The refactor of billing is done.", id=make_id(3), days=-20),
        make_item("Lunch is at noon.", id=make_id(4)),
    ]
    ids = dict(zip((each.id for each in await store.upsert(items)), items, strict=True))
    query = ask("continue the auth refactor")
    hits = await store.search(query)
    plain = {id_: score_item(item, query, Weights()) for id_, item in ids.items()}
    if all("semantic" not in hit.parts for hit in hits):
        wanted = sorted((id_ for id_ in ids if plain[id_].is_relevant), key=lambda id_: (-plain[id_].total, id_))
        assert [hit.item.id for hit in hits] == wanted
        assert [hit.score for hit in hits] == pytest.approx([plain[id_].total for id_ in wanted], abs=1e-6)
    assert ids[hits[0].item.id].content.startswith("The auth refactor")
    assert all(0 <= part <= 1 for hit in hits for part in hit.parts.values())


async def test_chinese_is_found(store: MemoryStore) -> None:
    """P-73: by pairs of characters, inside a sentence."""
    await store.upsert([make_item("认证重构先拆分令牌校验。"), make_item("午饭在十二点。")])
    hits = await store.search(ask("接着上次的认证重构"))
    assert [hit.item.content for hit in hits] == ["认证重构先拆分令牌校验。"]


async def test_tags_keywords_and_summary_find_an_item(store: MemoryStore) -> None:
    await store.upsert([make_item("Go with the second one.", summary="queue", tags=("kafka",), keywords=("broker",))])
    for text in ("kafka", "broker", "queue"):
        assert len(await store.search(ask(text))) == 1, text


async def test_from_three_to_eight_hits(store: MemoryStore) -> None:
    """P-77."""
    await store.upsert([make_item(f"Service number {number} owns a database.") for number in range(12)])
    assert len(await store.search(ask("database", top_k=1, min_score=0))) == 3
    assert len(await store.search(ask("database", top_k=100, min_score=0))) == 8


async def test_a_weak_score_is_no_hit(store: MemoryStore) -> None:
    """P-79."""
    await store.upsert([make_item("The cache is Redis.", days=-365)])
    text = "cache of images for the catalogue that the shop shows on the landing page of each season"
    assert not await store.search(ask(text, min_score=0.6))


async def test_only_types_that_are_asked_for(store: MemoryStore) -> None:
    await store.upsert([make_item("Write tests for auth.", type="todo"), make_item("Auth uses JWT.", type="fact")])
    hits = await store.search(ask("auth", types=("todo",)))
    assert [hit.item.type for hit in hits] == ["todo"]
    assert [item.type for item in await store.list(everything(types=("fact",)))] == ["fact"]


async def test_projects_and_sessions_are_apart(store: MemoryStore) -> None:
    """P-65."""
    await store.upsert(
        [
            make_item("Everywhere: cache."),
            make_item("Of the shop: cache.", scope="project"),
            make_item("Of this session: cache.", scope="session"),
        ]
    )
    seen = {"Everywhere: cache."}
    elsewhere = replace(ANA, project="blog", session="s2")
    assert {hit.item.content for hit in await store.search(ask("cache", owner=elsewhere))} == seen
    assert {item.content for item in await store.list(everything(owner=elsewhere))} == seen
    assert len(await store.search(ask("cache"))) == 3
    nowhere = replace(ANA, project=None, session=None)
    assert {hit.item.content for hit in await store.search(ask("cache", owner=nowhere))} == seen
    assert len(await store.list(everything(owner=nowhere, everywhere=True))) == 3


@pytest.mark.parametrize("other", [replace(ANA, user="ben"), replace(ANA, tenant="other")])
async def test_nothing_of_another_user_or_tenant(store: MemoryStore, other: ItemOwner) -> None:
    """P-89: an id that is not yours is as one that is not there."""
    [stored] = await store.upsert([make_item("The cache is Redis.")])
    with ExitStack() as refused:
        if isinstance(store, RemoteStore) and other.tenant != ANA.tenant:  # its token is of one tenant
            refused.enter_context(pytest.raises(RemoteStoreError))
        assert not await store.search(ask("cache", owner=other))
        assert not await store.list(everything(owner=other, everywhere=True))
        assert not await store.forget(other, [stored.id])
        assert not await store.pin(other, stored.id, pinned=True)
        assert (await store.compact(other, CompactPolicy(at=START + 400 * DAY, max_items=0))).kept == 0
    [item] = await store.list(everything())
    assert not item.pinned


async def test_what_is_forgotten_is_in_no_answer_and_never_made_again(store: MemoryStore) -> None:
    """P-22, P-88: neither by its id nor by its words."""
    item = make_item("The office is in Lisbon.")
    [stored] = await store.upsert([item])
    assert list(await store.forget(ANA, [stored.id, make_id(9)])) == [stored.id]
    assert not await store.forget(ANA, [stored.id])
    assert not await store.search(ask("office Lisbon"))
    assert not await store.list(everything())
    again = await store.upsert([item, make_item("the office is in lisbon")])
    assert [each.outcome for each in again] == ["forgotten", "forgotten"]
    assert not await store.list(everything())


async def test_pins(store: MemoryStore) -> None:
    """P-21."""
    [first, _] = await store.upsert([make_item("Use pnpm."), make_item("Answer briefly.")])
    assert await store.pin(ANA, first.id, pinned=True)
    assert [item.id for item in await store.list(everything(pinned=True))] == [first.id]
    assert await store.pin(ANA, first.id, pinned=False)
    assert not await store.list(everything(pinned=True))
    assert not await store.pin(ANA, make_id(9), pinned=True)


async def test_what_has_expired_is_in_no_answer(store: MemoryStore) -> None:
    """P-72. A service goes by its own clock, and not by the host's."""
    days = (datetime.now(UTC) - START) / DAY if isinstance(store, RemoteStore) else 1
    await store.upsert(
        [
            make_item("The freeze ends on Friday.", ttl=2 * DAY, days=days - 1),
            make_item("The other freeze ended.", ttl=2 * DAY, days=days - 3),
        ]
    )
    assert [hit.item.content for hit in await store.search(ask("freeze", days=days))] == ["The freeze ends on Friday."]
    assert len(await store.list(everything(days=days))) == 1


async def test_a_list_has_the_newest_change_first(store: MemoryStore) -> None:
    texts = ("first", "second", "third")
    await store.upsert([make_item(f"The {text} statement.", days=number) for number, text in enumerate(texts)])
    listed = [item.content for item in await store.list(everything(days=5))]
    assert listed == ["The third statement.", "The second statement.", "The first statement."]
    assert len(await store.list(everything(days=5, limit=2))) == 2


async def test_the_beginning_of_an_id(store: MemoryStore) -> None:
    """P-108."""
    [stored, _] = await store.upsert([make_item("Use pnpm."), make_item("Answer briefly.")])
    for prefix in (stored.id[:8], stored.id[:8].upper(), stored.id[:13]):
        assert [item.id for item in await store.list(everything(id_prefix=prefix))] == [stored.id]
    assert not await store.list(everything(id_prefix="%"))


async def test_compacting_removes_what_has_expired(store: MemoryStore) -> None:
    await store.upsert([make_item("The freeze ends.", ttl=timedelta(days=2)), make_item("Use pnpm.")])
    report = await store.compact(ANA, CompactPolicy(at=START + 3 * DAY))
    assert (report.expired, report.kept) == (1, 1)


async def test_compacting_drops_the_least_important_and_nothing_pinned(store: MemoryStore) -> None:
    items = [make_item(f"Rule number {number}.", importance=number / 10) for number in range(6)]
    items[0] = replace(items[0], pinned=True)
    await store.upsert(items)
    report = await store.compact(ANA, CompactPolicy(at=START + DAY, max_items=3))
    assert (report.dropped, report.kept) == (3, 3)
    assert {item.content for item in await store.list(everything())} == {
        "Rule number 0.",
        "Rule number 4.",
        "Rule number 5.",
    }


async def test_what_was_forgotten_long_ago_is_purged_and_does_not_return(store: MemoryStore) -> None:
    """P-114: forgetting holds for ever."""
    item = make_item("The office is in Lisbon.")
    [stored] = await store.upsert([item])
    await store.forget(ANA, [stored.id])
    await store.compact(ANA, CompactPolicy(at=START + 10_000 * DAY))
    [again] = await store.upsert([item])
    assert again.outcome == "forgotten"


async def test_what_has_expired_or_had_no_room_is_written_again(store: MemoryStore) -> None:
    """P-72, P-88: only what was forgotten is never made again."""
    ended = make_item("The freeze ends.", ttl=2 * DAY)
    small = make_item("Answer briefly.", importance=0.0)
    forgotten = make_item("The office is in Lisbon.")
    await store.upsert([ended, small, forgotten, make_item("Use pnpm.", importance=1.0)])
    await store.forget(ANA, [forgotten.id])
    report = await store.compact(ANA, CompactPolicy(at=START + 3 * DAY, max_items=1))
    assert (report.expired, report.dropped, report.kept) == (1, 1, 1)
    again = await store.upsert([replace(ended, ttl=None), small, forgotten])
    assert [(each.id, each.outcome) for each in again] == [
        (ended.id, "added"),
        (small.id, "added"),
        (forgotten.id, "forgotten"),
    ]
    assert len(await store.list(everything())) == 3
    assert [hit.item.id for hit in await store.search(ask("freeze"))] == [ended.id]
    assert list(await store.forget(ANA, [small.id])) == [small.id]
    [last] = await store.upsert([small])
    assert last.outcome == "forgotten"


def _broken(**fields: Any) -> MemoryItem:
    return replace(make_item("Use pnpm."), **fields)


@pytest.mark.parametrize(
    "item",
    [
        _broken(id="7"),
        _broken(content=""),
        _broken(content="a\x00b"),
        _broken(content="\ud800"),
        _broken(content="x" * 5_000),
        _broken(confidence=1.5),
        _broken(importance=float("nan")),
        _broken(scope="project"),
        _broken(created_at=START.replace(tzinfo=None)),
        _broken(ttl=timedelta(0)),
        _broken(type="song"),
        _broken(tags=("",)),
    ],
)
async def test_what_no_store_takes(store: MemoryStore, item: MemoryItem) -> None:
    """Nothing of the call is written, and the message has nothing of the value."""
    with pytest.raises(BadInput) as failed:
        await store.upsert([make_item("Answer briefly."), item])
    assert "item." in str(failed.value)
    assert not await store.list(everything())
