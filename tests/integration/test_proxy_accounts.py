"""Accounts of the proxy: what the exchanges of tokens come to, day by day, in the space of each token's tenant."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from typer.testing import CliRunner

from muniment.faces.cli.app import app
from muniment.faces.proxy.accounts import account_exchange, read_usage
from muniment.faces.proxy.exchange import Exchange, Usage
from muniment.memory import bootstrap
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.tokens.config import name_tenant
from muniment.memory.errors import BadInput
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, settings

ONE, TWO = UUID(int=0x1ABC << 112), UUID(int=0x2ABC << 112)
DAY = timedelta(days=1)
EXCHANGE = Exchange(
    request_id="0123abcd",
    messages=(),
    answer=None,
    recalled=(),
    memories=2,
    bytes_in=100,
    bytes_out=1_000,
    seconds=0.25,
    status=200,
    at=NOON,
    usage=Usage(prompt_tokens=50, completion_tokens=7, cached_tokens=20),
)


async def read_days(url: str, token: UUID | None = None, days: int = 30) -> list[Mapping[str, Any]]:
    async with bootstrap.open_proxy_accounts(settings(url), FixedClock(NOON)) as accounts:
        found: list[Mapping[str, Any]] = (await read_usage(accounts, token, days))["days"]
        return found


async def test_a_day_of_a_token_is_the_sum_of_its_exchanges(database_url: str) -> None:
    """Each token and day has a row; what the proxy refused, and what no provider reported, is counted apart."""
    odd = Usage(prompt_tokens=-5, completion_tokens=10**12)
    async with engine(database_url) as memory, bootstrap.run_proxy_accounts(memory) as accounts:
        for exchange in (
            EXCHANGE,
            replace(EXCHANGE, seconds=1.5, at=NOON + timedelta(hours=11)),
            replace(EXCHANGE, usage=None, memories=0),
            replace(EXCHANGE, usage=odd, memories=0),
            replace(EXCHANGE, usage=None, is_refused=True, status=422, memories=0, bytes_out=0, seconds=0),
            replace(EXCHANGE, at=NOON - DAY),
        ):
            await account_exchange(accounts, ONE, exchange)
        await account_exchange(accounts, TWO, EXCHANGE)
        assert await read_days(database_url) == []  # in the buffer
        await asyncio.sleep(1.5)
        first = await read_days(database_url)
        assert len(first) == 3
        await account_exchange(accounts, ONE, EXCHANGE)
    today, other, before = await read_days(database_url)  # the end has written the rest
    assert today == {
        "token_id": str(ONE), "day": "2026-05-04", "requests": 6, "refused": 1, "unreported": 2, "prompt_tokens": 150,
        "cached_tokens": 60, "completion_tokens": 21, "memories": 6, "bytes_in": 600, "bytes_out": 5_000,
        "latency_ms": 2_500, "longest_ms": 1_500,
    }  # fmt: skip
    assert (other["token_id"], before["day"]) == (str(TWO), "2026-05-03")
    assert await read_days(database_url, ONE, 1) == [today]
    with pytest.raises(BadInput, match="days: is 0"):
        await read_days(database_url, days=0)


async def test_a_token_sees_its_own_days(database_url: str) -> None:
    """The application in the space of a tenant sees that tenant's; in none it sees no row, and writes none."""
    async with engine(database_url) as memory, bootstrap.run_proxy_accounts(memory) as accounts:
        for token in (ONE, TWO):
            await account_exchange(accounts, token, EXCHANGE)
    query = "select token_id from muniment.proxy_days"
    with psycopg.connect(database_url) as conn:
        space = Scope(tenant=name_tenant(ONE), owner="token").tenant_space
        conn.execute("select muniment.enter_space(%s, null), set_config('role', 'muniment_app', true)", (space,))
        assert conn.execute(query).fetchall() == [(ONE,)]
        conn.rollback()
        conn.execute("set local role muniment_app")
        assert conn.execute(query).fetchall() == []
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute(
                "insert into muniment.proxy_days select gen_random_uuid(), gen_random_uuid(), now(), "
                "0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0"
            )


async def test_a_database_that_is_away_is_waited_for(database_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """What could not be written is written later, once."""
    async with engine(database_url) as memory, bootstrap.run_proxy_accounts(memory) as accounts:
        await account_exchange(accounts, ONE, EXCHANGE)
        with psycopg.connect(database_url, autocommit=True) as conn:
            conn.execute("alter table muniment.proxy_days rename to hidden")
            await asyncio.sleep(1.3)
            await account_exchange(accounts, ONE, EXCHANGE)
            conn.execute("alter table muniment.hidden rename to proxy_days")
    assert "the accounts are not written" in caplog.text
    (day,) = await read_days(database_url)
    assert (day["requests"], day["prompt_tokens"]) == (2, 100)


async def test_two_processes_add_to_one_day(database_url: str) -> None:
    """Neither loses an exchange of the other, whatever tokens they write first."""
    async with (
        engine(database_url) as memory,
        engine(database_url) as other,
        bootstrap.run_proxy_accounts(memory) as first,
        bootstrap.run_proxy_accounts(other) as second,
    ):
        for _ in range(20):
            for accounts, tokens in ((first, (ONE, TWO)), (second, (TWO, ONE))):
                for token in tokens:
                    await account_exchange(accounts, token, EXCHANGE)
            await asyncio.gather(first.flush(), second.flush())
    assert [day["requests"] for day in await read_days(database_url)] == [40, 40]


def test_usage_at_the_command_line(database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """As a table of all tokens, and as JSON of one by the beginning of its id; a bad beginning is named."""
    monkeypatch.setenv("MUNIMENT_DATABASE_URL", database_url)
    monkeypatch.setenv("MUNIMENT_EMBEDDER", "hash-256")

    async def use() -> None:
        async with engine(database_url) as memory, bootstrap.run_proxy_accounts(memory) as accounts:
            today = bootstrap.create_memory(settings(database_url)).now()
            for token in (ONE, TWO):
                await account_exchange(accounts, token, replace(EXCHANGE, at=today))

    asyncio.run(use())
    runner, command = CliRunner(), ["proxy", "usage", str(tmp_path)]
    lines = runner.invoke(app, command).stdout.splitlines()
    assert [line.split("\t")[1:] for line in lines] == [
        [str(token)[:8], "1", "0", "50", "20", "7", "0", "2", "100", "1,000", "250", "250"] for token in (ONE, TWO)
    ]
    shown = json.loads(runner.invoke(app, [*command, "--token", "2ABC", "--json"]).stdout)
    assert [day["token_id"] for day in shown["days"]] == [str(TWO)]
    refused = runner.invoke(app, [*command, "--token", "xyz"])
    assert "--token" in str(refused.exception)
