"""Several spaces in one answer: the own one, the project's and the agent's, as far as they are shared."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import product

import psycopg
import pytest

from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.plan import Change
from muniment.memory.domain.query import Filters, Query
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from muniment.memory.payload import parse_agent_query
from muniment.memory.stores.postgres import search
from muniment.testing import FixedClock
from tests.engine import NOON, Leaving, engine, note, settings
from tests.erasing import commit

ATLAS = Scope(owner="atlas", owner_type="project")
PLANNER = Scope(owner="planner", owner_type="agent")
ANA, BEN = Scope(owner="ana", project="atlas"), Scope(owner="ben", project="atlas")
PNPM = "What does the team install packages with?"


async def share(url: str, shared: Scope, reader: Scope | None) -> None:
    async with bootstrap.open_shares(settings(url)) as shares:
        await shares.grant_share(shared, reader and reader.owner_scope, by="root")


async def unshare(url: str, shared: Scope, reader: Scope | None) -> None:
    async with bootstrap.open_shares(settings(url)) as shares:
        await shares.revoke_share(shared, reader and reader.owner_scope)


@asynccontextmanager
async def told(url: str, **more: object) -> AsyncIterator[Memory]:
    """A memory in which three have said something of packages, and the project and the agent are shared with Ana."""
    for shared in (ATLAS, PLANNER):
        await share(url, shared, ANA)
    async with engine(url, **more) as memory:  # type: ignore[arg-type]
        own = [note("Ana installs packages at home with yarn", "tasks"), note("Ana waters figs", "tasks")]
        team = [note("The team installs packages with pnpm", "tasks"), note("A test installs", "activity")]
        await memory.ingest(ANA, own)
        await memory.ingest(ATLAS, team)
        await memory.ingest(PLANNER, [note("Packages are best installed before noon", "tasks")])
        yield memory


async def test_three_spaces_answer_together(database_url: str) -> None:
    """Each hit says whose it is; who has no share reads none of it, nor does who works on another project."""
    async with told(database_url) as memory:
        answer = await memory.query(ANA, "planner", Query(text="install packages", threshold=0.0))
        assert {(hit.shared_by, hit.memory.text) for hit in answer.hits} >= {
            (None, "Ana installs packages at home with yarn"),
            ("project", "The team installs packages with pnpm"),
            ("agent", "Packages are best installed before noon"),
        }
        assert "A test installs" not in {hit.memory.text for hit in answer.hits}  # no category of the planner's
        for who in (BEN, replace(ANA, project="borea")):
            found = await memory.query(who, "planner", Query(text="install packages", threshold=0.0))
            assert "project" not in {hit.shared_by for hit in found.hits}
        stylist = await memory.query(ANA, "stylist", Query(text="install packages", threshold=0.0))
        assert stylist.hits == ()


async def test_a_share_begins_and_ends(database_url: str) -> None:
    """Who had none is asked about again within ten seconds; who is revoked reads nothing from the next search on."""
    async with told(database_url) as memory:
        asked = Query(text=PNPM, threshold=0.0)

        async def read(who: Scope) -> set[str | None]:
            return {hit.shared_by for hit in (await memory.query(who, "planner", asked)).hits}

        assert await read(BEN) == set()
        await share(database_url, ATLAS, BEN)
        assert await read(BEN) == set()
        closed = memory.engine.store.searches._shared.closed  # type: ignore[attr-defined]
        assert closed
        closed.clear()  # as ten seconds later
        assert await read(BEN) == {"project"}
        await unshare(database_url, ATLAS, BEN)
        assert await read(BEN) == set()
        closed.clear()
        await share(database_url, ATLAS, None)
        assert await read(BEN) == {"project"}


async def test_a_brief_says_whose_it_is(database_url: str) -> None:
    """What is always in context is so of the project, too, after the own; bullets name the owner. Nothing is counted
    as read of what others share, and nothing is written there."""
    async with told(database_url) as memory:
        await memory.ingest(ATLAS, [note("Nobody deploys on Fridays", "constraints")])
        await memory.ingest(ANA, [note("Ana eats no walnuts", "constraints")])
        before = await memory.export(ATLAS)
        brief = await memory.brief(replace(ANA, thread="A"), "planner", PNPM)
        assert brief.stable.splitlines() == [
            "- [constraints] Ana eats no walnuts",
            "- [constraints, of the project] Nobody deploys on Fridays",
        ]
        assert len(brief.stable_keys) == len(brief.stable.splitlines())
        assert "[tasks, of the project] The team installs packages with pnpm" in brief.bullets
        assert "- [tasks, of the project] The team installs packages with pnpm" in brief.moving
        alone = await memory.brief(replace(BEN, thread="B"), "planner", PNPM)
        assert (alone.stable, alone.bullets) == ("", ())
        await memory.conversation.flush(ANA)
        assert await memory.export(ATLAS) == before


async def test_of_equals_the_own_comes_first(database_url: str) -> None:
    """The same statement in all three spaces is told once, as the own one."""
    async with told(database_url) as memory:
        for who in (PLANNER, ATLAS, ANA):
            await memory.ingest(who, [note("The build runs on Mondays", "tasks")])
        answer = await memory.query(ANA, "planner", Query(text="When does the build run?", explain=True))
        (hit,) = answer.hits
        assert hit.shared_by is None
        assert [one.reason for one in answer.omissions].count("near-duplicate") == 2
        (access,) = [one for one in answer.stages if one.name == "access"]
        assert (access.counts["spaces"], access.counts["withheld"]) == (3, 0)
        assert [one.name for one in answer.stages] == [
            "scope",
            "access",
            "meaning",
            "words",
            "structure",
            "rank",
            "pack",
        ]


async def test_a_revision_is_of_the_own_space(database_url: str) -> None:
    """At a revision only the own space is read, for it is no other's, and the stages say so."""
    async with told(database_url) as memory:
        asked = Query(text=PNPM, threshold=0.0, as_of=Revision(2), explain=True)
        answer = await memory.query(ANA, "planner", asked)
        assert {hit.shared_by for hit in answer.hits} == {None}
        (access,) = [one.counts for one in answer.stages if one.name == "access"]
        assert (access["spaces"], access["withheld"], access["of_no_revision"]) == (1, 0, 2)


async def test_a_time_holds_in_every_space(database_url: str) -> None:
    """Each space is read as of its own revision then, with what was changed, forgotten, moved out of sight or over
    since; who has no share now reads nothing of then, and of before a space there is nothing."""
    clock = FixedClock(NOON)
    async with told(database_url, clock=clock) as memory:
        clock.advance(60)
        lasting = [
            note("The team installs packages twice a day", "tasks", expires_at=NOON + timedelta(seconds=90)),
            note("The team installs packages as root", "tasks"),
        ]
        await memory.ingest(ATLAS, lasting)
        known = {each.text: each for each in await memory.list(ATLAS)}
        clock.advance(60)
        await memory.forget(ATLAS, known["The team installs packages with pnpm"].id)
        await memory.ingest(ATLAS, [note("The team installs packages with bun", "tasks")])
        moved = known["The team installs packages as root"]  # the last change, in a line that the planner does not see
        change = Change(action="UPDATE", before=moved, after=replace(moved, category="history"))
        await commit(memory, ATLAS, change)
        await memory.ingest(ANA, [note("Ana installs packages with npm", "tasks")])
        clock.advance(60)

        async def read(who: Scope, moment: datetime, agent: str = "planner") -> dict[str, str | None]:
            asked = Query(text="install packages", threshold=0.0, as_of=moment, explain=True)
            answer = await memory.query(who, agent, asked)
            (access,) = [one.counts for one in answer.stages if one.name == "access"]
            assert "of_no_revision" not in access
            return {hit.memory.text: hit.shared_by for hit in answer.hits}

        first = {
            "Ana installs packages at home with yarn": None,
            "Ana waters figs": None,
            "The team installs packages with pnpm": "project",
            "Packages are best installed before noon": "agent",
        }
        assert await read(ANA, NOON) == first
        root = {"The team installs packages as root": "project"}
        assert await read(ANA, NOON + timedelta(seconds=60)) == first | root
        now = await read(ANA, NOON + timedelta(seconds=120))
        assert now == {
            **{text: whose for text, whose in first.items() if "pnpm" not in text},
            "The team installs packages with bun": "project",
            "Ana installs packages with npm": None,
        }
        assert now == await read(ANA, clock.now())
        assert await read(ANA, NOON - timedelta(seconds=1)) == {}
        assert await read(BEN, NOON + timedelta(seconds=120)) == {}
        assert await read(ANA, NOON, "stylist") == {}
        answer = await memory.query(ANA, "planner", Query(text="*", as_of=NOON))
        assert {hit.memory.text: hit.shared_by for hit in answer.hits} == first
        await unshare(database_url, ATLAS, ANA)
        assert "project" not in (await read(ANA, NOON)).values()


async def test_words_answer_where_the_embedder_is_away(database_url: str) -> None:
    """All spaces are searched by their words, and the answer says so; a space whose vectors are of another embedder is
    read by words beside one that is not."""
    embedder = Leaving()
    async with told(database_url, embedder=embedder) as memory:
        embedder.leave()
        answer = await memory.query(ANA, "planner", Query(text="install packages", threshold=0.0))
        assert answer.degraded
        assert {hit.shared_by for hit in answer.hits} == {None, "project", "agent"}
        brief = await memory.brief(ANA, "planner", "Which packages does the team install?")
        assert brief.degraded
        assert any("of the project" in bullet for bullet in brief.bullets)
    with psycopg.connect(database_url) as admin:
        admin.execute("update muniment.spaces set model = 'another' where owner_id = 'atlas'")
        admin.execute("update muniment.memories set embedding_model = 'another' where space_id = %s", [ATLAS.space])
    async with engine(database_url) as memory:
        answer = await memory.query(ANA, "planner", Query(text="install packages", threshold=0.0, explain=True))
        assert not answer.degraded
        channels = {(hit.shared_by, hit.channels) for hit in answer.hits}
        assert ("project", ("keyword",)) in channels
        assert (None, ("dense", "keyword")) in channels


async def test_two_tenants_see_nothing_of_each_other(
    database_url: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """With every condition of the engine on the space taken out of the statements, row-level security shows the own
    rows and the shared ones of the same tenant, and no other's."""
    acme = {owner: replace(who, tenant="acme") for owner, who in (("ana", ANA), ("atlas", ATLAS))}
    request.addfinalizer(search._build_statement.cache_clear)
    async with told(database_url) as memory:
        await memory.ingest(acme["ana"], [note("Acme installs packages with npm", "tasks")])
        await memory.ingest(acme["atlas"], [note("Acme's team installs packages with bun", "tasks")])
        await memory.ingest(BEN, [note("Ben installs packages with apt", "tasks")])
        for blocks in (search._SEARCH, search._READ):
            for name, text in blocks.items():
                monkeypatch.setitem(blocks, name, re.sub(r"[a-z]\.space_id = %\(space\)s", "true", text))
        search._build_statement.cache_clear()
        now = Query(text="install packages", threshold=0.0)
        for who, asked in product((ANA, acme["ana"], BEN), (now, replace(now, as_of=memory.now()))):
            found = {hit.memory.text for hit in (await memory.query(who, "planner", asked)).hits}
            if who is ANA:
                assert found == {
                    "Ana installs packages at home with yarn",
                    "Ana waters figs",
                    "The team installs packages with pnpm",
                    "Packages are best installed before noon",
                }
            else:
                (own,) = found
                assert own.startswith("Ben" if who is BEN else "Acme installs")


async def test_newest_of_all_spaces(database_url: str) -> None:
    """An empty question and `*` list what has changed last, within allowlist, filters, top_k and budget, with as-of;
    equal times begin with the own."""
    clock = FixedClock(NOON)
    async with told(database_url, clock=clock) as memory:
        clock.advance(60)
        await memory.ingest(ATLAS, [note("A retro is on Tuesday", "tasks")])
        for text in ("", " * "):
            answer = await memory.query(ANA, "planner", Query(text=text))
            assert answer.hits[0].memory.text == "A retro is on Tuesday"
            owners = [hit.shared_by for hit in answer.hits]
            assert (owners[:3], set(owners[3:])) == (["project", None, None], {"project", "agent"})
            assert "A test installs" not in {hit.memory.text for hit in answer.hits}
            assert not answer.degraded
        few = await memory.query(ANA, "planner", Query(text="*", top_k=2))
        assert [hit.memory.id for hit in few.hits] == [hit.memory.id for hit in answer.hits[:2]]
        own = await memory.query(ANA, "planner", Query(text="*", as_of=Revision(1)))
        assert len(own.hits) == 1
        none = await memory.query(ANA, "planner", Query(text="*", filters=Filters(pinned=True)))
        assert none.hits == ()
        small = await memory.query(ANA, "planner", Query(text="*", budget_tokens=60))
        assert 0 < len(small.hits) < 5
        assert small.tokens <= 60
        with pytest.raises(BadInput):
            await memory.why_not(ANA, "planner", own.hits[0].memory.id, Query(text="*"))


async def test_a_profile_is_for_one_kind_of_caller(database_url: str) -> None:
    """What it overrides holds for who names it and for the agent that has it, and for nobody else."""
    base = settings(database_url)
    profiles = {"terse": {"top_k": 1, "budget_tokens": 64, "threshold": 0.0}, "blind": {"semantic_weight": 0.0}}
    recall = base.recall.model_copy(update={"profiles": profiles, "agents": {"planner": "terse"}})
    tuned = base.model_copy(update={"recall": recall})
    async with told(database_url, tuned=tuned) as memory:
        text = "install packages"
        query = parse_agent_query(tuned, "planner", {"query": text})
        assert (query.top_k, query.budget_tokens) == (1, 64)
        assert len((await memory.query(ANA, "planner", query)).hits) == 1
        named = parse_agent_query(tuned, "executor", {"query": text, "profile": "blind", "threshold": 0.0})
        assert (named.top_k, named.budget_tokens) == (base.recall.top_k, base.recall.budget_tokens)
        blind = await memory.query(ANA, "executor", named)
        assert {hit.parts["semantic"] for hit in blind.hits} == {0.0}
        seen = await memory.query(ANA, "executor", replace(named, profile=None))
        assert any(hit.parts["semantic"] > 0 for hit in seen.hits)
        for call in (memory.query(ANA, "planner", Query(text=text, profile="none")),):
            with pytest.raises(BadInput, match="blind, terse"):
                await call
