"""What a model looks at later: the graph leaves the jobs, a worker does them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from muniment.graph.supervisor import build
from muniment.memory import bootstrap
from muniment.memory.config.settings import Settings
from muniment.memory.domain.jobs import Job, JobName
from muniment.memory.domain.scope import Scope
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.ports.llm import ChatMessage, Tool
from muniment.testing.fakes import FixedClock, ScriptedChat
from tests.answers import fact
from tests.graph.conftest import Talk, last

TEXT = "I am allergic to dust. Church organs get repaired by me and my uncle."
SEEN = "The user likes work that takes patience"


def brain(messages: Sequence[ChatMessage], tools: Sequence[Tool]) -> str:
    """Replies, extracts and has insights, by what it is told to do."""
    if messages[0].content.startswith("You read a conversation"):
        turn = json.loads(messages[1].content)["extract_from"]
        organs = fact("The user repairs church organs", predicate="repairs", object="church organs", turns=turn)
        return json.dumps({"facts": [organs | {"category": "interests"}]})
    if messages[0].content.startswith("You look at what is known"):
        return json.dumps({"insights": [{"summary": SEEN, "memories": [1], "tags": [], "importance": 2}]})
    return "Nice to meet you."


async def test_a_turn_leaves_its_looks_for_later(settings: Settings, clock: FixedClock) -> None:
    """One job for a run of turns and one for the day; done, they add what only a model sees."""
    model = ScriptedChat(brain)
    settings = settings.model_copy(update={"observations": settings.observations.model_copy(update={"turns": 1})})
    async with bootstrap.create_memory(settings, embedder=HashEmbedder(), clock=clock, model=model) as memory:
        talk = Talk(memory, settings, build(memory, model, settings).compile())
        state = await talk.say(TEXT)
        assert last(state) == "Nice to meet you."
        await talk.say("How old is the oldest organ?", thread="b")
        waiting = await memory.jobs.count_jobs()
        assert (waiting["build"]["due"], waiting["reflect"]["due"]) == (1, 1)
        who = Scope(owner="ana")
        ruled = {one.text for one in await memory.list(who)}
        assert "The user is allergic to dust" in ruled
        held = await memory.engine.store.jobs.take_job(await memory.engine.store.jobs.register_worker(), names("build"))
        assert held is not None
        await memory.jobs.perform_job(held.job)
        await memory.jobs.perform_job(Job(name="reflect", scope=who, key="2026-05-04"))
        assert {one.text for one in await memory.list(who)} - ruled == {"The user repairs church organs", SEEN}


def names(*some: JobName) -> tuple[JobName, ...]:
    return some
