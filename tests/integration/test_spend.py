"""The budget of a tenant: reserved before, settled after, never exceeded by more than one request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr

from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.schema import Price
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import Purpose, UsageReport
from muniment.memory.errors import ModelError, ModelUnavailable, OverBudget
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.memory.ports.llm import AnswerForm, ChatAnswer, ChatMessage, ChatModel, Tool
from muniment.testing.fakes import FixedClock, ScriptedChat
from muniment.testing.openai_server import Fails, ScriptedOpenAI
from tests.answers import fact
from tests.engine import NOON, engine, said, scope, settings
from tests.graph.test_trouble import Shut

HELLO = (ChatMessage(role="user", content="Where do I live?"),)
PRICES = {"scripted": Price(input=1.0, output=10.0)}
WORKERS, BUDGET = 16, 6_000


def tuned(url: str, *, tokens: int | None = None, money: float | None = None) -> Settings:
    """The settings with a budget, a price, and answers of at most 200 tokens."""
    base = settings(url)
    limits = base.spend.model_copy(update={"daily_tokens": tokens, "daily_money": money, "prices": PRICES})
    return base.model_copy(update={"spend": limits, "model": base.model.model_copy(update={"max_output_tokens": 200})})


@asynccontextmanager
async def house(
    url: str, *, tokens: int | None = None, money: float | None = None, clock: FixedClock | None = None
) -> AsyncIterator[Memory]:
    async with engine(url, tuned=tuned(url, tokens=tokens, money=money), clock=clock) as memory:
        yield memory


def answering(asked: int, said: int) -> ScriptedChat:
    """A model that always says so many tokens of usage."""
    message = ChatMessage(role="assistant", content="In Lisbon.")
    return ScriptedChat(
        lambda *_: ChatAnswer(message=message, model="scripted-2026", input_tokens=asked, output_tokens=said)
    )


async def ask(memory: Memory, model: ChatModel, purpose: Purpose = "extract", who: Scope | None = None) -> ChatAnswer:
    return await memory.engine.usage_meter.ask_model(who or scope(), purpose, HELLO, model=model)


def charged(books: UsageReport) -> tuple[int, int]:
    """Tokens and micros of all days."""
    return sum(tokens for tokens, _ in books.days.values()), sum(micros for _, micros in books.days.values())


async def test_usage_is_booked_by_day_purpose_and_model(database_url: str) -> None:
    """With no budget, too; for all users of the tenant together, and under the name that has the price."""
    clock = FixedClock(NOON)
    async with house(database_url, clock=clock) as memory:
        await ask(memory, answering(100, 10))
        await ask(memory, answering(50, 5), who=scope("bob"))
        clock.advance(86_400)
        await ask(memory, answering(7, 3), "insight")
        books = await memory.admin.read_usage(scope(), 2)
        assert [
            (one.day.day, one.purpose, one.model, one.requests, one.input_tokens, one.output_tokens, one.micros)
            for one in books.lines
        ] == [(5, "insight", "scripted", 1, 7, 3, 37), (4, "extract", "scripted", 2, 150, 15, 300)]
        assert charged(books) == (175, 337)
        assert [one.purpose for one in (await memory.admin.read_usage(scope(), 1)).lines] == ["insight"]
        assert (await memory.admin.read_usage(scope(tenant="globex"), 2)).lines == ()


class Busy:
    """A model that many use at once; it costs nearly what is reserved, and adds up what it is paid."""

    name = "scripted"

    def __init__(self) -> None:
        self.used = 0

    async def chat(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[Tool] = (),
        *,
        form: AnswerForm | None = None,
    ) -> ChatAnswer:
        await asyncio.sleep(0.001)
        self.used += 20 + 200
        return ChatAnswer(message=messages[0], model=self.name, input_tokens=20, output_tokens=200)

    async def close(self) -> None:
        return None


async def test_many_workers_exceed_the_budget_by_less_than_one_request(database_url: str) -> None:
    """Sixteen workers over two pools ask until they are refused; a check before an addition would let several pass."""
    model = Busy()

    async def work(memory: Memory, who: Scope) -> None:
        with suppress(OverBudget):
            while True:
                await ask(memory, model, "extract", who)

    async with house(database_url, tokens=BUDGET) as one, house(database_url, tokens=BUDGET) as two:
        await asyncio.gather(*(work((one, two)[n % 2], scope(f"user-{n}")) for n in range(WORKERS)))
        books = await one.admin.read_usage(scope(), 1)
    assert BUDGET - 222 < model.used < BUDGET + 222
    assert charged(books)[0] == model.used == sum(one.input_tokens + one.output_tokens for one in books.lines)


async def test_money_is_a_limit_of_its_own(database_url: str) -> None:
    """Answers at ten a million: 2,000 micros of 0.003 leave room for one more, and then there is none."""
    async with house(database_url, money=0.003) as memory:
        for _ in range(2):
            await ask(memory, answering(0, 200))
        with pytest.raises(OverBudget) as refused:
            await ask(memory, answering(0, 200))
        assert refused.value.data == {"tenant": "default", "day": "2026-05-04"}
        assert charged(await memory.admin.read_usage(scope(), 1)) == (400, 4000)


async def test_a_new_day_and_another_tenant_have_budgets_of_their_own(database_url: str) -> None:
    """The day ends at midnight UTC."""
    clock = FixedClock(datetime(2026, 5, 4, 23, 59, 59, tzinfo=UTC))
    async with house(database_url, tokens=100, clock=clock) as memory:
        await ask(memory, answering(90, 10))
        with pytest.raises(OverBudget):
            await ask(memory, answering(90, 10))
        await ask(memory, answering(90, 10), who=scope(tenant="globex"))
        clock.advance(1)
        await ask(memory, answering(90, 10))
        assert set((await memory.admin.read_usage(scope(), 2)).days.values()) == {(100, 190)}


@pytest.mark.parametrize("budget", [None, 5_000])
@pytest.mark.parametrize(
    ("fail", "requests"), [("rate_limit", 0), ("server_error", 0), ("bad_request", 0), ("drop", 1), ("empty", 1)]
)
async def test_a_failure_that_cost_nothing_is_given_back(
    database_url: str, fail: Fails, requests: int, budget: int | None
) -> None:
    """A status of failure is free; a lost or useless answer may be billed, and its estimate stays."""
    with ScriptedOpenAI(fail=fail) as server:
        async with house(database_url, tokens=budget) as memory, openai(server.base_url) as model:
            with pytest.raises(ModelError):
                await ask(memory, model)
            books = await memory.admin.read_usage(scope(), 1)
    assert sum(one.requests for one in books.lines) == requests
    assert (charged(books)[0] > 200) is bool(requests)
    assert charged(books)[0] == sum(one.input_tokens + one.output_tokens for one in books.lines)


async def test_what_was_never_sent_is_free(database_url: str) -> None:
    """Nobody listens at the address: the estimate is given back."""
    async with house(database_url, tokens=5_000) as memory, openai("http://127.0.0.1:1/v1") as model:
        with pytest.raises(ModelUnavailable):
            await ask(memory, model)
        assert charged(await memory.admin.read_usage(scope(), 1)) == (0, 0)


async def test_an_answer_without_usage_keeps_the_estimate(database_url: str) -> None:
    """Some endpoints report none: too much is booked rather than too little."""
    async with house(database_url, tokens=5_000) as memory:
        await ask(memory, answering(0, 0))
        assert 200 < charged(await memory.admin.read_usage(scope(), 1))[0] < 300


@pytest.mark.parametrize(("asked", "told"), [(-1_000_000, 5), (5, -1_000_000), (10**30, 5), (5, 2**63)])
async def test_usage_that_cannot_be_true_keeps_the_estimate(database_url: str, asked: int, told: int) -> None:
    """It neither fills the budget up again nor keeps the books from being written."""
    async with house(database_url, tokens=5_000, money=1.0) as memory:
        for _ in range(2):
            await ask(memory, answering(asked, told))
        tokens, micros = charged(await memory.admin.read_usage(scope(), 1))
    assert 400 < tokens < 600
    assert 4_000 < micros < 6_000


async def test_each_attempt_at_a_reply_is_paid_for(database_url: str) -> None:
    """What was cut off may be billed: it is booked beside the answer, and an attempt without a budget is none."""
    with ScriptedOpenAI(reply="In Lisbon.", fail=["drop", None, "drop"]) as server:
        async with house(database_url, tokens=5_000) as memory, openai(server.base_url) as model:
            assert (await ask(memory, model, "reply")).message.content == "In Lisbon."
            await memory.conversation.flush(scope())
            books = await memory.admin.read_usage(scope(), 1)
        assert [one.requests for one in books.lines] == [2]
        assert charged(books)[0] > 220
        async with house(database_url, tokens=charged(books)[0] + 1) as memory, openai(server.base_url) as model:
            with pytest.raises(OverBudget):
                await ask(memory, model, "reply")
    assert len(server.requests) == 3


async def test_the_configured_model_makes_no_attempts_of_its_own(database_url: str) -> None:
    """They would be in no book."""
    with ScriptedOpenAI(fail="drop") as server:
        tuned = settings(database_url, MUNIMENT_MODEL="scripted", OPENAI_BASE_URL=server.base_url)
        async with bootstrap.create_memory(tuned, clock=FixedClock(NOON)) as memory:
            with pytest.raises(ModelUnavailable):
                await memory.engine.usage_meter.ask_model(scope(), "extract", HELLO)
            books = await memory.admin.read_usage(scope(), 1)
    assert len(server.requests) == sum(one.requests for one in books.lines) == 1


async def test_a_budget_in_money_wants_a_price(database_url: str) -> None:
    """A model whose price is not known would cost nothing, and the budget would never end."""
    model = answering(1, 1)
    base = tuned(database_url, money=1.0)
    priceless = base.model_copy(
        update={"spend": base.spend.model_copy(update={"prices": {"scripted-": PRICES["scripted"]}})}
    )
    async with engine(database_url, tuned=priceless) as memory:
        with pytest.raises(ModelUnavailable, match="price"):
            await ask(memory, model)
    assert model.calls == []


async def test_a_worker_that_dies_leaves_its_estimate_charged(database_url: str) -> None:
    """Cancelled in the middle of a request, or gone without a trace."""

    class Hanging(Busy):
        async def chat(self, *_: object, **__: object) -> ChatAnswer:
            started.set()
            return await asyncio.Future()

    started = asyncio.Event()
    async with house(database_url, tokens=5_000) as memory:
        task = asyncio.create_task(ask(memory, Hanging()))
        await started.wait()
        under_way = await memory.admin.read_usage(scope(), 1)
        assert under_way.lines == ()
        assert charged(under_way)[0] > 200
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        after = await memory.admin.read_usage(scope(), 1)
        assert [one.requests for one in after.lines] == [1]
        assert charged(after) == charged(under_way)


async def test_a_reply_is_settled_when_its_turn_ends(database_url: str) -> None:
    """Nothing is written between the answer and the flush; the next request of a budget sees it all the same."""
    async with house(database_url) as memory:
        model = memory.conversation.meter_model(scope(), answering(100, 10))
        assert model.name == "scripted"
        await model.chat(HELLO)
        assert (await rows(database_url, "select * from muniment.spend")) == []
        await memory.conversation.flush(scope())
        assert charged(await memory.admin.read_usage(scope(), 1)) == (110, 200)
    async with house(database_url, tokens=130) as memory:
        model = memory.conversation.meter_model(scope("bob"), answering(10, 10))
        await model.chat(HELLO)
        with pytest.raises(OverBudget):
            await model.chat(HELLO)


async def test_a_budget_that_cannot_be_read_is_kept(database_url: str) -> None:
    """Without the database the model is not asked when there is a budget, and answers when there is none."""
    nowhere = "postgresql://nobody@127.0.0.1:1/nothing?connect_timeout=1"
    model = answering(1, 1)
    limited = bootstrap.create_memory(tuned(nowhere, tokens=5), clock=FixedClock(NOON))
    with pytest.raises(ModelUnavailable, match="budget cannot be read"):
        await ask(limited, model, "reply")
    assert model.calls == []
    free = bootstrap.create_memory(tuned(nowhere), clock=FixedClock(NOON))
    assert (await ask(free, model)).message.content == "In Lisbon."


async def test_the_default_budget_silences_no_model(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the database is down the model is asked, and its usage is recorded when the database is back."""
    monkeypatch.setattr("muniment.memory.stores.postgres.connection.pool._WAIT_SECONDS", 1.0)
    shut, tuned = Shut(database_url), settings(database_url)
    assert tuned.spend.daily_tokens == 1_000_000
    async with engine(database_url, tuned=tuned) as memory:
        await shut.set(shut=True)
        assert (await ask(memory, answering(100, 10), "reply")).message.content == "In Lisbon."
        await shut.set(shut=False)
        await memory.conversation.flush(scope())
        assert charged(await memory.admin.read_usage(scope(), 1))[0] == 110


async def test_what_a_fact_cost_is_counted_over_the_users_of_a_tenant(database_url: str) -> None:
    """Facts that a model has written, of this tenant's users and of no other's."""
    made = fact("The user teaches pottery", predicate="teaches", object="pottery", kind="skill", category="profile")
    usage: dict[str, Any] = {"input_tokens": 500, "output_tokens": 100}
    said_so = ChatMessage(role="assistant", content=json.dumps({"facts": [made]}))
    model = ScriptedChat(lambda *_: ChatAnswer(message=said_so, model="scripted", **usage))
    async with engine(database_url, tuned=tuned(database_url), model=model) as memory:
        for who in (scope(), scope("bob"), scope(tenant="globex")):
            turn = said("So I teach pottery, and it is a joy.")
            await memory.conversation.record(who, [turn])
            await memory.jobs.extract(who, turn.id)
        books = await memory.admin.read_usage(scope(), 1)
    assert books.facts == 2
    assert charged(books) == (1200, 2 * (500 + 10 * 100))


async def test_no_secret_leaves(database_url: str) -> None:
    """Every message is redacted on its way to a model."""
    model = answering(1, 1)
    async with house(database_url) as memory:
        secret = ChatMessage(role="user", content="my password is hunter2horse, where do I live?")
        await memory.engine.usage_meter.ask_model(scope(), "extract", [secret], model=model)
    assert "hunter2horse" not in str(model.calls)
    assert "where do I live?" in str(model.calls)


@asynccontextmanager
async def openai(url: str) -> AsyncIterator[OpenAIChat]:
    model = OpenAIChat("scripted", api_key=SecretStr("sk-x"), base_url=url, timeout_seconds=5, max_retries=0)
    try:
        yield model
    finally:
        await model.close()


async def rows(url: str, query: str) -> list[tuple[object, ...]]:
    async with await psycopg.AsyncConnection.connect(url) as conn:
        return await (await conn.execute(query)).fetchall()
