"""The graph when the tenant's budget is used up: the rules and memory go on, and the reply says so."""

from __future__ import annotations

from langgraph.checkpoint.memory import InMemorySaver

from muniment.graph.supervisor import build
from muniment.memory import bootstrap
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.ports.llm import ChatAnswer, ChatMessage, ToolCall
from muniment.testing.fakes import FixedClock, ScriptedChat
from tests.graph.conftest import Talk, last


def answers(*messages: ChatMessage) -> ScriptedChat:
    """Each for 50 tokens."""
    said = [ChatAnswer(message=one, model="scripted", input_tokens=40, output_tokens=10) for one in messages]
    return ScriptedChat(said)


def reply(text: str, *calls: ToolCall) -> ChatMessage:
    return ChatMessage(role="assistant", content=text, tool_calls=calls)


def limited(settings: Settings, tokens: int) -> Settings:
    return settings.model_copy(update={"spend": settings.spend.model_copy(update={"daily_tokens": tokens})})


async def test_a_used_up_budget_leaves_memory(settings: Settings, clock: FixedClock) -> None:
    """One honest sentence, what is remembered, and what is said is learned all the same; the next day has a model."""
    tuned = limited(settings, 50)
    model = answers(reply("Hello Ana."), reply("A new day."))
    async with bootstrap.create_memory(tuned, embedder=HashEmbedder(), clock=clock) as memory:
        talk = Talk(memory, tuned, build(memory, model, tuned).compile(checkpointer=InMemorySaver()))
        assert last(await talk.say("Call me Ana.")).splitlines()[0] == "Hello Ana."
        told = last(await talk.say("I live in Lisbon."))
        assert "Today's budget for the model is used up, so this is from memory alone." in told
        assert len(model.calls) == 1
        known = last(await talk.say("Where do I live?"))
        assert "The user lives in Lisbon" in known
        assert known.count("budget") == 1
        clock.advance(86_400)
        assert last(await talk.say("And now?")) == "A new day."
        (day, before) = (await memory.admin.read_usage(Scope(owner="ana", tenant=tuned.tenant), 2)).lines
        assert (day.requests, before.requests, before.purpose) == (1, 1, "reply")


async def test_a_colleague_without_budget_says_so(settings: Settings, clock: FixedClock) -> None:
    """The budget ends between the hand-over and the colleague's work."""
    tuned = limited(settings, 50)
    call = ToolCall(id="1", name="transfer_to_planner", arguments={"task": "plan"})
    model = answers(reply("", call), reply("never said"))
    async with bootstrap.create_memory(tuned, embedder=HashEmbedder(), clock=clock) as memory:
        talk = Talk(memory, tuned, build(memory, model, tuned).compile(checkpointer=InMemorySaver()))
        state = await talk.say("Plan my week.")
    assert state["reports"][0]["text"] == "The planner could not work on it: today's budget for the model is used up."
    assert "used up" in last(state)
    assert len(model.calls) == 1
