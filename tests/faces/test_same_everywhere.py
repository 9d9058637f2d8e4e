"""One question, every way in: engine, tool, command line and the graph's context give the same memories in the same
order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from muniment.graph.supervisor import build
from muniment.memory import bootstrap
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.plan import Relation, WritePlan
from muniment.memory.domain.query import Answer, Query
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.payload import encode_answer
from muniment.memory.ports.llm import ToolCall
from muniment.nodes.state import Input, Who
from muniment.nodes.tools import QUERY_TOOL, Toolbox
from tests.conftest import alone
from tests.engine import note, statement
from tests.faces.conftest import Muniment
from tests.http.conftest import run_service

TOLD: list[Candidate] = [
    note("Green tea with Vera in Lisbon", actor="Vera", importance=4),
    note("Green tea with Vera in Porto"),
    note("Green tea with Milo in Porto", pinned=True),
    note("Black tea for the neighbours", "tasks"),
    note("Vera asked: which tea is it?", "tasks", trust="agent"),
    statement("The user wants a teapot of green clay"),
    statement("The user wants a lighter bicycle", importance=5),
    note("用户和王敏在杭州喝绿茶", "event"),
    note("绿茶要用八十度的水", "knowledge"),
    note("Tea ceremony in May 2026", "event"),
    note("The allotment needs a new fence", "tasks"),
]
BESIDE = "The allotment is behind the station"
QUESTIONS = (
    "green tea with Vera",
    "which tea?",
    "绿茶",
    "new fence for the allotment",
    "tax returns",
    "tea in May 2026",
)
AGENTS = ("supervisor", "planner", "researcher")


@pytest.fixture
def ana(environment: dict[str, str]) -> tuple[Settings, Scope]:
    """The settings of the command line, and a scope with a dozen memories, two of them with an edge."""
    settings = load_settings(environment)
    scope = Scope(owner="ana", tenant=settings.tenant, actor="ana")

    async def tell() -> None:
        async with bootstrap.create_memory(settings) as memory:
            await memory.ingest(scope, [*TOLD, note(BESIDE, "relationships")])
            ids = {one.text: one.id for one in await memory.list(scope)}
            low, high = sorted((ids[TOLD[-1].text], ids[BESIDE]))
            rev = (await memory.engine.store.reads.read_snapshot(Reader(scope=scope, allowed=frozenset()), None)).rev
            edge = Relation(a=low, b=high, strength=0.9)
            plan = WritePlan(scope=scope, expected_rev=rev, node="worker", at=memory.now(), relations=(edge,))
            await memory.engine.store.writes.commit(plan)

    alone(tell())
    return settings, scope


Asked = dict[str, Any]  # the arguments of the tool


def both(ana: tuple[Settings, Scope], agent: str, questions: Sequence[Asked]) -> list[tuple[Answer, dict[str, Any]]]:
    """What the engine answers, and what the tool gives to a model."""

    async def ask() -> list[tuple[Answer, str]]:
        async with bootstrap.create_memory(ana[0]) as memory:
            tools = Toolbox(memory=memory, settings=ana[0], scope=ana[1], agent=agent)
            return [
                (
                    await memory.query(ana[1], agent, meant(asked)),
                    await tools.run_call(ToolCall(id="1", name=QUERY_TOOL, arguments=asked)),
                )
                for asked in questions
            ]

    return [(answer, json.loads(told.splitlines()[2])) for answer, told in alone(ask())]


def meant(asked: Asked) -> Query:
    same = {name: asked[name] for name in ("top_k", "budget_tokens", "threshold") if name in asked}
    categories = tuple(asked.get("categories", ()))
    return Query(text=asked["query"], categories=categories, returns=asked.get("return", "bullets"), **same)


def ids(answer: Answer) -> list[str]:
    return [one["id"] for one in encode_answer(answer)["results"]]


@pytest.mark.parametrize("agent", AGENTS)
def test_engine_tool_and_command_line(muniment: Muniment, ana: tuple[Settings, Scope], agent: str) -> None:
    """The same results, to the field, at the same revision."""
    answers = both(ana, agent, [{"query": text} for text in QUESTIONS])
    for text, (answer, told) in zip(QUESTIONS, answers, strict=True):
        line = muniment("query", text, "--agent", agent, "--user", "ana", "--json").json
        assert [one["id"] for one in told["results"]] == ids(answer)
        assert line["results"] == told["results"]
        assert line["rev"] == told["rev"] == answer.rev
    assert any(answer.hits for answer, _ in answers)


@pytest.mark.parametrize("returns", ["bullets", "full"])
def test_with_every_wish(muniment: Muniment, ana: tuple[Settings, Scope], returns: str) -> None:
    """Categories, number, budget and threshold mean the same at each door."""
    wishes: list[Asked] = [
        {"top_k": 2, "budget_tokens": 2_000, "threshold": 0.1, "categories": ["activity"]},
        {"top_k": 20, "budget_tokens": 440, "threshold": 0.0, "categories": ["activity", "tasks"]},
        {"top_k": 20, "budget_tokens": 2_000, "threshold": 0.3, "categories": ["event", "goals", "activity"]},
    ]
    questions = [{"query": "green tea in Porto", "return": returns} | wish for wish in wishes]
    sizes = []
    for asked, (answer, told) in zip(questions, both(ana, "supervisor", questions), strict=True):
        options = {"top-k": asked["top_k"], "budget": asked["budget_tokens"], "threshold": asked["threshold"]}
        options |= {"categories": ",".join(asked["categories"]), "return": returns, "user": "ana"}
        given = [part for name, value in options.items() for part in (f"--{name}", str(value))]
        line = muniment("query", asked["query"], "--agent", "supervisor", "--json", *given).json
        assert [one["id"] for one in told["results"]] == ids(answer)
        for one in told["results"] + line["results"]:
            for changing in ("score", "last_accessed_at", "access_count"):  # memories age, and who asks is counted
                one.pop(changing, None)
        assert line["results"] == told["results"]
        sizes.append(len(answer.hits))
    assert sizes[0] == 2
    assert min(sizes) > 0


def test_the_graph_begins_a_turn_with_the_same(ana: tuple[Settings, Scope]) -> None:
    """The bullets before a model are the hits of a query for the message, without what is in every context anyway."""
    settings, scope = ana
    moving = tuple(name for name in settings.allowlists["supervisor"] if settings.categories[name].context != "all")
    most = settings.recall.context_bullets

    async def say() -> list[tuple[list[str], list[str]]]:
        async with bootstrap.create_memory(settings) as memory:
            graph = build(memory, None, settings).compile()
            said = []
            for text in QUESTIONS:
                asked = Query(text=text, categories=moving, top_k=most, budget_tokens=5_000)
                hits = (await memory.query(scope, "supervisor", asked)).hits
                config: Any = {"configurable": {"thread_id": text}}
                said_ = Input(messages=[HumanMessage(text)])
                state = await graph.ainvoke(said_, config, context=Who(user="ana"), output_keys=["bullets"])
                said.append(([f"[{hit.memory.category}] {hit.memory.text}" for hit in hits], list(state["bullets"])))
            return said

    said = alone(say())
    assert [bullets for _, bullets in said] == [hits for hits, _ in said]
    assert sum(len(bullets) for _, bullets in said) >= 5


def test_shared_spaces_in_graph_command_line_and_service(
    muniment: Muniment, ana: tuple[Settings, Scope], environment: dict[str, str], tmp_path: Path
) -> None:
    """With the memory of a project and an agent beside the own, the graph's tool, the command line and the service
    find the same in the same order, and say whose it is; so they do for what is newest."""
    settings, scope = ana
    atlas = Scope(owner="atlas", tenant=settings.tenant, owner_type="project")
    helper = Scope(owner="supervisor", tenant=settings.tenant, owner_type="agent")

    async def tell() -> None:
        async with bootstrap.open_shares(settings) as shares, bootstrap.create_memory(settings) as memory:
            for shared in (atlas, helper):
                await shares.grant_share(shared, scope.owner_scope, by="root")
            await memory.ingest(
                atlas, [note("Green tea is served in the project's kitchen", "tasks"), note("A new fence")]
            )
            await memory.ingest(helper, [note("Who asks for tea mostly means green tea", "knowledge")])

    alone(tell())
    questions = [*QUESTIONS, "", "*"]
    told = both((settings, replace(scope, project="atlas")), "supervisor", [{"query": text} for text in questions])
    with run_service(environment, tmp_path / "log") as service:
        token = service.token(tenant=settings.tenant)
        with service.client(token, **{"X-Muniment-Project": "atlas"}) as client, service.client(token) as other:
            for text, (answer, tool) in zip(questions, told, strict=True):
                line = muniment("query", text, "-a", "supervisor", "-u", "ana", "--project", "atlas", "--json").json
                body = {"query": text, "agent": "supervisor"}
                served = client.post("/memory/query", json=body).json()
                assert line["results"] == tool["results"] == served["results"]
                assert [one["id"] for one in served["results"]] == ids(answer)
                alone_ = other.post("/memory/query", json=body).json()["results"]
                assert "project" not in {one.get("of") for one in alone_}
            context = client.get("/context", params={"text": QUESTIONS[0], "agent": "supervisor"}).json()
            assert any(", of the project] " in bullet for bullet in context["bullets"])
            explained = client.post("/memory/query", json=body | {"explain": True, "query": "which tea?"}).json()
            assert [one["name"] for one in explained["stages"]][0::6] == ["scope", "pack"]
    assert {one.get("of") for _, tool in told for one in tool["results"]} == {None, "project", "agent"}


def test_a_refusal_is_the_same(muniment: Muniment, ana: tuple[Settings, Scope]) -> None:
    """In the words of the engine, at the tool and at the command line."""

    async def ask() -> str:
        async with bootstrap.create_memory(ana[0]) as memory:
            tools = Toolbox(memory=memory, settings=ana[0], scope=ana[1], agent="supervisor")
            return await tools.run_call(
                ToolCall(id="1", name=QUERY_TOOL, arguments={"query": "tea", "categories": ["procedural"]})
            )

    told = alone(ask()).removeprefix("Error: ")
    line = muniment("query", "tea", "--agent", "supervisor", "--user", "ana", "--categories", "procedural", "--json")
    assert line.code == 3
    assert "may not read procedural" in told
    assert told in line.out + line.err
