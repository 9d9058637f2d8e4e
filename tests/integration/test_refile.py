"""Refiling over a real database: what moves, what stays, what the journal says, and how it is taken back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.memory import Fact, FactKind
from muniment.memory.domain.query import Query
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import BadConfig, Denied
from tests.engine import engine, scope, settings, statement

ANA = scope()


def filed(text: str, kind: FactKind, predicate: str, category: str = "profile") -> Candidate:
    """A statement as a former version has filed it."""
    fact = Fact(kind=kind, predicate=predicate, object=text)
    return replace(statement(text, category), fact=fact)


FORMER = [
    filed("The user is allergic to peanuts", "constraint", "allergic_to"),
    filed("The user never works on Fridays", "constraint", "cannot", "preferences"),
    filed("The user speaks French", "skill", "speaks"),
    filed("The user plays the violin", "skill", "plays"),
    filed("The user worked as a teacher", "experience", "worked_as"),
    filed("The deadline of the report is 3 May 2027", "constraint", "deadline_of_the_report", "constraints"),
    filed("The user lives in Porto", "identity", "lives_in"),
    filed("The user likes jazz", "preference", "likes", "preferences"),
    filed("The user is allergic to dust", "constraint", "allergic_to", "goals"),
]


async def categories(memory: Memory) -> dict[str, str]:
    return {one.text: one.category for one in await memory.list(ANA)}


async def test_facts_move_to_the_category_of_their_kind_and_back(database_url: str) -> None:
    """Only what rules have filed elsewhere moves; taken back, everything is where it was."""
    async with engine(database_url) as memory:
        await memory.ingest(ANA, FORMER)
        before = await categories(memory)
        planned = await memory.admin.refile_space(ANA, dry=True)
        assert await categories(memory) == before
        moved = await memory.admin.refile_space(ANA)
        assert moved == planned
        assert await categories(memory) == before | {
            "The user is allergic to peanuts": "constraints",
            "The user never works on Fridays": "constraints",
            "The user speaks French": "knowledge",
            "The user plays the violin": "interests",
            "The user worked as a teacher": "history",
            "The deadline of the report is 3 May 2027": "tasks",
        }
        assert (await memory.admin.refile_space(ANA)).counts == {}
        back = await memory.admin.undo_refiling(ANA)
        assert back.counts == {(new, former): count for (former, new), count in moved.counts.items()}
        assert await categories(memory) == before
        assert (await memory.admin.undo_refiling(ANA)).counts == {}
        assert (await memory.admin.refile_space(ANA)).counts == moved.counts


async def test_each_move_is_a_revision_of_the_journal(database_url: str) -> None:
    """The history has the former and the new category; the past is read as it was, and no thread is told of a move."""
    async with engine(database_url) as memory:
        await memory.ingest(ANA, FORMER[:1])
        (allergy,) = await memory.list(ANA)
        brief = await memory.brief(ANA, "supervisor", "hello there")
        await memory.conversation.mark_seen(ANA, brief.rev)
        await memory.admin.refile_space(ANA)
        entry, first = await memory.history(ANA, allergy.id)
        assert (entry.action, entry.meta["why"], entry.meta["category"]) == (
            "UPDATE",
            "refiled",
            ["profile", "constraints"],
        )
        assert first.action == "ADD"
        assert (await memory.get(ANA, allergy.id, as_of=brief.rev)).category == "profile"
        (now,) = await memory.list(ANA)
        assert (now.updated_at, now.text, now.fact) == (allergy.updated_at, allergy.text, allergy.fact)
        assert (await memory.brief(ANA, "supervisor", "hello there")).header == ""


async def test_what_was_filed_elsewhere_since_is_left(database_url: str) -> None:
    """Taking a refiling back undoes the move alone: later words stay, and a memory filed by somebody else stays."""
    async with engine(database_url) as memory:
        await memory.ingest(ANA, FORMER[:3])
        await memory.admin.refile_space(ANA)
        found = {one.text: one for one in await memory.list(ANA)}
        await memory.pin(ANA, found["The user is allergic to peanuts"].id)
        await memory.forget(ANA, found["The user speaks French"].id)
        assert (await memory.admin.undo_refiling(ANA)).counts == {
            ("constraints", "preferences"): 1,
            ("constraints", "profile"): 1,
        }
        allergy = await memory.get(ANA, found["The user is allergic to peanuts"].id)
        assert (allergy.category, allergy.pinned) == ("profile", True)
        assert (await memory.get(ANA, found["The user speaks French"].id)).category == "knowledge"


async def test_categories_of_an_operator_are_left_alone(database_url: str) -> None:
    """Where the settings have own categories or allowlists nothing is moved, and the error says so."""
    default = settings(database_url)
    own = default.model_copy(update={"allowlists": default.allowlists | {"planner": ("goals",)}})
    more = default.model_copy(update={"categories": default.categories | {"recipes": default.categories["tasks"]}})
    for tuned in (own, more):
        async with engine(database_url, tuned=tuned) as memory:
            await memory.ingest(ANA, FORMER[:1])
            with pytest.raises(BadConfig, match="nothing was refiled"):
                await memory.admin.refile_space(ANA)
            assert await categories(memory) == {"The user is allergic to peanuts": "profile"}


async def test_who_reads_a_constraint(database_url: str) -> None:
    """Supervisor, planner and executor have it in every context; the stylist may not ask for it."""
    async with engine(database_url) as memory:
        await memory.remember(ANA, "I'm allergic to peanuts")
        for agent in ("supervisor", "planner", "executor"):
            assert "peanuts" in (await memory.brief(ANA, agent, "What is for lunch?")).stable
        with pytest.raises(Denied):
            await memory.query(ANA, "stylist", Query(text="allergies", categories=("constraints",)))


async def test_skills_and_experience_are_found_by_the_researcher(database_url: str) -> None:
    """They are no part of every context, and are found when they are asked for."""
    async with engine(database_url) as memory:
        await memory.ingest(ANA, FORMER[2:5])
        await memory.admin.refile_space(ANA)
        for agent in ("researcher", "supervisor"):
            answer = await memory.query(
                ANA, agent, Query(text="Which languages does the user speak? French", threshold=0)
            )
            assert "The user speaks French" in [hit.memory.text for hit in answer.hits]
            assert (await memory.brief(ANA, agent, "Hello")).stable == ""
