"""An agent with real files, a real ledger, a model and a gateway that are servers on loopback."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph

from muniment.agent.transcript import PREFIX
from muniment.graph.hybrid.runtime import AgentRuntime, create_runtime
from muniment.memory.client import Memory
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.nodes.state import Input, Who
from muniment.testing import ScriptedOpenAI
from tests.engine import settings

KEY = "uk_canary_5f3a9c"
MEMORY_MD = "The build runs with pnpm.\n§\nDeploys go out on Tuesdays.\n"
USER_MD = "The user prefers short answers.\n"


def gateway_section(url: str, **changed: Any) -> dict[str, Any]:
    """A complete `memory` section: explicit hybrid."""
    gateway = {"baseUrl": url, "userId": "ana", "userKey": KEY, "timeoutSeconds": 2} | changed
    return {"mode": "hybrid", "gateway": gateway}


@dataclass
class Agent:
    """An agent that is open, and ways to see what it did."""

    runtime: AgentRuntime
    graph: CompiledStateGraph[Any, Who, Any, Any]
    folder: Path

    @property
    def memory(self) -> Memory:
        return self.runtime.memory

    async def say(self, text: str, session: str = "a") -> dict[str, Any]:
        """One run; the state after it."""
        config: Any = {"configurable": {"thread_id": session}}
        return await self.graph.ainvoke(Input(messages=[HumanMessage(text)]), config, context=Who(thread=session))

    async def read_turns(self, session: str = "a") -> Sequence[Turn]:
        """What the ledger has of a session."""
        return (await self.memory.sessions.get(Scope(owner="me"), f"{PREFIX}{session}")).turns

    async def read_events(self, session: str = "a") -> list[tuple[str, Mapping[str, Any]]]:
        """The hidden events of a session."""
        turns = await self.read_turns(session)
        return [(turn.text, turn.payload or {}) for turn in turns if turn.kind == "audit"]

    def read_files(self) -> dict[str, bytes]:
        """The curated files."""
        return {path.name: path.read_bytes() for path in sorted(self.folder.glob("*.md"))}


@asynccontextmanager
async def open_agent(
    database_url: str,
    folder: Path,
    model: ScriptedOpenAI,
    memory: Mapping[str, Any] | None,
    *,
    tools: Sequence[BaseTool | Callable[..., Any]] = (),
    skills: Mapping[str, str] | None = None,
    engine: Memory | None = None,
    saver: Any = None,
    **changed: Any,
) -> AsyncIterator[Agent]:
    """An agent whose file has this `memory` section; None for none. `skills` are bodies by names."""
    curated = folder / "curated"
    if not curated.exists():
        curated.mkdir(parents=True)
        (curated / "MEMORY.md").write_text(MEMORY_MD)
        (curated / "USER.md").write_text(USER_MD)
    content: dict[str, Any] = {"curatedFolder": "curated", **changed}
    if memory is not None:
        content["memory"] = memory
    if skills:
        (folder / "skills").mkdir(exist_ok=True)
        for name, body in skills.items():
            (folder / "skills" / f"{name}.md").write_text(f"---\nname: {name}\ndescription: For {name}.\n---\n{body}\n")
        content["skillsFolder"] = "skills"
    path = folder / "agent.json"
    path.write_text(json.dumps(content))
    chosen = settings(
        database_url, MUNIMENT_MODEL="tiny-1", OPENAI_BASE_URL=model.base_url, MUNIMENT_HOME=str(folder / "home")
    )
    async with create_runtime(chosen, path, memory=engine, tools=tools) as runtime:
        graph = runtime.build_graph().compile(checkpointer=saver or InMemorySaver())
        yield Agent(runtime, graph, curated)


def read_messages(server: ScriptedOpenAI, number: int = -1) -> list[dict[str, Any]]:
    """The messages of a request to the model."""
    messages: list[dict[str, Any]] = server.requests[number].body["messages"]
    return messages


def list_tool_names(server: ScriptedOpenAI, number: int = -1) -> list[str]:
    """The tools of a request to the model."""
    return [tool["function"]["name"] for tool in server.requests[number].body["tools"]]
