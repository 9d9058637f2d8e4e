"""Whether anybody sees a word of another, when many clients of four users come by every way in at once.

python -m benchmarks.crosstalk [--clients 50] [--seconds 60] [--json]

Two users in each of two tenants have the same names. In a home of its own run `muniment serve` and LangGraph's server
in development. The clients come over HTTP, as clients of MCP, by LangGraph's SDK, and as agents with
`MemoryMiddleware`, whose model answers with all that it is shown. Each keeps statements with the mark of its user and
asks for them; every answer is searched for marks of others. The exit code is 1 where one is found, and where a request
fails."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import shutil
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
import httpx2
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_sdk import get_client
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from rich.table import Table

from benchmarks import harness
from benchmarks.serve import CONFIG, OWNERS, PATIENCE_SECONDS, PAUSE_SECONDS, Service, make_environment
from benchmarks.soak import make_home, make_name
from muniment.langchain import MemoryMiddleware
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.stores.postgres.embedded import server

ROOT = Path(__file__).parents[1]
QUESTION = "Who lives beside whom?"
_MARK = re.compile(r"Mark\w+")
Owner = tuple[str, str]
Converse = Callable[[str], Awaitable[str]]  # sends a text, returns all that came back


class Echo(BaseChatModel):
    """A model that answers with all that it is shown."""

    @property
    def _llm_type(self) -> str:
        return "echo"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        shown = "\n".join(str(message.content) for message in messages)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=shown))])


@asynccontextmanager
async def converse_http(service: Service, owner: Owner) -> AsyncIterator[Converse]:
    """A client over HTTP."""
    async with service.open_client(owner) as client:

        async def converse(text: str) -> str:
            answers = [
                await client.post("/memories", json={"text": text}),
                await client.post("/memory/query", json={"agent": "supervisor", "query": QUESTION}),
                await client.get("/memories", params={"limit": 20}),
                await client.get("/memory/changes", params={"limit": 20}),
            ]
            for answer in answers:
                answer.raise_for_status()
            return "\n".join(answer.text for answer in answers)

        yield converse


@asynccontextmanager
async def converse_mcp(service: Service, owner: Owner) -> AsyncIterator[Converse]:
    """The official client of MCP; the service keeps what it is told over HTTP."""
    headers = {"Authorization": f"Bearer {service.tokens[owner]}"}
    async with (
        service.open_client(owner) as plain,
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{service.url}/mcp", http_client=http)) as client,
    ):

        async def converse(text: str) -> str:
            (await plain.post("/memories", json={"text": text})).raise_for_status()
            found = await client.call_tool("memory.query", {"query": QUESTION})
            changes = await client.read_resource("memory://changes")
            return f"{found}\n{changes}"

        yield converse


@asynccontextmanager
async def converse_server(service: Service, owner: Owner, address: str) -> AsyncIterator[Converse]:
    """A client of LangGraph's server, which goes on with one thread."""
    client = get_client(url=address, headers={"Authorization": f"Bearer {service.tokens[owner]}"})
    thread = (await client.threads.create())["thread_id"]

    async def converse(text: str) -> str:
        inputs: list[Any] = [{"messages": [{"role": "user", "content": said}]} for said in (text, QUESTION)]
        answers = [await client.runs.wait(thread, "supervisor", input=each) for each in inputs]
        return json.dumps([answers, await client.threads.search(limit=20)], default=str)

    yield converse


@asynccontextmanager
async def converse_agent(memory: Memory, owner: Owner, number: int) -> AsyncIterator[Converse]:
    """An agent with the middleware, in this process."""
    agent = create_agent(Echo(), middleware=[MemoryMiddleware(memory)], checkpointer=InMemorySaver())
    tenant, user = owner
    config: RunnableConfig = {
        "configurable": {"thread_id": f"{tenant} {user} {number}", "tenant": tenant, "user": user}
    }

    async def converse(text: str) -> str:
        states = [await agent.ainvoke({"messages": [HumanMessage(said)]}, config) for said in (text, QUESTION)]
        return "\n".join(str(message.content) for state in states for message in state["messages"])

    yield converse


async def measure_crosstalk(
    service: Service, address: str, memory: Memory, clients: int, seconds: float
) -> Counter[str]:
    """Let the clients keep and ask at once; how often each way was gone, the marks of others, and what failed."""
    seen, until = Counter[str](), monotonic() + seconds
    ways: dict[str, Callable[[Owner, int], Any]] = {
        "http": lambda owner, _: converse_http(service, owner),
        "mcp": lambda owner, _: converse_mcp(service, owner),
        "server": lambda owner, _: converse_server(service, owner, address),
        "middleware": lambda owner, number: converse_agent(memory, owner, number),
    }

    async def live(number: int) -> None:
        way = list(ways)[number % len(ways)]
        owner = OWNERS[number // len(ways) % len(OWNERS)]
        mark, count = "Mark" + "".join(owner), 0
        async with ways[way](owner, number) as converse:
            while monotonic() < until:
                count += 1
                try:
                    answer = await converse(f"My friend {make_name(number, count)} lives beside {mark}.")
                except Exception as error:  # noqa: BLE001 - whatever a client raises is a failure
                    seen[f"failed {way} {type(error).__name__}"] += 1
                    continue
                seen[way] += 1
                seen["own"] += mark in answer
                seen["foreign"] += len(set(_MARK.findall(answer)) - {mark})

    await asyncio.gather(*map(live, range(clients)))
    return seen


@asynccontextmanager
async def run_langgraph(environment: dict[str, str], folder: Path) -> AsyncIterator[str]:
    """LangGraph's server in development, which asks for tokens; its address."""
    config = json.loads((ROOT / "langgraph.json").read_text()) | {"dependencies": [str(ROOT)]}
    (folder / "langgraph.json").write_text(json.dumps(config))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = str(Path(sys.executable).with_name("langgraph"))
    command = [program, "dev", "--no-browser", "--no-reload", "--port", str(port), "--n-jobs-per-worker", "20"]
    quiet = {"LANGSMITH_TRACING": "false", "LANGGRAPH_CLI_NO_ANALYTICS": "1"}
    process = await asyncio.create_subprocess_exec(
        *command, env=environment | quiet, cwd=folder, stdout=DEVNULL, stderr=DEVNULL
    )
    try:
        await _wait_until_up(f"http://127.0.0.1:{port}", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        await process.wait()


async def _wait_until_up(address: str, process: Process) -> None:
    began = monotonic()
    async with httpx.AsyncClient(base_url=address) as client:
        while monotonic() - began < PATIENCE_SECONDS and process.returncode is None:
            with suppress(httpx.TransportError):
                if (await client.get("/ok")).status_code == 200:
                    return
            await asyncio.sleep(PAUSE_SECONDS)
    raise OSError("LangGraph's server does not answer")


async def measure(clients: int, seconds: float) -> dict[str, Any]:
    """Start both servers in a home of their own, and let the clients come."""
    home = make_home(CONFIG)
    environment = make_environment(home)
    with socket.create_server(("127.0.0.1", 0)) as free:
        service = Service(environment, home / "home", free.getsockname()[1])
    try:
        database = await server.ensure_server(service.home)
        environment["MUNIMENT_DATABASE_URL"] = environment["MUNIMENT_OWNER_URL"] = database  # else each starts it
        await service.start()
        await service.wait_until_ready()
        own = settings.load_settings(environment)
        async with bootstrap.open_tokens(own, as_owner=True) as tokens:
            for tenant, user in OWNERS:
                token, _ = await tokens.issue_token(tenant=tenant, owner=user)
                service.tokens[tenant, user] = token.get_secret_value()
        async with run_langgraph(environment, home) as address, bootstrap.create_memory(own) as memory:
            began = monotonic()
            seen = await measure_crosstalk(service, address, memory, clients, seconds)
            took = monotonic() - began
        machine = await harness.machine(database)
    finally:
        if service.process is not None and service.process.returncode is None:
            await service.stop()
        await server.stop_server(service.home)
        shutil.rmtree(home, ignore_errors=True)
    failed = {name: count for name, count in seen.items() if name.startswith("failed")}
    own_seen, foreign = seen["own"], seen["foreign"]
    conversed = {way: seen[way] for way in ("http", "mcp", "server", "middleware")}
    return {"clients": clients, "seconds": round(took, 1), "conversed": conversed, "with_own": own_seen,
            "foreign": foreign, "failed": failed, "machine": machine}  # fmt: skip


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """What was done, and what does not hold."""
    rows = [[way, count] for way, count in found["conversed"].items()]
    title = f"{found['clients']} clients, {found['seconds']} s: {found['foreign']} marks of others, {found['failed']}"
    yield harness.grid(title, ["way in", "conversations"], rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.crosstalk", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    broken = False

    async def report() -> dict[str, Any]:
        nonlocal broken
        found = await measure(args.clients, args.seconds)
        broken = bool(found["foreign"] or found["failed"]) or not all(found["conversed"].values())
        return found

    return harness.run(report(), tables, as_json=args.json) or int(broken)


if __name__ == "__main__":
    sys.exit(main())
