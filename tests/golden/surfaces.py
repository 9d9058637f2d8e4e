"""What the product shows to others: commands, settings, tools, the graph, errors, and a whole engine over a database.

Of the golden modules this one, `pairs` and `subjects` alone import the product."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock
from uuid import uuid4

import psycopg
import yaml
from psycopg import sql
from psycopg.conninfo import make_conninfo
from pydantic import TypeAdapter

import muniment
from muniment.faces.cli.app import run_command
from muniment.faces.cli.output.screen import get_exit_code
from muniment.graph import consolidation
from muniment.graph.supervisor import build
from muniment.memory import bootstrap, codec
from muniment.memory.client import Memory
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.payload import encode_answer, encode_explanation
from muniment.memory.stores.postgres.embedded import server as stores
from muniment.memory.stores.postgres.schema import migrate
from muniment.nodes import tools
from muniment.nodes.state import Input, State, Who
from muniment.testing.fakes import FixedClock, ScriptedChat
from tests import engine, schema
from tests.golden.subjects import NOW, SETTINGS, digest, told

Record = Mapping[str, Any]
AGENT = "supervisor"
_WIDTH = "100"
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_COMMAND = re.compile(r"^  ([a-z][a-z-]*)(?:\s{2,}|$)", re.MULTILINE)


# Interfaces


def commands() -> str:
    """The help of every command and subcommand."""
    return "\n".join(f"$ muniment {' '.join((*path, '--help'))}\n{text}" for path, text in _helps(()))


def _helps(path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    held = io.BytesIO()
    with (
        io.TextIOWrapper(held, encoding="utf-8") as shown,
        mock.patch.dict(os.environ, {"COLUMNS": _WIDTH, "NO_COLOR": "1"}),
        contextlib.redirect_stdout(shown),
        contextlib.redirect_stderr(shown),
    ):
        run_command([*path, "--help"])
        shown.flush()
        text = held.getvalue().decode()
    yield path, text
    if len(path) < 2:
        listed = text.partition("\nCommands:\n")[2]
        for name in _COMMAND.findall(listed):
            yield from _helps((*path, name))


class _Asked(dict[str, str]):
    """An environment that knows what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.names.add(key)
        return default


def settings() -> str:
    """Every key of the shipped configuration with its default, and the environment variables."""
    environment = _Asked()
    load_settings(environment)
    shipped = yaml.safe_load((Path(__file__).parents[2] / "config" / "memory.yaml").read_text(encoding="utf-8"))
    keys = [f"{path} = {json.dumps(value, ensure_ascii=False)}" for path, value in _leaves("", shipped)]
    return "\n".join([*keys, "", *sorted(environment.names), ""])


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, one in value.items():
            yield from _leaves(f"{path}.{key}".lstrip("."), one)
    else:
        yield path, value


def names() -> str:
    """What the package offers, and the exit code of each of its errors."""
    offered = sorted(muniment.__all__)
    values = {name: getattr(muniment, name) for name in offered}
    codes = [
        f"{name} {get_exit_code(value.__new__(value))}"
        for name, value in values.items()
        if isinstance(value, type) and issubclass(value, BaseException)
    ]
    return "\n".join([*offered, "", *codes, f"KeyboardInterrupt {get_exit_code(KeyboardInterrupt())}", ""])


def tool_schemas() -> str:
    """What each agent's model may call."""
    memory = bootstrap.create_memory(SETTINGS, embedder=HashEmbedder(), clock=FixedClock(NOW))
    offered = {}
    for agent in SETTINGS.allowlists:
        others = tools.SUBAGENTS if agent == AGENT else {}
        box = tools.Toolbox(memory=memory, settings=SETTINGS, scope=Scope(owner="ana"), agent=agent, colleagues=others)
        offered[agent] = [[one.name, one.description, one.parameters] for one in box.tools]
    return _json(offered)


def graphs() -> str:
    """Nodes and edges of the graphs, and the schemas of what they carry."""
    memory = bootstrap.create_memory(SETTINGS, embedder=HashEmbedder(), clock=FixedClock(NOW))
    shown: dict[str, Any] = {}
    for title, model in (("supervisor", ScriptedChat(())), ("supervisor without a model", None)):
        shown[title] = _drawn(build(memory, model, SETTINGS).compile())
    shown["consolidation"] = _drawn(consolidation.build(memory, SETTINGS).compile())
    for title, kind in (("state", State), ("input", Input), ("context", Who)):
        whole = TypeAdapter(kind).json_schema()
        shown[title] = _inlined(whole, whole.get("$defs", {}))
    return _json(shown)


def _drawn(graph: Any) -> dict[str, Any]:
    drawn = graph.get_graph()
    edges = sorted(f"{one.source} {'..' if one.conditional else '--'} {one.target}" for one in drawn.edges)
    return {"nodes": sorted(drawn.nodes), "edges": edges, "channels": sorted(graph.channels)}


def _inlined(schema: Any, known: Mapping[str, Any]) -> Any:
    """A schema without the names and descriptions of classes; messages are LangChain's own business."""
    if isinstance(schema, list):
        return [_inlined(one, known) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return name if "Message" in name else _inlined(known[name], known)
    dropped = {"$defs", "title"} | ({"description"} if "properties" in schema else set())
    kept = {key: value for key, value in schema.items() if key not in dropped}
    if isinstance(kept.get("properties"), dict):
        inner = {name: _inlined(one, known) for name, one in kept.pop("properties").items()}
        return _inlined(kept, known) | {"properties": inner}
    return {key: _inlined(value, known) for key, value in kept.items()}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


@contextlib.contextmanager
def server() -> Iterator[Callable[[], str]]:
    """A throw-away server, as what makes a migrated database and gives its address."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        home.chmod(0o711)  # the account that runs a root session's Postgres has to pass
        try:
            yield partial(_migrated, asyncio.run(stores.ensure_server(home, fsync=False)))
        finally:
            asyncio.run(stores.stop_server(home))


def _migrated(url: str) -> str:
    name = f"golden_{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    made = make_conninfo(url, dbname=name)
    asyncio.run(migrate.apply_migrations(made))
    return made


def database(url: str) -> str:
    """The schema that the migrations come to."""
    return schema.dump(url)


# A whole engine


def found(url: str, memories: Sequence[Record], questions: Sequence[Record]) -> str:
    """Answers and briefs over the spaces of some users, filled at once."""
    return _run(_found(url, memories, questions))


def learnt(url: str, turns: Sequence[Record], *, model: bool) -> str:
    """What becomes of a conversation turn by turn, and what is kept in the end; with a model that has read it, too."""
    return _run(_learnt(url, turns, _Reader(turns) if model else None))


class _Reader:
    """A model that answers a request for the statements of a turn as the inputs have it; it knows what it was asked
    last."""

    def __init__(self, turns: Sequence[Record]) -> None:
        self.turns = {redact(raw["text"]): raw for raw in turns}
        self.prompt = ""

    def __call__(self, messages: Sequence[Any], _tools: Sequence[Any]) -> str:
        self.prompt = digest([[one.role, one.content] for one in messages])
        asked = json.loads(next(one.content for one in reversed(messages) if one.role == "user"))
        shown = {one["turn"]: self.turns.get(one["text"]) for one in asked["conversation"]}
        numbers = {raw["id"]: number for number, raw in shown.items() if raw}
        read = [raw for number in asked["extract_from"] if (raw := shown[number])]
        facts = [
            {**_DEFAULTS, **fact, "turns": [numbers[one] for one in fact.get("turns", [raw["id"]]) if one in numbers]}
            for raw in read
            for fact in raw.get("answer", ())
        ]
        return json.dumps({"facts": facts}, ensure_ascii=False)


_DEFAULTS: Record = {
    "subject": "user", "negated": False, "single": False, "event_time": None, "persons": [], "entities": [],
    "location": None, "topic": None, "importance": 3, "confidence": 0.9,
}  # fmt: skip
redact = bootstrap.make_redactor(SETTINGS)


def _run(steps: Any) -> str:
    """The lines of some steps, as ids that are the same each time: a random number is the next of a seeded row.

    In a thread of its own, for there may be a loop in this one."""

    def collected() -> list[Any]:
        return asyncio.run(_collected(steps))

    with mock.patch.object(os, "urandom", Random(7).randbytes), ThreadPoolExecutor(1) as pool:
        lines = pool.submit(collected).result()
    return "".join(f"{line}\n" for line in _numbered(lines))


async def _collected(steps: Any) -> list[Any]:
    return [one async for one in steps]


def _numbered(lines: Sequence[Any]) -> Iterator[str]:
    """Each value on a line, ids as numbers in the order in which they come up."""
    known: dict[str, str] = {}
    for line in lines:
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        yield _ID.sub(lambda one: known.setdefault(one[0], f"#{len(known)}"), text)


async def _found(url: str, memories: Sequence[Record], questions: Sequence[Record]) -> Any:
    async with engine.engine(url) as memory:
        told_by: dict[str, list[Candidate]] = defaultdict(list)
        for raw in memories:
            one = Candidate(text=raw["text"], category=raw["category"], actor=raw.get("actor"))
            told_by[raw["owner"]].append(one)
        for owner, candidates in told_by.items():
            yield [owner, await memory.ingest(Scope(owner=owner), candidates)]
        for n, raw in enumerate(questions):
            scope, text = Scope(owner=raw["owner"], thread="t", session="t"), raw["text"]
            yield {"owner": raw["owner"], "q": text, **await _answers(memory, scope, text, n)}


async def _answers(memory: Memory, scope: Scope, text: str, n: int) -> dict[str, Any]:
    explained = await memory.query(scope, AGENT, Query(text=text, explain=True))
    shown: dict[str, Any] = {"a": _short(encode_answer(explained, explain=True))}
    if n % 4 == 0:
        full = await memory.query(scope, AGENT, Query(text=text, returns="full", top_k=2, threshold=0.1))
        shown["full"] = encode_answer(full)
    if n % 2 == 0:
        brief = await memory.brief(scope, AGENT, text)
        shown["brief"] = told(stable=brief.stable, header=brief.header, moving=brief.moving, bullets=len(brief.bullets))
    if n % 8 == 0 and explained.omissions:
        verdict = await memory.why_not(scope, AGENT, explained.omissions[0].id, Query(text=text))
        shown["why"] = encode_explanation(verdict)["said"]
    return shown


def _short(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer with what it says of each memory on as little room as possible."""
    for one in answer["results"]:
        one["parts"] = {name: value for name, value in one["parts"].items() if value}
    del answer["stages"]  # their times differ
    answer["left_out"] = [f"{one['id']} {one['reason']} {one['score']}" for one in answer["left_out"][:12]]
    return answer


async def _learnt(url: str, turns: Sequence[Record], reader: _Reader | None) -> Any:
    clock = FixedClock(datetime.fromisoformat(turns[0]["at"]))
    scope = Scope(owner="nina", thread="t", session="t", agent=AGENT)
    model = None if reader is None else ScriptedChat(reader, name="reader")
    async with engine.engine(url, clock=clock, model=model) as memory:
        for raw in turns:
            at = datetime.fromisoformat(raw["at"])
            clock.advance((at - clock.now()).total_seconds())
            turn = Turn.make(
                session="t",
                key=raw["id"],
                role=raw["role"],
                text=raw["text"],
                at=at,
                thread="t",
                source=raw.get("source"),
                path=raw.get("path"),
            )
            line: dict[str, Any] = {"turn": raw["id"]}
            if turn.role == "user":
                brief = await memory.brief(scope, AGENT, raw["text"])
                await memory.conversation.mark_seen(scope, brief.rev)
                line |= told(header=brief.header, moving=brief.moving)
                receipt = await memory.learn(scope, turn)
                line |= {
                    "did": codec.encode_receipt(receipt),
                    "unmet": receipt.unmatched_requests,
                    "ask": list(map(codec.encode_consent_request, receipt.consent_requests)),
                }
            await memory.conversation.record(scope, [turn])
            if reader is not None and turn.role == "user" and raw.get("answer"):
                line |= {
                    "read": codec.encode_receipt(await memory.jobs.extract(scope, turn.id)),
                    "prompt": reader.prompt,
                }
            yield line
        async for line in _in_the_end(memory, scope, clock, with_model=reader is not None):
            yield line


async def _in_the_end(memory: Memory, scope: Scope, clock: FixedClock, *, with_model: bool) -> Any:
    clock.advance(timedelta(hours=1).total_seconds())
    yield {"captured": codec.encode_receipt(await memory.conversation.capture(scope))}
    waiting = await memory.list_consents(scope)
    decided = await memory.decide_consents(scope, [one.id for one in waiting[:2]], approve=True)
    yield {"decided": codec.encode_receipt(decided)}
    for text in ("I like rowing on the Maas", "My sister is called 若兰", "The Wi-Fi password is hunter22"):
        yield {"remember": text, "did": await _remembered(memory, scope, text)}
    if not with_model:
        run_ = await memory.admin.consolidate(scope)
        yield {"consolidated": run_ is not None and _counts(run_)}
    for one in await memory.list(scope, states=("active", "pending", "superseded", "soft_deleted"), limit=500):
        yield {"kept": codec.encode_record(one)}
    for entry in await memory.history(scope, limit=500):
        yield {"journal": {key: value for key, value in codec.encode_record(entry).items() if key != "text"}}
    yield {"consents": [codec.encode_record(one) for one in await memory.list_consents(scope, decided=True)]}
    for row in await memory.export(scope, content=True):
        yield {"export": sorted(row)}


async def _remembered(memory: Memory, scope: Scope, text: str) -> Any:
    try:
        return codec.encode_receipt(await memory.remember(scope, text))
    except muniment.BadInput as error:
        return str(error)


def _counts(run_: Any) -> dict[str, Any]:
    return told(
        status=run_.status,
        seen=run_.seen,
        checked=run_.checked,
        same=run_.same,
        superseded=run_.superseded,
        distinct=run_.distinct,
        before=run_.duplicates_before,
        after=run_.duplicates_after,
    )
