"""What bounds the finds of a model: facts of a request, types that are let in, and paths of work of a session."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from tests.answers import fact
from tests.engine import NOON, engine, scope, settings
from tests.integration.test_building import WHO, asked, listening, observed, record, told
from tests.sessions import DEPLOYMENT, PARSER, PDF, after, learned


def answer(body: Mapping[str, Any]) -> str:
    """A fact of each turn, of which the last two matter more."""
    shown = [one for one in asked(body)["conversation"] if one["role"] == "user"]
    facts = [
        fact(
            one["text"].rstrip("."),
            category="knowledge",
            turns=[one["turn"]],
            quote=one["text"],
            importance=4 if one in shown[-2:] else 2,
        )
        for one in shown
    ]
    return json.dumps({"facts": facts})


async def test_a_request_adds_so_many_facts(database_url: str) -> None:
    """The most important ones become memories; the others stay observations with the reason."""
    async with listening(database_url, answer) as (memory, _):
        await memory.configuration.change_settings({"observations.facts": 5}, by="test")
        await record(memory, [told(n) for n in range(7)])
        await memory.sessions.build(WHO, "A")
        found = {one.positions: (one.outcome, one.memory is None) for one in await observed(memory)}
        left = [places for places, outcome in found.items() if outcome == ("more than 5 a request", True)]
        assert (len(found), len(left), len(await memory.list(WHO))) == (7, 2, 5)
        assert not {(5,), (6,)} & {*left}


async def test_a_type_that_is_not_named_makes_no_memory(database_url: str) -> None:
    """A model's find of it stays an observation; one that is less sure than its type wants does, too."""
    async with listening(database_url, answer) as (memory, _):
        rules = memory.engine.settings.observations
        for types, reason in (({}, "no memory is made of the type user_fact"), ({"user_fact": 0.95}, "low confidence")):
            tuned = memory.engine.settings.model_copy(
                update={"observations": rules.model_copy(update={"types": types})}
            )
            memory.engine = memory.engine.rebuild(settings=tuned)
            await record(memory, [told(len(reason))])
            await memory.sessions.build(WHO, "A")
            assert reason in {one.outcome for one in await observed(memory)}
            assert await memory.list(WHO) == []


async def test_a_session_has_so_many_paths(database_url: str) -> None:
    """More paths of work are not kept, but for one that a person asked to keep; another session has its own."""
    plain = settings(database_url)
    rules = plain.observations.model_copy(update={"candidates": 1})
    tuned = plain.model_copy(update={"observations": rules})
    async with engine(database_url, tuned=tuned, clock=after(60)) as memory:
        for lines, minutes, thread, kept in (
            (PDF, 0, "A", 1),
            (PARSER, 5, "A", 1),
            (DEPLOYMENT, 10, "A", 2),
            (PARSER, 15, "B", 3),
        ):
            await learned(memory, lines, thread=thread, start=NOON + timedelta(minutes=minutes))
            assert len(await memory.projections.list_skills(scope())) == kept, (thread, minutes)
