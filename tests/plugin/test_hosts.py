"""The plugin in real hosts: what was said the day before stands before each model, and commands go to none.

The models are a server over HTTP. `langgraph dev` with the plugin is in tests/graph/test_server_commands.py."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from openai import AsyncOpenAI, OpenAI
from pydantic import SecretStr

from muniment.chain import (
    ChatLoop,
    Host,
    Identity,
    Message,
    Middleware,
    TurnContext,
    TurnOutput,
    build_answer,
    open_sync_host,
    place_additions,
)
from muniment.langchain import ChainMiddleware
from muniment.memory.config.settings import Settings
from muniment.plugin.opening import open_plugin
from muniment.testing import ScriptedOpenAI
from tests.chain.middlewares import Troubled, fail
from tests.plugin.hosts import DAY, make_settings

Say: TypeAlias = Callable[[Settings, ScriptedOpenAI, str, str], Awaitable[str]]
BEFORE_SECONDS = 20.0  # for a machine that does something else, too


@pytest.fixture
def server() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI("Noted.") as running:
        yield running


@asynccontextmanager
async def open_host(settings: Settings, *, trouble: str = "") -> AsyncIterator[Host]:
    """A host with the plugin, and before or behind it another middleware that fails in each of its hooks."""
    async with open_plugin(settings) as plugin:
        other = Troubled(fail)
        chains: dict[str, list[Middleware]] = {"": [plugin], "before": [other, plugin], "behind": [plugin, other]}
        async with Host(chains[trouble], before_seconds=BEFORE_SECONDS) as host:
            yield host


async def say_to_agent(settings: Settings, server: ScriptedOpenAI, session: str, text: str) -> str:
    """An agent of LangChain."""
    model = ChatOpenAI(model="scripted", base_url=server.base_url, api_key=SecretStr("none"), max_retries=0)
    async with open_host(settings) as host:
        agent = create_agent(model, middleware=[ChainMiddleware(host, user="ana")], checkpointer=InMemorySaver())
        config: RunnableConfig = {"configurable": {"thread_id": session}}
        state = await agent.ainvoke({"messages": [HumanMessage(text)]}, config)
        return str(state["messages"][-1].text)


async def say_to_client(
    settings: Settings, server: ScriptedOpenAI, session: str, text: str, *, is_streamed: bool = False, trouble: str = ""
) -> str:
    """A loop over the client of openai."""
    async with (
        AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client,
        open_host(settings, trouble=trouble) as host,
    ):
        loop = ChatLoop(host=host, client=client, model="scripted", identity=Identity(user="ana", session=session))
        if not is_streamed:
            return (await loop.send_text(text)).text
        parts = [part async for part in loop.stream_text(text)]
        assert isinstance(parts[-1], TurnOutput)
        assert "".join(part for part in parts if isinstance(part, str)) == parts[-1].text
        return parts[-1].text


async def say_in_sync(settings: Settings, server: ScriptedOpenAI, session: str, text: str) -> str:
    """A program without asyncio, in a thread that has no event loop."""
    client = OpenAI(base_url=server.base_url, api_key="none", max_retries=0)

    def answer(turn: TurnContext) -> TurnOutput:
        messages: Any = [{"role": each.role, "content": each.text} for each in place_additions(turn)]
        chosen = client.chat.completions.create(model="scripted", messages=messages).choices[0]
        return build_answer(chosen.message.content or "", DAY)

    def run() -> str:
        turn = TurnContext(
            turn_id=text,
            identity=Identity(user="ana", session=session),
            messages=(Message(role="user", text=text),),
            at=DAY,
        )
        make_host = partial(Host, before_seconds=BEFORE_SECONDS)
        with open_sync_host(open_plugin(settings), make_host=make_host) as host:
            return host.run_turn(turn, answer).text

    with client:
        return await asyncio.to_thread(run)


HOSTS: dict[str, Say] = {
    "create_agent": say_to_agent,
    "openai client": say_to_client,
    "streaming": partial(say_to_client, is_streamed=True),
    "synchronous": say_in_sync,
    "beside one that fails": partial(say_to_client, trouble="before"),
    "before one that fails": partial(say_to_client, trouble="behind"),
}


@pytest.mark.parametrize("name", HOSTS)
async def test_a_real_host_has_a_memory(tmp_path: Path, server: ScriptedOpenAI, name: str) -> None:
    """P-1, P-20, P-35..P-37, P-47, P-107: over a file, from one opening to the next."""
    settings, say = make_settings(tmp_path), HOSTS[name]
    assert await say(settings, server, "monday", "Use pnpm.") == "Noted."
    assert await say(settings, server, "tuesday", "Add a login page, please.") == "Noted."
    assert "use pnpm" in await say(settings, server, "tuesday", "/memory")
    prompts = [json.dumps(request.body["messages"]) for request in server.requests]
    assert len(prompts) == 2
    assert "recalled-memory" not in prompts[0]
    assert "use pnpm" in prompts[1]
    assert "too late" not in prompts[1]
    assert not any("hunter2" in prompt for prompt in prompts)
