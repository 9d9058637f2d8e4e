"""Privacy: what may not be taken in, and a sweep for secrets through everything that is kept or sent."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from langchain_core.messages import HumanMessage
from psycopg import sql
from pydantic import SecretStr

from muniment.graph.checkpointer import open_saver
from muniment.graph.supervisor import build
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.query import Filters, Query
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.errors import BadInput, MunimentError
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.memory.models.openai.embedder import OpenAIEmbedder
from muniment.nodes.state import Input, Who
from muniment.testing.fakes import FixedClock
from muniment.testing.openai_server import ScriptedOpenAI, tool_call
from tests.engine import NOON, engine, note, said, scope, settings

DENIED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"tags": ("private",)}, {}, "denied tag"),
    ({"path": "notes/secrets/a.md"}, {}, "denied path"),
    ({}, {"project": "falcon"}, "denied project"),
]


def strict(url: str, **more: Any) -> Settings:
    """Settings that deny and redact all that they can."""
    base = settings(url)
    rules: dict[str, Any] = {
        "email": True, "phone": True, "patterns": (r"falcon-\d+",), "deny_tags": ("private",),
        "deny_paths": ("*/secrets/*",), "deny_projects": ("falcon",),
    }  # fmt: skip
    return base.model_copy(update={"redact": base.redact.model_copy(update=rules)} | more)


@pytest.mark.parametrize(("turn_has", "scope_has", "reason"), DENIED)
async def test_a_denied_turn_is_nowhere(
    database_url: str, turn_has: dict[str, Any], scope_has: dict[str, Any], reason: str
) -> None:
    """It is neither learned nor recorded nor extracted, by no way in."""
    with ScriptedOpenAI() as server:
        model = OpenAIChat("tiny", api_key=SecretStr("k"), base_url=server.base_url, timeout_seconds=1, max_retries=0)
        async with engine(database_url, tuned=strict(database_url), model=model) as memory:
            who = scope(**scope_has)
            turn = Turn.make(
                session="A", key="1", role="user", text="I live in Porto.", at=NOON, thread="A", **turn_has
            )
            assert (await memory.learn(who, turn)).skipped == reason
            await memory.conversation.record(who, [turn])
            learnt = [replace(note("A trip to Porto"), turns=(turn.id,))]
            with pytest.raises(BadInput, match="denied turn"):
                await memory.keep_candidates(who, learnt, [turn])
            assert await memory.export(who) == ()
            assert await memory.engine.store.jobs.count_jobs() == {}
            # A turn that came before it was denied is not sent to a model either.
            await memory.engine.store.ledger.record_turns(who, [turn])
            if turn_has:
                assert (await memory.jobs.extract(who, turn.id)).skipped == reason
        assert server.requests == []


async def test_denied_statements(database_url: str) -> None:
    """A candidate, a plain row and a row of an export with a denied tag are refused; nothing beside them is lost."""
    async with engine(database_url, tuned=strict(database_url)) as memory:
        tagged = note("A trip to Porto", tags=("Private",))
        receipt = await memory.keep_candidates(scope(), [tagged, note("A trip to Rome")])
        assert (len(receipt.changes), receipt.refused) == (1, ("denied tag",))
        assert await memory.ingest(scope("ben"), [tagged, note("A trip to Rome")]) == 1
        with pytest.raises(BadInput, match="row 2: denied tag"):
            await memory.load(scope("eve"), [{"text": "Tea"}, {"text": "Gin", "tags": ["private"]}])
        rows = list(await memory.export(scope()))
        for place, kind in enumerate(row["type"] for row in rows):
            if kind == "memory":
                rows[place] |= {"tags": ["private"]}
        with pytest.raises(BadInput, match="denied tag"):
            await memory.load(scope("eve"), rows)
        assert await memory.export(scope("eve")) == ()
        assert await memory.ingest(scope("eve", project="falcon"), [note("A trip to Rome")]) == 0
        assert (await memory.remember(scope("eve", project="falcon"), "I like tea.")).skipped == "denied project"


# Ten kinds of secrets: the words around one, and the secret itself.
_PEM = "MIIEow" + "IBAAKCAQEA" * 4
CANARIES: dict[str, tuple[str, str]] = {
    "api key": ("Use {} for the calls.", "sk-" + "cAnA4rY" * 4),
    "github token": ("Push with {}.", "ghp_" + "cAnArY7x" * 4),
    "jwt": ("The token is {}", "eyJjYW5hcnkxMjM0NTY3OCJ9.eyJjYW5hcnkiOjF9.Y2FuYXJ5Y2FuYXJ5"),
    "password": ("My password is {}.", "cAnArY-hunter2"),
    "chinese password": ("我的密码是{}，别忘了。", "cAnArY!9zz"),
    "card": ("Pay with {}", "5500 0055 5555 5559"),
    "iban": ("Wire it to {}", "GB82 WEST 1234 5698 7654 32"),
    "private key": ("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", _PEM),
    "e-mail": ("Write to {}", "canary.bird@mail.example.org"),
    "phone": ("Call {}", "+49 30 1234567"),
    "url": ("It is at postgres://ana:{}@db/x", "cAnArYurl99"),
    "pattern": ("The project is {}", "falcon-4711"),
}


def leak(kind: str) -> str:
    frame, secret = CANARIES[kind]
    return frame.format(secret)


def everything() -> str:
    return "I live in Porto. " + "\n".join(map(leak, CANARIES))


def model_says(body: dict[str, Any]) -> Any:
    """A model that leaks, too: in its tool's arguments, in an unknown tool's name, in what it extracts, in its
    reply."""
    messages = body["messages"]
    if "response_format" in body or "extract_from" in str(messages[-1]["content"]):
        secret = CANARIES["api key"][1]
        fact = {"statement": f"The user's key is {secret} in Porto", "kind": "note", "predicate": "note",
            "object": secret,
                "subject": "user", "negated": False, "single": False, "event_time": None, "persons": [],
                "entities": [secret],
                "location": "Porto", "topic": None, "category": "activity", "importance": 3, "confidence": 0.9,
                "turns": [1]}  # fmt: skip
        return json.dumps({"facts": [fact]})
    tools = [one for one in messages if one["role"] == "tool"]
    calls = [
        tool_call("memory_query", {"query": everything()}),
        tool_call("memory_query", {"query": "x", CANARIES["api key"][1]: 1}),
        tool_call(CANARIES["github token"][1], {"a": everything()}),
    ]
    return calls[len(tools)] if len(tools) < len(calls) else f"Noted in Porto: {everything()}"


async def talk(memory: Memory, tuned: Settings, model: OpenAIChat, url: str) -> None:
    """Secrets by every way in: messages, tools, statements, imports, questions; with a model, a failing one, and
    none."""
    async with open_saver(url, bootstrap.make_redactor(tuned)) as saver:
        for given in (model, None):
            graph = build(memory, given, tuned).compile(checkpointer=saver)
            for n in range(3):
                said_ = Input(
                    messages=[
                        HumanMessage(f"{everything()} ({n})"),
                        HumanMessage([{"type": "text", "text": everything()}]),
                    ]
                )
                config: Any = {"configurable": {"thread_id": f"t{n}"}, "metadata": {"note": leak("api key")}}
                await graph.ainvoke(said_, config, context=Who(user="ana"))


async def use(memory: Memory) -> None:
    for kind in CANARIES:
        await memory.learn(scope(), said(leak(kind)))
        with suppress(MunimentError):
            await memory.remember(scope(), f"{leak(kind)} and Porto")
        with suppress(MunimentError):
            await memory.remember(scope(), f"The year {len(kind)} in Porto", source=f"Porto {leak(kind)}"[:300])
        with suppress(MunimentError):
            await memory.query(scope(), "supervisor", Query(text=leak(kind), categories=(CANARIES[kind][1],)))
        await memory.query(scope(), "supervisor", Query(text=leak(kind), filters=Filters(run_id=CANARIES[kind][1])))
        await memory.brief(scope(), "supervisor", leak(kind))
    text = everything()
    row = {"text": f"A note on Porto. {text}", "tags": [text]}
    await memory.load(scope(), [row | {"category": "history"}])
    await memory.ingest(
        scope(), [Candidate(text=text, category="history", kind="episodic", context=text, tags=(text,))]
    )
    await memory.ingest(scope(), [note("Seen in Porto", source=f"Porto {leak(kind)}") for kind in CANARIES])
    path = Turn.make(session="A", key="p", role="tool", text=text, at=NOON, path=text, tags=(text,), thread="A")
    await memory.conversation.record(scope(), [path])
    copy = [dict(one) for one in await memory.export(scope())]
    first = next(one for one in copy if one["type"] == "memory")
    asked = {
        "type": "consent",
        "request_id": str(uuid4()),
        "field": "city",
        "value": "",
        "old": "",
        "decision": "rejected",
    }
    asked |= {key: first[key] for key in ("memory_id", "turns")} | dict.fromkeys(
        ("asked_at", "expires_at"), first["created_at"]
    )
    copy += [first | {"type": "version", "from_rev": 1, "to_rev": 2}, asked]
    for one in copy:
        for key in {"text", "context", "fact", "tags", "meta", "path", "value", "old"} & set(one):
            one[key] = _leaky(one[key], text)
        if one["type"] in {"memory", "version"}:
            one["source"] = text
    await memory.load(scope("copy"), copy)


def _leaky(value: Any, text: str) -> Any:
    if isinstance(value, dict):
        return value | {"object": text, "entities": [text]} if "predicate" in value else value | {"said": text}
    if value is None:
        return None
    return [text] if isinstance(value, list) else text


async def kept(url: str) -> dict[str, str]:
    """Every table of every schema as text; what is binary is read as text, too."""
    found: dict[str, str] = {}
    async with await psycopg.AsyncConnection.connect(url) as conn:
        tables = await conn.execute(
            "select schemaname, tablename from pg_tables where schemaname not in ('pg_catalog', 'information_schema')"
        )
        for schema, table in await tables.fetchall():
            rows = await conn.execute(sql.SQL("select t::text from {} t").format(sql.Identifier(schema, table)))
            found[f"{schema}.{table}"] = "\n".join(_plain(row) for (row,) in await rows.fetchall())
    return found


def _plain(row: str) -> str:
    blobs = [bytes.fromhex(one).decode("utf-8", "replace") for one in re.findall(r"\\x((?:[0-9a-f]{2})+)", row)]
    return "\n".join([row, *blobs])


def seen_in(places: dict[str, str]) -> Iterator[tuple[str, str]]:
    for place, text in places.items():
        for kind, (_, secret) in CANARIES.items():
            if secret in text or json.dumps(secret)[1:-1] in text:
                yield place, kind


@pytest.mark.timeout(120)
async def test_no_canary_is_anywhere(database_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """After all that was said, asked, imported, extracted and failed, no secret is in a table, a log, an export, a job,
    a checkpoint, or in a request to the model or the embedder; what stood around the secrets is."""
    caplog.set_level(logging.DEBUG)
    tuned = strict(database_url)
    fails: list[Any] = [None] * 3 + ["server_error"] * 2 + [None, "wrong_schema", "cut_off", None, "empty"]
    with ScriptedOpenAI(model_says, fail=fails) as chat, ScriptedOpenAI() as embeddings:
        key = SecretStr("k")
        model = OpenAIChat("tiny", api_key=key, base_url=chat.base_url, timeout_seconds=5, max_retries=0)
        embedder = OpenAIEmbedder("small", api_key=key, base_url=embeddings.base_url, timeout_seconds=5, max_retries=0)
        memory = bootstrap.create_memory(tuned, embedder=embedder, clock=FixedClock(NOON), model=model)
        async with memory:
            await talk(memory, tuned, model, database_url)
            await use(memory)
            for row in await memory.export(scope()):
                if row["type"] == "turn":
                    with suppress(MunimentError):
                        await memory.jobs.extract(scope(), TurnId(UUID(row["turn_id"])))
            exported = json.dumps(
                [*await memory.export(scope()), *await memory.export(scope("copy"))], ensure_ascii=False
            )
        places = await kept(database_url) | {
            "log": caplog.text + "".join(str(one.__dict__) for one in caplog.records),
            "export": exported,
            "requests to the model": json.dumps([one.body for one in chat.requests], ensure_ascii=False),
            "requests to the embedder": json.dumps([one.body for one in embeddings.requests], ensure_ascii=False),
        }
    assert list(seen_in(places)) == []
    for place in ("muniment.memories", "muniment.turns", "checkpoints.checkpoint_blobs",
        "checkpoints.checkpoint_writes",
                  "export", "requests to the model", "requests to the embedder"):  # fmt: skip
        assert "Porto" in places[place], place
        assert "[redacted:" in places[place], place
    assert places["jobs.queue"]
    assert {"checkpoints.checkpoints", "muniment.consent_requests", "muniment.extractions"} <= set(places)


def test_the_sweep_finds_what_is_there() -> None:
    """A canary in any of the places is found, also in a blob."""
    for kind, (_, secret) in CANARIES.items():
        assert list(seen_in({"x": f"a {secret} b"})) == [("x", kind)]
        assert secret in _plain(f'(1,"\\\\x{secret.encode().hex()}")')
