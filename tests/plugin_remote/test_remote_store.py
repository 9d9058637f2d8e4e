"""The store port over real HTTP (P-40, P-94): what is written is found, and what is forgotten stays so."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import httpx
import pytest

from muniment.memory.errors import BadInput, RemoteStoreError
from muniment.plugin.domain.item import CompactPolicy, ItemOwner
from tests.http.conftest import Serving
from tests.plugin_remote.conftest import Connect
from tests.plugin_remote.items import NOW, ask, do, every, make_owner, make_rule


def new_user() -> ItemOwner:
    return make_owner(f"user-{uuid4().hex[:8]}")


async def test_what_is_written_is_found(connect: Connect) -> None:
    """P-64 to P-72: every field but the vector comes back, and the parts of a score are those of the one formula."""
    ana = replace(new_user(), project="atlas", session="s1")
    store = connect(owner=ana.user)
    item = make_rule(
        "The project uses pnpm for all packages.",
        ana,
        scope="project",
        summary="Use pnpm",
        tags=("tooling",),
        keywords=("package manager",),
        confidence=0.9,
        importance=0.75,
        origin="README.md",
        ttl=timedelta(days=30),
        pinned=True,
        created_at=NOW - timedelta(days=2),
    )
    [stored] = await store.upsert([item])
    assert (stored.id, stored.outcome, stored.reason) == (item.id, "added", None)
    [hit] = await store.search(ask("Which package manager, pnpm?", ana))
    assert hit.store == "remote"
    assert hit.parts["keyword"] > 0
    found = replace(hit.item, updated_at=None, last_accessed_at=None)
    assert found == item
    assert await store.search(ask("pnpm packages", replace(ana, project="other"))) == ()
    assert await store.search(ask("pnpm packages", ana, types=("todo",))) == ()
    assert [each.id for each in await store.list(every(ana, id_prefix=item.id[:8]))] == [item.id]
    await store.close()


async def test_upsert_pin_forget(connect: Connect) -> None:
    """P-84: the same again is no second item. Pinned, forgotten, and never made again (P-114)."""
    ana = new_user()
    store = connect(owner=ana.user)
    item = make_rule("Releases go out on Thursdays after the review.", ana)
    assert [each.outcome for each in await store.upsert([item, item])] == ["added", "known"]
    assert [each.outcome for each in await store.upsert([replace(item, importance=1.0)])] == ["updated"]
    [kept] = await store.list(every(ana))
    assert (kept.id, kept.importance) == (item.id, 1.0)
    assert await store.pin(ana, item.id, pinned=True)
    assert [each.pinned for each in await store.list(every(ana))] == [True]
    assert not await store.pin(ana, str(uuid4()), pinned=True)
    assert await store.forget(ana, [item.id, str(uuid4())]) == [item.id]
    assert await store.forget(ana, [item.id]) == []
    assert await store.list(every(ana)) == ()
    assert [each.outcome for each in await store.upsert([item])] == ["forgotten"]
    [gone] = await store.list(every(ana, with_deleted=True))
    assert gone.deleted
    assert (await store.compact(ana, CompactPolicy(at=NOW))).kept == 0
    await store.close()


async def test_operations_are_carried_out_once(connect: Connect) -> None:
    """P-84, P-114: an operation that arrives again changes nothing, also when something came between."""
    ana = new_user()
    store = connect(owner=ana.user)
    item = make_rule("Commits follow the conventional commits format.", ana)
    same = make_rule(item.content, ana)
    write, pin = do("upsert", item, ana), do("pin", item, ana)
    answers = await store.apply_operations([write, pin, do("upsert", same, ana), do("unpin", item, ana)])
    assert [each.outcome for each in answers] == ["applied", "applied", "merged", "applied"]
    assert answers[2].item_id == item.id
    again = await store.apply_operations([write, pin])
    assert [each.outcome for each in again] == ["replayed", "replayed"]
    assert [each.pinned for each in await store.list(every(ana))] == [False]
    newer = replace(item, content="Commits follow the conventional commits format, with a scope.")
    assert [each.outcome for each in await store.apply_operations([do("upsert", newer, ana), write])] == [
        "applied",
        "replayed",
    ]
    [kept] = await store.list(every(ana))
    assert kept.content == newer.content
    gone = await store.apply_operations([do("forget", item, ana), do("upsert", same, ana), do("pin", same, ana)])
    assert [(each.outcome, each.reason) for each in gone] == [
        ("applied", None),
        ("forgotten", None),
        ("refused", "unknown"),
    ]
    page = await store.read_changes(ana, 0)
    assert page.is_last
    assert (page.changes[-1].item_id, page.changes[-1].item) == (item.id, None)
    assert [each.item.content for each in page.changes if each.item][-1] == newer.content
    with pytest.raises(BadInput):
        await store.read_changes(ana, page.revision + 100)
    await store.close()


async def test_an_operation_that_cannot_be_done_is_refused_alone(connect: Connect) -> None:
    """A secret, a statement in the first person, and an item of another id: refused by reason, and the rest goes on."""
    ana = new_user()
    store = connect(owner=ana.user)
    secret = make_rule("The deploy key is ghp_abcdefghijklmnopqrstuvwxyz0123456789.", ana)
    own = make_rule("I prefer tabs over spaces in Go files.", ana)
    fine = make_rule("The team prefers tabs over spaces in Go files.", ana)
    homeless = make_rule("The build runs on Linux runners only.", ana, scope="project", project_id=None)
    answers = await store.apply_operations([do("upsert", each, ana) for each in (secret, own, homeless, fine)])
    assert [each.outcome for each in answers] == ["refused", "refused", "refused", "applied"]
    assert [each.reason for each in answers[:2]] == ["a secret", "first or second person"]
    assert "ghp_" not in str(answers)
    await store.close()


def test_another_version_is_refused(served: Serving) -> None:
    """P-115: a typed refusal that says which versions are known."""
    with served.client(served.token(owner="ana"), **{"Muniment-Store-Protocol": "2"}) as client:
        answer = client.post("/v1/store/pin", json={"id": str(uuid4()), "pinned": True})
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert (error["type"], error["known"]) == ("ProtocolMismatch", [1])


async def test_an_unknown_token(connect: Connect, served: Serving) -> None:
    """A token that does not permit it is a store that cannot be reached; nothing says the token."""
    reader = connect(owner="ana", scopes=("read",))
    with pytest.raises(RemoteStoreError, match="not permitted, status 403"):
        await reader.upsert([make_rule("The build runs on Linux runners only.", make_owner("ana"))])
    await reader.close()
    assert httpx.post(f"{served.url}/v1/store/list", json={}).status_code == 401
