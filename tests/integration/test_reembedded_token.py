"""A token with another embedder: the former one answers until a job has embedded the memory anew beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from muniment.memory.domain.query import Query
from muniment.memory.domain.tokens.config import ConfiguredToken
from muniment.memory.errors import Conflict
from muniment.memory.models.hash_embedder import hash_vector
from muniment.testing import ScriptedOpenAI
from tests.engine import engine
from tests.tokens import Tokens, open_tokens

TEXTS = ("The user likes teal", "The user keeps a heron", "The user plays chess")
RULES = {"memory_llm_provider": "rules", "memory_prompt": None}


def embed_reversed(text: str) -> Sequence[float]:
    """Vectors that cannot be compared with those of the usual script."""
    return [-float(value) for value in reversed(hash_vector(text))]


async def fill(tokens: Tokens, token: ConfiguredToken) -> None:
    memory = await tokens.memories.get(token)
    for text in TEXTS:
        await memory.remember(token.scope, text)


async def find(tokens: Tokens, token: ConfiguredToken, text: str) -> tuple[str, bool]:
    """The first memory that is found, and whether it was found without vectors."""
    current = await tokens.find(token)
    memory = await tokens.memories.get(current)
    answer = await memory.query(current.scope, "supervisor", Query(text=text, threshold=0.0))
    return answer.hits[0].memory.text, answer.degraded


def list_models(url: str) -> set[str]:
    with psycopg.connect(url) as conn:
        rows = conn.execute(
            "select coalesce(next_model, embedding_model) from muniment.memories union all "
            "select model from muniment.tenant_embedders"
        ).fetchall()
    return {str(name).partition("@")[0] for (name,) in rows}


def ask_models(server: ScriptedOpenAI) -> list[str]:
    return [str(request.body["model"]) for request in server.requests]


async def test_the_former_answers_until_the_new_one_is_ready(database_url: str, tmp_path: Path) -> None:
    """All the while a question finds what it should, by vectors; then the former is not asked, and is not kept."""
    with ScriptedOpenAI() as old, ScriptedOpenAI(embed=embed_reversed) as new:
        async with open_tokens(database_url, tmp_path) as tokens:
            token = await tokens.register(old, **RULES)
            await fill(tokens, token)
            detail = await tokens.admin.update(
                token.grant.id, {"embed_base_url": new.base_url, "embed_body": {"model": "second"}}
            )
            assert detail.is_switching
            asked = len(old.requests)
            assert await find(tokens, token, TEXTS[1]) == (TEXTS[1], False)
            assert len(old.requests) == asked + 1
            await (await tokens.memories.get(await tokens.find(token))).remember(token.scope, "The user sails to Elba")
            await tokens.work()
            assert not (await tokens.admin.get(token.grant.id)).is_switching
            assert (await tokens.find(token)).formers == ()
            assert list_models(database_url) == {"second"}
            await find(tokens, token, TEXTS[0])  # the process finds out that the former is not in use any more
            asked = len(old.requests)
            for text in (*TEXTS, "The user sails to Elba"):
                assert await find(tokens, token, text) == (text, False)
            assert len(old.requests) == asked
            assert set(ask_models(new)) == {"second"}


async def test_another_change_before_the_first_is_done(database_url: str, tmp_path: Path) -> None:
    """A second change, and one back to the beginning, are done in the end; a fourth embedder has to wait."""
    with ScriptedOpenAI() as server:
        async with open_tokens(database_url, tmp_path) as tokens:
            token = await tokens.register(server, **RULES)
            await fill(tokens, token)
            for name in ("second", "third"):
                await tokens.admin.update(token.grant.id, {"embed_body": {"model": name}})
                assert await find(tokens, token, TEXTS[1]) == (TEXTS[1], False)
            await tokens.work()
            assert list_models(database_url) == {"third"}
            assert (await tokens.find(token)).formers == ()
            first: dict[str, Any] = {"embed_body": {"model": "vectors", "x_user": {"a": [1]}}}
            await tokens.admin.update(token.grant.id, first)
            await tokens.admin.update(token.grant.id, {"embed_body": {"model": "third"}})
            assert await find(tokens, token, TEXTS[2]) == (TEXTS[2], False)
            for name in ("fourth", "fifth"):
                await tokens.admin.update(token.grant.id, {"embed_body": {"model": name}})
            with pytest.raises(Conflict, match="embedded anew"):
                await tokens.admin.update(token.grant.id, {"embed_body": {"model": "sixth"}})
            await tokens.admin.update(token.grant.id, {"memory_limit": 3, "embed_api_key": "another-key-of-it"})
            assert await find(tokens, token, TEXTS[0]) == (TEXTS[0], False)
            await tokens.work()
            assert (await tokens.find(token)).formers == ()
            assert list_models(database_url) == {"fifth"}
            assert await find(tokens, token, TEXTS[0]) == (TEXTS[0], False)
            assert server.requests[-1].headers["authorization"] == "Bearer another-key-of-it"


async def test_another_key_is_no_other_embedder(database_url: str, tmp_path: Path) -> None:
    """The next request has the new key, and nothing is embedded anew."""
    with ScriptedOpenAI() as server:
        async with open_tokens(database_url, tmp_path) as tokens:
            token = await tokens.register(server, **RULES)
            await fill(tokens, token)
            detail = await tokens.admin.update(token.grant.id, {"embed_api_key": "another-key-of-it"})
            assert not detail.is_switching
            assert await find(tokens, token, TEXTS[0]) == (TEXTS[0], False)
            assert server.requests[-1].headers["authorization"] == "Bearer another-key-of-it"


async def test_without_vectors_the_new_one_is_there_at_once(database_url: str, tmp_path: Path) -> None:
    """An address that was wrong is mended by an update: the next request works, without a worker."""
    with ScriptedOpenAI() as server:
        async with open_tokens(database_url, tmp_path) as tokens:
            token = await tokens.register(**RULES)
            memory = await tokens.memories.get(token)
            await memory.brief(token.scope, "supervisor", "hello")
            detail = await tokens.admin.update(token.grant.id, {"embed_base_url": server.base_url})
            assert not detail.is_switching
            current = await tokens.find(token)
            assert current.formers == ()
            await fill(tokens, current)
            assert await find(tokens, token, TEXTS[0]) == (TEXTS[0], False)
            with psycopg.connect(database_url) as conn:
                assert conn.execute("select count(*) from jobs.queue where name = 'reembed'").fetchone() == (0,)


async def test_a_wrong_address_with_memories(database_url: str, tmp_path: Path) -> None:
    """What was remembered while the embedder was away is found by words, and by vectors once the job has run."""
    with ScriptedOpenAI() as server:
        async with open_tokens(database_url, tmp_path) as tokens:
            token = await tokens.register(**RULES)
            memory = await tokens.memories.get(token)
            await memory.remember(token.scope, TEXTS[1])
            await tokens.admin.update(token.grant.id, {"embed_base_url": server.base_url})
            assert (await find(tokens, token, TEXTS[1]))[0] == TEXTS[1]
            await tokens.work()
            assert await find(tokens, token, TEXTS[1]) == (TEXTS[1], False)
            assert (await tokens.find(token)).formers == ()


async def test_an_operator_switches_the_others(database_url: str, tmp_path: Path) -> None:
    """A switch of the whole database leaves the spaces of tokens and their choice alone."""
    with ScriptedOpenAI() as server:
        async with open_tokens(database_url, tmp_path) as tokens:
            token = await tokens.register(server, **RULES)
            await fill(tokens, token)

            class Other(type(tokens.memory.engine.embedder)):  # type: ignore[misc]
                name = "other-hash"

            async with engine(database_url) as memory:
                await memory.remember(token.scope.__class__(owner="ana"), "The user has a hat")
            before = list_models(database_url)
            memory = tokens.memory.configure(embedder=Other(), model=None, make_former=lambda _: Other())
            async with memory.admin.switch_embedder() as switch:
                assert switch.is_due
                await switch.embed_missing()
                await switch.activate_embedder()
                await switch.move_vectors()
            assert list_models(database_url) == before - {"hash-256"} | {"other-hash"}
            assert await find(tokens, token, TEXTS[0]) == (TEXTS[0], False)


async def test_asked_all_the_while(database_url: str, tmp_path: Path) -> None:
    """Questions and writes beside the switch: none fails, and none is answered without vectors."""
    with ScriptedOpenAI(latency=0.01) as server:
        async with open_tokens(database_url, tmp_path) as tokens:
            token = await tokens.register(server, **RULES)
            await fill(tokens, token)
            await tokens.admin.update(token.grant.id, {"embed_body": {"model": "second"}})
            switching = asyncio.create_task(tokens.work())
            asked = 0
            while not switching.done() or asked < 5:
                assert await find(tokens, token, TEXTS[asked % 3]) == (TEXTS[asked % 3], False)
                asked += 1
            await switching
            assert list_models(database_url) == {"second"}
            assert await find(tokens, token, TEXTS[0]) == (TEXTS[0], False)
