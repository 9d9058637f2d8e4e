"""A Chinese conversation from the graph to every way of asking: built once, found alike, and kept when it is gone."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
from langchain_core.messages import HumanMessage

from muniment.graph.supervisor import build
from muniment.memory import bootstrap
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.jobs import JobOutcome
from muniment.memory.domain.scope import Scope
from muniment.memory.ports.llm import ToolCall
from muniment.nodes.state import Input, Who
from muniment.nodes.tools import QUERY_TOOL, Toolbox
from muniment.testing.fakes import FixedClock
from tests.conftest import alone
from tests.faces.conftest import Muniment
from tests.http.conftest import run_service

SAID = ("我老婆叫王敏", "我做过电商运营", "我擅长 SQL", "2024年8月我搬到了杭州", "我们决定用 pnpm")
QUESTIONS = {"配偶是谁": "王敏", "什么时候搬到杭州": "2024年8月", "擅长什么": "SQL", "pnpm": "pnpm"}


def ask(url: str, query: str) -> list[Any]:
    with psycopg.connect(url, autocommit=True) as conn:
        cursor = conn.execute(query)
        return cursor.fetchall() if cursor.description else []


async def talk(settings: Settings) -> None:
    """Say everything in one thread of the graph, and end its session; a second end builds nothing more."""
    who = Scope(owner="ana", tenant=settings.tenant, actor="ana")
    async with bootstrap.create_memory(settings) as memory:
        graph = build(memory, None, settings).compile()
        config: Any = {"configurable": {"thread_id": "A"}}
        for text in SAID:
            await graph.ainvoke(Input(messages=[HumanMessage(text)]), config, context=Who(user="ana"))
        for _ in range(2):
            ended = await memory.sessions.end(who, "A")
            assert ended.built_to == ended.turns == 2 * len(SAID)


async def clean(settings: Settings, url: str) -> Counter[tuple[str, str]]:
    """Two workers at once, fifteen days on: which jobs they did together."""
    clock = FixedClock(datetime.now(UTC) + timedelta(days=15))
    heard: list[JobOutcome] = []
    async with (
        bootstrap.create_memory(settings, clock=clock) as left,
        bootstrap.create_memory(settings, clock=clock) as right,
        bootstrap.open_worker(settings, left, heard.append) as one,
        bootstrap.open_worker(settings, right, heard.append) as two,
    ):
        for _ in range(2):
            await asyncio.gather(one.run(drain=True), two.run(drain=True))
            ask(url, "update jobs.queue set scheduled_at = now()")
        await asyncio.gather(one.run(drain=True), two.run(drain=True))
    assert not any(outcome.error_class for outcome in heard)
    return Counter((outcome.job.name, outcome.job.scope.owner) for outcome in heard)


def ask_tool(settings: Settings, owner: str) -> list[list[dict[str, Any]]]:
    """What the tool of the graph finds for each question."""
    scope = Scope(owner=owner, tenant=settings.tenant, actor=owner)

    async def call() -> list[list[dict[str, Any]]]:
        async with bootstrap.create_memory(settings) as memory:
            tools = Toolbox(memory=memory, settings=settings, scope=scope, agent="supervisor")
            calls = [ToolCall(id="1", name=QUERY_TOOL, arguments={"query": text}) for text in QUESTIONS]
            return [json.loads((await tools.run_call(each)).splitlines()[2])["results"] for each in calls]

    return alone(call())


def test_a_chinese_session(muniment: Muniment, environment: dict[str, str], database_url: str, tmp_path: Path) -> None:
    """Five observations with their positions; each question finds the same through the tool, the command line and HTTP,
    and nothing for another user, also on day 15, when one of two workers has removed the session."""
    settings = load_settings(environment)
    alone(talk(settings))
    with run_service(environment, tmp_path / "log") as service:
        clients = [service.client(service.token(tenant=settings.tenant, owner=owner)) for owner in ("ana", "ben")]
        found = clients[0].get("/v1/sessions/A").json()["observations"]
        assert {one["positions"][0]: one["type"] for one in found} == {
            0: "user_fact", 2: "user_fact", 4: "user_fact", 6: "user_fact", 8: "decision",
        }  # fmt: skip
        assert len(found) == len(SAID)
        assert clients[1].get("/v1/sessions/A").status_code == 404
        before = check_answers(muniment, settings, clients)
        assert before == [found[place]["memory"][:8] for place in (0, 3, 2, 4)]
        assert alone(clean(settings, database_url))["tend", "ana"] == 1
        for client in clients:
            assert client.get("/v1/sessions").json()["total"] == 0
        assert ask(database_url, "select from muniment.turns union all select from muniment.observations") == []
        assert check_answers(muniment, settings, clients) == before
        for client in clients:
            client.close()


def check_answers(muniment: Muniment, settings: Settings, clients: list[httpx.Client]) -> list[str]:
    """Ask everywhere as ana and as ben; return the id of the first memory that ana is told for each question."""
    told = ask_tool(settings, "ana")
    assert ask_tool(settings, "ben") == [[]] * len(QUESTIONS)
    for (text, wanted), results in zip(QUESTIONS.items(), told, strict=True):
        ids = [one["id"] for one in results]
        assert wanted in results[0]["text"], text
        line = muniment("query", text, "--agent", "supervisor", "--user", "ana", "--json").json
        assert [one["id"] for one in line["results"]] == ids
        assert muniment("query", text, "--agent", "supervisor", "--user", "ben", "--json").json["results"] == []
        body = {"query": text, "agent": "supervisor"}
        served, other = (client.post("/memory/query", json=body).json()["results"] for client in clients)
        assert [one["id"] for one in served] == ids
        assert other == []
    return [results[0]["id"] for results in told]
