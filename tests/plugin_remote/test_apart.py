"""Tenants, users and projects on one store of items (P-89): apart by the token, and by row-level security alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any
from uuid import uuid4

import httpx
import pytest

from muniment.memory.errors import RemoteStoreError
from muniment.memory.stores.postgres import search
from muniment.memory.stores.postgres.sql import load_blocks
from muniment.plugin.domain.item import CompactPolicy, ItemOwner, MemoryItem
from muniment.plugin.domain.operation import OperationVerb
from muniment.plugin.ports import OperationStore
from muniment.plugin.stores.engine.store import EngineStore
from tests.engine import engine
from tests.http.conftest import Serving
from tests.plugin_remote.conftest import Connect
from tests.plugin_remote.items import NOW, ask, do, every, make_owner, make_rule

CONDITION = re.compile(r"(?:[a-z]+\.)?space_id = %\(space\)s")  # of the engine, on the space
VERBS: tuple[OperationVerb, ...] = ("pin", "unpin", "forget")
TEXT = "The project uses pnpm for all packages of {}."


@pytest.fixture
def without_conditions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The engine without its own conditions on the space."""
    for path in files("muniment.memory.stores.postgres.sql").iterdir():
        if path.name.endswith(".sql"):
            blocks = load_blocks(path.name.removesuffix(".sql"))
            for name, text in blocks.items():
                monkeypatch.setitem(blocks, name, CONDITION.sub("true", text))
    search._build_statement.cache_clear()
    yield
    search._build_statement.cache_clear()


def make_parties(unique: str) -> Sequence[ItemOwner]:
    """Two users of one tenant, and one of the same name of another tenant."""
    return (make_owner(f"ana-{unique}"), make_owner(f"ben-{unique}"), make_owner(f"ana-{unique}", tenant="umbrella"))


async def check_apart(store: OperationStore, mine: MemoryItem, owner: ItemOwner, others: Sequence[MemoryItem]) -> None:
    """Whoever asks sees the own item alone, and does nothing to the others: their ids are as unknown ones."""
    found = await store.search(ask("pnpm packages project", owner))
    assert [hit.item.id for hit in found] == [mine.id]
    assert [item.id for item in await store.list(every(owner, with_deleted=True))] == [mine.id]
    unknown = str(uuid4())
    for id_ in (*(item.id for item in others), unknown):
        assert await store.forget(owner, [id_]) == []
        assert await store.pin(owner, id_, pinned=True) is False
        assert not await store.list(every(owner, id_prefix=id_))
        operations = [do(verb, replace(mine, id=id_), owner) for verb in VERBS]
        answers = await store.apply_operations(operations)
        assert [(each.outcome, each.reason, each.revision) for each in answers] == [
            ("refused", "unknown", 0),
            ("refused", "unknown", 0),
            ("applied", None, 0),
        ]
    assert {each.item_id for each in (await store.read_changes(owner, 0)).changes} == {mine.id}
    assert (await store.compact(owner, CompactPolicy(at=NOW))).kept == 1


@pytest.mark.parametrize("is_blind", [False, True])
async def test_by_row_level_security_alone(
    database_url: str, request: pytest.FixtureRequest, *, is_blind: bool
) -> None:
    """Also without the engine's own conditions nobody reads, pins or forgets what is another's."""
    if is_blind:
        request.getfixturevalue("without_conditions")
    async with engine(database_url) as memory:
        store = EngineStore(memory, memory.engine.settings.plugin)
        parties = make_parties("x")
        items = [make_rule(TEXT.format(owner.user), owner) for owner in parties]
        assert [each.outcome for each in await store.upsert(items)] == ["added"] * 3
        for owner, mine in zip(parties, items, strict=True):
            await check_apart(store, mine, owner, [item for item in items if item is not mine])
        for owner, mine in zip(parties, items, strict=True):
            assert await store.forget(owner, [mine.id]) == [mine.id]


async def test_by_tokens(connect: Connect, served: Serving) -> None:
    """Over HTTP: a token speaks for its user, and for nobody else."""
    parties = make_parties(uuid4().hex[:8])
    items = [make_rule(TEXT.format(owner.user), owner) for owner in parties]
    stores = [connect(owner=owner.user, tenant=owner.tenant) for owner in parties]
    for store, item in zip(stores, items, strict=True):
        await store.upsert([item])
    for store, owner, mine in zip(stores, parties, items, strict=True):
        await check_apart(store, mine, owner, [item for item in items if item is not mine])
    with pytest.raises(RemoteStoreError, match="not permitted"):
        await stores[0].list(every(parties[1]))
    for store in stores:
        await store.close()


def make_requests(id_: str, project: str | None = None) -> Iterator[tuple[str, str, dict[str, Any] | None]]:
    """Every request of the store that concerns an id, and then what there is to be seen."""
    place = {"project": project} if project else {}
    at = {"at": NOW.isoformat()}
    yield "POST", "pin", place | {"id": id_, "pinned": True}
    yield "POST", "forget", place | {"ids": [id_]}
    for verb in ("pin", "unpin", "forget"):
        yield "POST", "operations", {"operations": [place | {"op_id": str(uuid4()), "verb": verb, "item_id": id_}]}
    yield "POST", "list", place | at | {"id_prefix": id_, "everywhere": True, "with_deleted": True}
    yield "POST", "list", place | at | {"id_prefix": id_[:6], "everywhere": True}
    yield "POST", "search", place | at | {"text": "pnpm packages project", "min_score": 0.0}
    yield "POST", "compact", place | at
    yield "GET", "changes", None


def make_writes(id_: str) -> Iterator[tuple[str, str, dict[str, Any] | None]]:
    """A write under an id, in both ways."""
    item = {"id": id_, "type": "rule", "content": "Builds run at night.", "created_at": NOW.isoformat()}
    yield "POST", "items", {"items": [item]}
    again = item | {"content": "Builds run on Sundays."}
    yield (
        "POST",
        "operations",
        {"operations": [{"op_id": str(uuid4()), "verb": "upsert", "item_id": id_, "item": again}]},
    )


def ask_all(
    client: httpx.Client, id_: str, requests: Iterable[tuple[str, str, dict[str, Any] | None]]
) -> list[tuple[object, ...]]:
    """Status, headers and body of each answer, without the time and with names in place of the ids that were sent."""
    answers: list[tuple[object, ...]] = []
    for method, path, body in requests:
        answer = client.request(method, f"/v1/store/{path}", json=body, headers={"X-Request-Id": "the-same"})
        headers = sorted((name, value) for name, value in answer.headers.items() if name != "date")
        content = answer.content.replace(id_.encode(), b"ID")
        for operation in (body or {}).get("operations", ()):
            content = content.replace(operation["op_id"].encode(), b"OP")
        answers.append((path, answer.status_code, headers, content))
    return answers


async def test_another_ones_is_as_none(connect: Connect, served: Serving) -> None:
    """Byte for byte the same answers for another user's id, another tenant's, and one that nobody has; and nothing of
    it reaches what is theirs."""
    unique = uuid4().hex[:8]
    ana, _, umbrella = make_parties(unique)
    items = [make_rule(TEXT.format(owner.user), owner) for owner in (ana, umbrella)]
    stores = [connect(owner=owner.user, tenant=owner.tenant) for owner in (ana, umbrella)]
    for store, item in zip(stores, items, strict=True):
        await store.upsert([item])
    seen = []
    for number, id_ in enumerate((*(item.id for item in items), str(uuid4()))):
        with served.client(served.token(owner=f"ben-{unique}-{number}")) as client:
            seen.append(ask_all(client, id_, make_requests(id_)))
        with served.client(served.token(owner=f"eve-{unique}-{number}")) as client:
            seen[-1] += ask_all(client, id_, make_writes(id_))
    assert {status for _, status, *_ in seen[0]} == {200}
    assert seen[0] == seen[2]
    assert seen[1] == seen[2]
    for store, owner, item in zip(stores, (ana, umbrella), items, strict=True):
        (kept,) = await store.list(every(owner))
        assert (kept.id, kept.content, kept.pinned) == (item.id, item.content, False)
        await store.close()


async def test_another_project_is_as_none(connect: Connect, served: Serving) -> None:
    """The same for a token of one project, and the id of an item of another one."""
    ana = make_owner(f"ana-{uuid4().hex[:8]}")
    other = make_rule(TEXT.format("borealis"), replace(ana, project="borealis"), scope="project")
    whole = connect(owner=ana.user)
    await whole.upsert([other])
    with served.client(served.token(owner=ana.user, projects=("atlas",))) as client:
        theirs, nobodys = (
            ask_all(client, id_, make_requests(id_, project="atlas")) for id_ in (other.id, str(uuid4()))
        )
        assert {status for _, status, *_ in theirs} == {200}
        assert theirs == nobodys
        for name in ("borealis", "none-such"):
            refused = ask_all(client, other.id, make_requests(other.id, project=name))
            assert [status for _, status, *_ in refused] == [403] * 9 + [200]
    (kept,) = await whole.list(every(ana))
    assert (kept.id, kept.pinned) == (other.id, False)
    await whole.close()


async def test_projects_of_a_token(connect: Connect, served: Serving) -> None:
    """A token of one project neither reads nor writes the items of another, and opens nothing else."""
    ana = make_owner(f"ana-{uuid4().hex[:8]}")
    atlas, borealis = replace(ana, project="atlas"), replace(ana, project="borealis")
    whole = connect(owner=ana.user)
    own = make_rule("The atlas project uses pnpm for all packages.", atlas, scope="project")
    other = make_rule("The borealis project uses pnpm for all packages.", borealis, scope="project")
    everywhere = make_rule("Reviews of pnpm packages take a day.", ana)
    noted = make_rule("Builds of pnpm packages run at night.", borealis)  # found everywhere, but of that project
    await whole.upsert([own, other, everywhere, noted])
    token = served.token(owner=ana.user, projects=("atlas",))
    store = connect(owner=ana.user, projects=("atlas",))
    assert {hit.item.id for hit in await store.search(ask("pnpm packages", atlas))} == {own.id, everywhere.id}
    assert {item.id for item in await store.list(every(atlas))} == {own.id, everywhere.id}
    page = await store.read_changes(ana, 0)
    assert {each.item_id for each in page.changes} == {own.id, everywhere.id}
    for id_ in (other.id, noted.id):
        assert await store.forget(atlas, [id_]) == []
        assert await store.pin(atlas, id_, pinned=True) is False
    for refused in (borealis, replace(ana, project="none-such")):
        with pytest.raises(RemoteStoreError, match="not permitted"):
            await store.search(ask("pnpm packages", refused))
        with pytest.raises(RemoteStoreError, match="not permitted"):
            await store.upsert([make_rule("The release is on Fridays.", refused, scope="project")])
        with pytest.raises(RemoteStoreError, match="not permitted"):
            await store.apply_operations([do("forget", other, refused)])
    [stolen] = await store.apply_operations([do("upsert", replace(other, project_id="atlas", content="Taken."), atlas)])
    assert (stolen.outcome, stolen.reason) == ("forgotten", None)
    assert {item.id: item.content for item in await whole.list(every(borealis))}[other.id] == other.content
    with served.client(token) as client:
        for path in ("/memories", "/export", "/memory/changes", f"/memories/{other.id}"):
            assert client.get(path).status_code == 403
        assert client.post("/memory/query", json={"query": "pnpm", "agent": "supervisor"}).status_code == 403
        assert client.post("/mcp", json={}).status_code == 403
    assert httpx.get(f"{served.url}/ready").status_code == 200
    await store.close()
    await whole.close()
