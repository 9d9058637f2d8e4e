"""Agents of LangChain over scripted models, and middlewares that keep what they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from muniment.chain import Addition, Message, ToolOutput, TurnContext, TurnOutput
from muniment.memory.errors import StoreDown
from muniment.testing.openai_server import ScriptedOpenAI

THREAD: Any = {"configurable": {"thread_id": "A"}}
NOTE = "The user likes short answers."


class Recorder:
    """A middleware that adds a text to each turn, answers `/command`, and keeps what it is shown."""

    def __init__(self) -> None:
        self.turns: list[TurnContext] = []
        self.tools: list[ToolOutput] = []
        self.ends: list[tuple[TurnContext, TurnOutput]] = []
        self.left: list[Message] = []
        self.is_down = False

    async def before_prompt(self, context: TurnContext) -> TurnContext:
        self.turns.append(context)
        if context.user_text.startswith("/command"):
            return replace(context, reply="Done.")
        added = Addition(source="test", text=f"{NOTE} {len(self.turns)}", placement="user")
        lasting = Addition(source="test", text="Lasting.", placement="system")
        return replace(context, additions=(lasting, added))

    async def on_tool_result(self, context: TurnContext, output: ToolOutput) -> None:
        assert context.turn_id == self.turns[-1].turn_id
        self.tools.append(output)

    async def after_prompt(self, context: TurnContext, output: TurnOutput) -> None:
        self.ends.append((context, output))

    async def before_compact(self, context: TurnContext, messages: Sequence[Message]) -> None:
        assert context.identity.user == "ana"
        if self.is_down:
            raise StoreDown("away")
        self.left += messages


@dataclass
class Adder:
    """A middleware that adds a text of so many words."""

    words: int

    async def before_prompt(self, context: TurnContext) -> TurnContext:
        added = Addition(source="test", text="word " * self.words, placement="user")
        return replace(context, additions=(added,))


def make_model(server: ScriptedOpenAI, **options: Any) -> ChatOpenAI:
    return ChatOpenAI(model="scripted", base_url=server.base_url, api_key=cast("Any", "none"), max_retries=0, **options)


def make_unmetered_model(server: ScriptedOpenAI) -> ChatOpenAI:
    """A model whose answers come without the tokens that it has counted."""
    return make_model(server, streaming=True, stream_usage=False)


def make_agent(
    server: ScriptedOpenAI,
    *middleware: AgentMiddleware[Any, Any, Any],
    model: ChatOpenAI | None = None,
    **more: Any,
) -> Any:
    return create_agent(model or make_model(server), middleware=middleware, checkpointer=InMemorySaver(), **more)


def say(text: str) -> dict[str, Any]:
    return {"messages": [("user", text)]}


def prompts(server: ScriptedOpenAI) -> list[list[dict[str, Any]]]:
    return [request.body["messages"] for request in server.requests]
