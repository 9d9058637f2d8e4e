"""Which remembered statements made a reply: turns of the graph over a model whose replies rest on some of them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from math import log2

import pytest

from muniment.graph.checkpointer import open_thread_saver
from muniment.graph.replay.turns import SupervisorReplay, open_turn
from muniment.graph.saver import PooledSaver
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.layers.bisection import Bisection, BisectRequest
from muniment.memory.domain.query import ListRequest
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, ModelTimeout, NotFound, OverBudget
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.ports.llm import AnswerForm, ChatAnswer, ChatMessage, Tool, ToolCall
from muniment.testing.fakes import FixedClock
from tests.engine import note
from tests.graph.conftest import Talk, last

QUESTION = "Where should we have dinner?"
ANSWER = "Take a table at the Blue Door."


@dataclass
class Guide:
    """A model that names the restaurant when it is shown all of some statements, or with `any_of` one of them.

    With `chance` it answers that often as if it had thrown a coin."""

    needed: Sequence[str] = ()
    any_of: bool = False
    chance: float = 0.0
    draw: random.Random = field(default_factory=lambda: random.Random(7))
    asked: list[str] = field(default_factory=list)
    judged: int = 0
    fails_after: int | None = None
    hangs_after: int | None = None
    searches: bool = False  # it calls memory_query before it answers
    is_hanging: asyncio.Event = field(default_factory=asyncio.Event)
    name: str = "guide"

    async def chat(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = (), *, form: AnswerForm | None = None
    ) -> ChatAnswer:
        if form is not None:
            self.judged += 1
            said = "true" if "Blue Door" in messages[-1].content else "false"
            return self.answer(f'{{"yes": {said}}}')
        if self.fails_after is not None and len(self.asked) >= self.fails_after:
            raise ModelTimeout("the model does not answer", sent=True)
        if self.hangs_after is not None and len(self.asked) >= self.hangs_after:
            self.is_hanging.set()
            await asyncio.Event().wait()
        if self.searches and messages[-1].role != "tool":
            call = ToolCall(id="1", name="memory_query", arguments={"query": "the Blue Door"})
            return ChatAnswer(message=ChatMessage(role="assistant", content="", tool_calls=(call,)), model=self.name)
        prompt = "\n".join(message.content for message in messages)
        self.asked.append(prompt)
        known = [text in prompt for text in self.needed]
        knows = bool(known) and (any(known) if self.any_of else all(known))
        if self.draw.random() < self.chance:
            knows = self.draw.random() < 0.5
        return self.answer(ANSWER if knows else "I cannot say.")

    def answer(self, text: str) -> ChatAnswer:
        return ChatAnswer(
            message=ChatMessage(role="assistant", content=text), model=self.name, input_tokens=9, output_tokens=3
        )

    async def close(self) -> None:
        return


@pytest.fixture
async def saver(settings: Settings) -> AsyncIterator[PooledSaver]:
    async with open_thread_saver(settings) as opened:
        yield opened


def ana(settings: Settings, thread: str = "a") -> Scope:
    return Scope(owner="ana", tenant=settings.tenant, thread=thread, session=thread)


OWNER = Scope(owner="ana")
TASTES = [
    f"The user likes the {dish} of {place}"
    for dish in ("soup", "bread", "rice", "fish", "cake")
    for place in ("Rome", "Oslo", "Lima", "Cork", "Graz", "Bern")
]


@pytest.fixture
async def fed(memory: Memory, settings: Settings) -> Memory:
    """Thirty constraints, which stand before the model in every turn."""
    await memory.ingest(OWNER, [note(text, "constraints") for text in TASTES])
    return memory


@pytest.fixture
def settings(database_url: str) -> Settings:
    loaded = load_settings({"MUNIMENT_DATABASE_URL": database_url, "MUNIMENT_EMBEDDER": "hash-256"})
    return loaded.model_copy(update={"limits": loaded.limits.model_copy(update={"profile_items": 40})})


async def open_last(fed: Memory, settings: Settings, model: Guide | None, thread: str = "a") -> SupervisorReplay:
    turns = (await fed.sessions.get(ana(settings, thread), thread)).turns
    return await open_turn(fed, ana(settings, thread), max(each.position or 0 for each in turns), model=model)


def name_causes(found: Bisection) -> list[set[str]]:
    return [{cause.statement.text.partition("] ")[2] for cause in one} for one in found.sets]


async def test_a_turn_is_made_again_as_it_was(
    fed: Memory, settings: Settings, talk: Callable[..., Talk], saver: PooledSaver
) -> None:
    """The replay puts the same before the model as the turn did, to the byte, and writes nothing."""
    guide = Guide(TASTES[:1])
    here = talk(guide, saver)
    await here.say("Hello, I am hungry.")
    said = await here.say(QUESTION)
    assert ANSWER in last(said)
    before = (await fed.list_page(ana(settings), ListRequest(limit=1))).rev
    replay = await open_last(fed, settings, guide)
    assert replay.turn.is_kept
    assert len(replay.turn.shown) == 30
    asked = guide.asked[-1]
    assert await replay.make_reply({each.key for each in replay.turn.shown}) == ANSWER
    assert guide.asked[-1] == asked
    assert await replay.make_reply(set()) == "I cannot say."
    assert not any(text in guide.asked[-1] for text in TASTES)
    assert (await fed.list_page(ana(settings), ListRequest(limit=1))).rev == before
    assert len((await fed.sessions.get(ana(settings), "a")).turns) == 4


@pytest.mark.parametrize("causes", [1, 2, 3])
@pytest.mark.parametrize("any_of", [False, True])
@pytest.mark.parametrize("seed", [1, 2])
async def test_the_minimal_set_is_found(
    fed: Memory, settings: Settings, talk: Callable[..., Talk], saver: PooledSaver, causes: int, any_of: bool, seed: int
) -> None:
    """Bisect on scripted turns: the minimal set in all, in at most 3 log2(n) + 6 calls for one."""
    draw = random.Random(causes + 10 * seed)
    for turn in range(5):
        guide = Guide(draw.sample(TASTES, causes), any_of=any_of)
        here = talk(guide, saver)
        await here.say(QUESTION, thread=f"t{turn}")
        replay = await open_last(fed, settings, guide, f"t{turn}")
        guide.asked.clear()
        found = await fed.bisect(ana(settings, f"t{turn}"), replay, expect="blue door")
        assert found.outcome == "found"
        wanted = [{each} for each in guide.needed] if any_of else [{*guide.needed}]
        assert sorted(map(sorted, name_causes(found))) == sorted(map(sorted, wanted))
        assert found.reply_with == ANSWER
        assert found.reply_without == "I cannot say."
        assert found.replies == len(guide.asked)
        if causes == 1:
            assert len(guide.asked) <= 3 * log2(len(TASTES)) + 6


@pytest.fixture
async def asked(fed: Memory, settings: Settings, talk: Callable[..., Talk], saver: PooledSaver) -> Memory:
    """A thread with one question, whose answer rests on the eighteenth statement."""
    await talk(Guide(TASTES[17:18]), saver).say(QUESTION)
    return fed


async def test_a_search_that_was_cut_short_goes_on(asked: Memory, settings: Settings) -> None:
    """An interrupted bisect goes on where it was, in another process, too, without paying twice."""
    whole = Guide(TASTES[17:18])
    replay = await open_last(asked, settings, whole)
    request = BisectRequest(expect="Blue Door")
    cut = await open_last(asked, settings, Guide(TASTES[17:18], fails_after=4))
    with pytest.raises(ModelTimeout):
        await asked.bisect(ana(settings), cut, expect="Blue Door")
    progress = await asked.replays.read_progress(ana(settings), replay, request)
    assert (progress.replies, progress.result) == (4, None)
    async with bootstrap.create_memory(settings, embedder=HashEmbedder()) as other:
        again = await open_last(other, settings, whole)
        found = await other.bisect(ana(settings), again, expect="Blue Door")
    assert name_causes(found) == [{TASTES[17]}]
    assert (found.reused, len(whole.asked)) == (4, found.replies - 4)
    progress = await asked.replays.read_progress(ana(settings), replay, request)
    assert progress.result is not None
    assert name_causes(progress.result) == [{TASTES[17]}]
    await asked.replays.forget(ana(settings), replay, request)
    assert (await asked.replays.read_progress(ana(settings), replay, request)).replies == 0


async def test_an_interrupt_costs_one_reply_at_most(asked: Memory, settings: Settings) -> None:
    """Ctrl-C, or the end of the process, in the middle of a reply: all that were made before are kept."""
    hanging = Guide(TASTES[17:18], hangs_after=3)
    search = asyncio.create_task(
        asked.bisect(ana(settings), await open_last(asked, settings, hanging), expect="Blue Door")
    )
    await hanging.is_hanging.wait()
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    whole = Guide(TASTES[17:18])
    found = await asked.bisect(ana(settings), await open_last(asked, settings, whole), expect="Blue Door")
    assert name_causes(found) == [{TASTES[17]}]
    assert (found.reused, len(whole.asked)) == (3, found.replies - 3)


async def test_what_the_model_found_itself_is_a_cause_too(
    memory: Memory, settings: Settings, talk: Callable[..., Talk], saver: PooledSaver, clock: FixedClock
) -> None:
    """A memory that came by a tool is among the candidates, and one that is left out does not come back by it."""
    who, told = ana(settings), "The user dines at the Blue Door"
    await memory.ingest(OWNER, [note(told, "activity"), note("The user owns a kayak")])
    clock.advance(10 * 86_400)
    guide = Guide([told], searches=True)
    said = await talk(guide, saver).say("What would suit me tonight?")
    assert told not in said["moving"]
    assert ANSWER in last(said)
    replay = await open_last(memory, settings, guide)
    assert {each.part for each in replay.turn.shown} == {"tool"}
    found = await memory.bisect(who, replay, expect="Blue Door")
    assert (found.outcome, name_causes(found)) == ("found", [{told}])
    assert found.reply_without == "I cannot say."


async def test_a_used_up_budget_ends_it_for_today(asked: Memory, settings: Settings, clock: FixedClock) -> None:
    """Every request passes the spend governor: OverBudget is raised, and the next day the search goes on."""
    spend = settings.spend.model_copy(update={"daily_tokens": 30})
    guide = Guide(TASTES[17:18])
    async with bootstrap.create_memory(
        settings.model_copy(update={"spend": spend}), embedder=HashEmbedder(), clock=clock
    ) as tight:
        tries = 0
        while True:
            tries += 1
            replay = await open_last(tight, settings, guide)
            try:
                found = await tight.bisect(ana(settings), replay, expect="Blue Door")
            except OverBudget:
                clock.advance(86_400)
            else:
                break
        (line, *_) = (await tight.admin.read_usage(ana(settings), 2)).lines
    assert tries > 2
    assert len(guide.asked) == found.replies
    assert line.purpose == "bisect"
    assert name_causes(found) == [{TASTES[17]}]


async def test_a_model_can_judge(asked: Memory, settings: Settings) -> None:
    """A question to a model takes the place of a pattern, and is paid for like a reply."""
    guide = Guide(TASTES[17:18])
    async with bootstrap.create_memory(settings, embedder=HashEmbedder()) as judging:
        own = judging.configure(embedder=judging.engine.embedder, model=guide, make_former=lambda _: HashEmbedder())
        replay = await open_last(own, settings, guide)
        found = await own.bisect(ana(settings), replay, judge="Does it name a restaurant?")
    assert name_causes(found) == [{TASTES[17]}]
    assert guide.judged == len(guide.asked) == found.replies


async def test_other_outcomes_cost_little(
    asked: Memory, settings: Settings, talk: Callable[..., Talk], saver: PooledSaver
) -> None:
    """What the reply does not say, what it says without memory, and what it says no more is told as such."""
    who = ana(settings)
    guide = Guide(TASTES[17:18])
    replay = await open_last(asked, settings, guide)
    assert (await asked.bisect(who, replay, expect="Red Lion")).outcome == "not said"
    assert not guide.asked
    silent = await open_last(asked, settings, Guide())
    assert (await asked.bisect(who, silent, expect="Blue Door")).outcome == "not reproduced"
    await talk(Guide(["dinner"]), saver).say(QUESTION, thread="b")
    unaided = await open_last(asked, settings, Guide(["dinner"]), "b")
    found = await asked.bisect(ana(settings, "b"), unaided, expect="Blue Door")
    assert (found.outcome, found.reply_without) == ("unaided", ANSWER)
    with pytest.raises(NotFound):
        await open_turn(asked, who, 40, model=guide)
    with pytest.raises(BadInput):
        await asked.bisect(who, replay, expect="*")


async def test_what_was_not_shown_is_found(
    memory: Memory, settings: Settings, talk: Callable[..., Talk], saver: PooledSaver, clock: FixedClock
) -> None:
    """Why did it not know: the memory that would have to be shown, with the reason why it was not; or none would do."""
    who, guide = ana(settings), Guide(["The user dines at the Blue Door"])
    await memory.ingest(OWNER, [note("The user dines at the Blue Door", "activity"), note("The user owns a kayak")])
    clock.advance(10 * 86_400)  # so that neither is news
    said = await talk(guide, saver).say("What would suit me tonight?")
    assert "The user dines" not in said["moving"]
    replay = await open_last(memory, settings, guide)
    found = await memory.bisect(who, replay, expect="Blue Door", missing=True)
    assert (found.outcome, name_causes(found)) == ("found", [{"The user dines at the Blue Door"}])
    assert found.sets[0][0].reason
    assert (found.reply_with, found.reply_without) == (ANSWER, "I cannot say.")
    other = await open_last(memory, settings, Guide(["nothing says this"]))
    assert (await memory.bisect(who, other, expect="Blue Door|Red Lion", missing=True)).outcome == "none would do"


async def test_without_a_model_the_reply_of_the_rules_is_made_again(
    memory: Memory, settings: Settings, talk: Callable[..., Talk], saver: PooledSaver, clock: FixedClock
) -> None:
    """Without a key nothing is asked, and the deterministic reply is replayed."""
    who = ana(settings)
    here = talk(None, saver)
    await here.say("I live in Lisbon.")
    await here.say("I am allergic to peanuts.", thread="b")
    await here.say("Which city do I live in?")
    replay = await open_last(memory, settings, None)
    found = await memory.bisect(who, replay, expect="Lisbon")
    assert found.outcome == "found"
    assert all("Lisbon" in cause.statement.text for causes in found.sets for cause in causes)
    assert any("I live in Lisbon" in turn.text for turn in found.sets[0][0].sources)
    assert "Lisbon" not in (found.reply_without or "")


async def test_a_thread_without_a_checkpoint_is_made_again_from_the_ledger(
    asked: Memory, settings: Settings, saver: PooledSaver
) -> None:
    """Where checkpoints are pruned, the messages are those of the ledger, and memory is read as of the time."""
    async with saver._pool.connection() as conn:  # the janitor's own way takes a day of the clock
        await conn.execute("delete from checkpoints")
    replay = await open_last(asked, settings, Guide(TASTES[17:18]))
    assert not replay.turn.is_kept
    found = await asked.bisect(ana(settings), replay, expect="Blue Door")
    assert name_causes(found) == [{TASTES[17]}]
