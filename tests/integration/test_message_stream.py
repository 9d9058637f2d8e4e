"""A session as one stream of messages: each is stored once, whatever a client sends again."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from muniment.faces.proxy.exchange import Exchange
from muniment.faces.proxy.history import add_history
from muniment.faces.proxy.messages import make_message, make_turns
from muniment.faces.proxy.storing import StoringOrder, store_exchange
from muniment.memory.client import Memory
from muniment.memory.domain.ids import Vector
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine

DAY = timedelta(days=1)
TOKEN = "00000000000000000000000000000abc"
WHO = Scope(tenant=f"token-{TOKEN}", owner="token", session="proxy")
TOKENS = (TOKEN, "1" * 32, "2" * 32, *(f"{n:032x}" for n in range(3)))  # whose memories are written
Message = Mapping[str, Any]


def add_tokens(database_url: str) -> None:
    """Add the tokens whose memories are written."""
    with psycopg.connect(database_url) as conn:
        for token in TOKENS:
            conn.execute(
                "insert into muniment.tokens (token_id, digest, tenant_id, owner_id, agents, scopes, created_at)"
                " values (%s::uuid, sha256(%s), %s, 'token', '{}', '{read,write}', now())",
                (token, token.encode(), f"token-{token}"),
            )


@pytest.fixture(autouse=True)
def tokens(database_url: str) -> None:
    """The tokens that there are."""
    add_tokens(database_url)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOON)


@pytest.fixture
async def memory(database_url: str, clock: FixedClock) -> AsyncIterator[Memory]:
    async with engine(database_url, clock=clock) as opened:
        yield opened


def user(text: Any, **more: Any) -> Message:
    return {"role": "user", "content": text, **more}


def assistant(text: Any, *calls: Message, **more: Any) -> Message:
    return {"role": "assistant", "content": text, **({"tool_calls": [*calls]} if calls else {}), **more}


def call(id_: str, name: str = "find", arguments: str = "{}") -> Message:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(id_: str, text: Any = "done") -> Message:
    return {"role": "tool", "tool_call_id": id_, "content": text}


async def append(memory: Memory, *messages: Message, who: Scope = WHO, days: int | None = None) -> list[str]:
    turns = make_turns(messages, session="proxy", at=memory.now())
    return [turn.text for turn in await memory.sessions.append_messages(who, turns, days=days)]


async def read(memory: Memory, size: int = 1_000, who: Scope = WHO) -> list[dict[str, Any]]:
    return [make_message(turn) for turn in await memory.sessions.read_window(who, size)]


def look(url: str, query: str, *values: Any, space: Any = WHO.space) -> list[dict[str, Any]]:
    """Rows as the application sees them, which has entered a space."""
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as conn:
        conn.execute("select muniment.enter_space(%s, null), set_config('role', 'muniment_app', true)", (space,))
        return conn.execute(query, values).fetchall()


async def test_a_history_that_is_sent_again_is_stored_once(memory: Memory) -> None:
    """Of each request only what is new is appended, in its order, tool calls and results with their ids."""
    said: list[Message] = [{"role": "system", "content": "Be kind."}, user("What is the weather in Porto?")]
    assert await append(memory, *said, assistant(None, call("c1"), call("c2"))) == ["What is the weather in Porto?", ""]
    said += [assistant(None, call("c1"), call("c2")), result("c2", "rain"), result("c1", "wind")]
    assert await append(memory, *said, assistant("Rain and wind.")) == ["rain", "wind", "Rain and wind."]
    assert await append(memory, *said, assistant("Rain and wind.")) == []
    assert await read(memory) == [*said[1:], assistant("Rain and wind.")]
    assert await read(memory, 2) == [result("c1", "wind"), assistant("Rain and wind.")]


async def test_the_same_call_in_other_json_is_the_same(memory: Memory) -> None:
    """A client that writes arguments, an absent content or the order of members its own way sends no new message."""
    await append(memory, user("Go."), assistant(None, call("c1", arguments='{"a": [1, 2], "b": "é"}')))
    again = {
        "tool_calls": [
            {"function": {"arguments": '{"b":"\\u00e9","a":[1,2]}', "name": "find"}, "id": "c1", "type": "function"}
        ],
        "content": "",
        "refusal": None,
        "role": "assistant",
    }
    assert await append(memory, user("Go."), again, result("c1"), assistant("Gone.")) == ["done", "Gone."]
    assert await append(memory, user("Go."), assistant(None, call("c1", arguments='{"a": [2, 1]}'))) == [""]


async def test_two_requests_at_once_store_their_history_once(database_url: str) -> None:
    """Twelve requests over three connections' worth of engines with one history leave each message once, in order."""
    said = [user("One."), assistant("Two."), user("Three.")]
    async with engine(database_url) as first, engine(database_url) as second:
        tasks = [append(memory, *said, assistant(f"Answer {n}.")) for n in range(6) for memory in (first, second)]
        added = await asyncio.gather(*tasks)
        texts = [message["content"] for message in await read(first)]
        turns = await first.sessions.read_window(WHO, 100)
    assert sorted(text for texts_ in added for text in texts_) == sorted(texts)
    assert texts[:3] == ["One.", "Two.", "Three."]
    assert sorted(texts[3:]) == [f"Answer {n}." for n in range(6)]
    assert [turn.position for turn in turns] == list(range(9))


async def test_a_repeat_is_known_among_the_last_two_hundred(memory: Memory) -> None:
    """A new message that equals one of the last 200 is skipped, one older is stored again; as history it is known."""
    await append(memory, user("ok"), assistant("Fine."))
    assert await append(memory, user("ok"), assistant("Fine.")) == []
    for n in range(99):
        assert len(await append(memory, user(f"q{n}"), assistant(f"a{n}"))) == 2
    assert await append(memory, user("ok")) == []  # the 200th
    assert await append(memory, user("one more")) == ["one more"]
    assert await append(memory, user("ok"), assistant("Fine."), user("and now?")) == ["and now?"]
    assert await append(memory, user("ok")) == ["ok"]


async def test_parts_and_reasoning(memory: Memory, database_url: str) -> None:
    """Texts of parts are stored, of an image that it was there, of reasoning nothing."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJDREVGSEFMTE8="}}
    other = {"type": "image_url", "image_url": {"url": "data:image/png;base64,WFlaWFlaWFlaWFo="}}
    asked = user([{"type": "text", "text": "What is this?"}, image], name="ana")
    thought = [{"type": "thinking", "thinking": "SECRET THOUGHT"}, {"type": "text", "text": "A cat."}]
    answer = assistant(thought, reasoning_content="SECRET THOUGHT", reasoning="SECRET THOUGHT")
    assert await append(memory, asked, answer) == ["What is this?", "A cat."]
    assert await append(memory, asked, assistant("A cat."), user([image])) == [""]
    assert await append(memory, user([{"type": "text", "text": "What is this?"}, other], name="ana")) == [
        "What is this?"
    ]
    window = await read(memory)
    assert window[:3] == [user("What is this?\n[image_url]", name="ana"), assistant("A cat."), user("[image_url]")]
    rows = str(look(database_url, "select t::text from muniment.turns t"))
    assert "What is this?" in rows
    assert "THOUGHT" not in rows
    assert "QUJDREVG" not in rows


async def test_stored_is_redacted_and_known_again(memory: Memory, database_url: str) -> None:
    """No secret of a text, of arguments, of a result or of an id is stored; all the same each is known again, and the
    chain of calls stays one."""
    card = "4111111111111111"
    said = [
        user("My password is hunter22x, keep it."),
        user("“Curly”\x00"),
        assistant(None, call(f"call_{card}", "login", '{"password":"tiger99","note":"“so”"}')),
        result(f"call_{card}", '{"token": "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"}'),
    ]
    await append(memory, *said, assistant("Done."))
    assert await append(memory, *said, assistant("Done."), user("Next?")) == ["Next?"]
    rows = str(look(database_url, "select t::text from muniment.turns t"))
    for secret in ("hunter22x", "tiger99", "ghp_aB3", card):
        assert secret not in rows
    _, curly, called, answered, *_ = await read(memory)
    assert curly["content"] == "“Curly”\ufffd"
    (one,) = called["tool_calls"]
    assert one["id"] == answered["tool_call_id"]
    assert one["function"]["arguments"].startswith("{")
    window = await memory.sessions.read_window(WHO, 50)
    assert await add_history(memory, WHO, [*said, assistant("Done."), user("Next?")], window) == [
        *said,
        assistant("Done."),
        user("Next?"),
    ]


async def test_the_view_of_messages(memory: Memory, database_url: str) -> None:
    """Its columns are those of the document; the hash is of role, content and metadata; others see nothing."""
    await append(memory, user("Hello."), assistant("Hi.", call("c1")))
    await append(memory, user("Other."), who=Scope(tenant="token-" + "1" * 32, owner="token", session="proxy"))
    rows = look(database_url, "select * from muniment.messages order by id")
    assert [*rows[0]] == ["id", "token_id", "role", "content", "metadata", "created_at", "hash"]
    assert {row["token_id"].hex for row in rows} == {TOKEN}
    assert [(row["id"], row["role"], row["content"]) for row in rows] == [
        (0, "user", "Hello."),
        (1, "assistant", "Hi."),
    ]
    assert rows[1]["metadata"] == {"tool_calls": [call("c1")]}
    assert rows[0]["hash"] == hashlib.md5(b"user\x00Hello.\x00").hexdigest()
    assert rows[0]["created_at"] == NOON - timedelta(microseconds=1)
    with pytest.raises(psycopg.Error):
        look(database_url, "delete from muniment.messages")
    with psycopg.connect(database_url, row_factory=psycopg.rows.dict_row) as conn:
        conn.execute(
            "select muniment.enter_space(%s, %s), set_config('role', 'muniment_app', true)", (WHO.space, ["goals"])
        )
        assert conn.execute("select * from muniment.messages").fetchall() == []


@pytest.mark.parametrize("days", [None, 30])
async def test_a_stream_has_days_of_its_own(memory: Memory, clock: FixedClock, days: int | None) -> None:
    """Maintenance leaves it for ever, or for the token's days, not for those of other sessions."""
    await append(memory, user("I live in Porto."), assistant("Nice."), days=days)
    for passed, left in ((29, 2), (2, 2 if days is None else 0), (4_000, 2 if days is None else 0)):
        clock.advance(passed * DAY.total_seconds())
        await memory.sessions.engine.session_keeper.end_idle(WHO)
        await memory.admin.maintain(WHO)
        assert len(await read(memory)) == left


async def test_an_end_does_not_split_the_stream(memory: Memory, clock: FixedClock) -> None:
    """After it was idle for days the window has what was before, and repeats are still known."""
    await append(memory, user("I live in Porto."), assistant("Nice."))
    clock.advance(DAY.total_seconds())
    assert await memory.sessions.engine.session_keeper.end_idle(WHO) == 1
    assert (await memory.sessions.get(WHO, "proxy")).session.ended_why == "idle"
    clock.advance(60)
    assert await append(memory, user("I live in Porto."), assistant("Nice."), user("And?")) == ["And?"]
    session = (await memory.sessions.get(WHO, "proxy")).session
    assert (session.ended_at, session.turns) == (None, 3)
    assert [message["content"] for message in await read(memory)] == ["I live in Porto.", "Nice.", "And?"]


async def test_an_export_brings_the_stream(memory: Memory) -> None:
    """What was imported elsewhere is known again there."""
    await append(memory, user("Hello."), assistant(None, call("c1")))
    rows = await memory.export(WHO)
    ben = Scope(tenant="token-" + "2" * 32, owner="token", session="proxy")
    await memory.load(ben, rows)
    assert await append(memory, user("Hello."), assistant(None, call("c1")), result("c1"), who=ben) == ["done"]


async def test_bad_calls(memory: Memory) -> None:
    """A scope without a session and a window of no size are refused, by their names."""
    with pytest.raises(BadInput, match="session"):
        await memory.sessions.append_messages(Scope(owner="ana"), make_turns([user("x")], session="s", at=NOON), days=1)
    with pytest.raises(BadInput, match="size: is -1"):
        await memory.sessions.read_window(WHO, -1)
    assert await memory.sessions.read_window(WHO, 0) == []


def exchange(messages: Sequence[Message], answer: Message | None = None, **more: Any) -> Exchange:
    values: dict[str, Any] = {
        "request_id": "0123abcd", "recalled": (), "usage": None, "memories": 0, "bytes_in": 0, "bytes_out": 0,
        "seconds": 0.5, "status": 200, "at": NOON,
    }  # fmt: skip
    return Exchange(messages=tuple(messages), answer=answer, **values | more)


async def store(memory: Memory, exchanged: Exchange, timeout: float = 30) -> None:
    await store_exchange(memory, WHO, exchanged, days=None, timeout_seconds=timeout)


async def read_memories(memory: Memory) -> list[str]:
    return sorted(each.text for each in await memory.list(WHO))


async def test_the_rules_learn_from_new_messages_of_the_user(memory: Memory) -> None:
    """Once, however often they are sent; never from the answer or from tools; a short answer with what it answers."""
    said = [user("I am lactose intolerant."), assistant("Nice! Where do you live?")]
    await store(memory, exchange(said[:1], said[1]))
    first = await read_memories(memory)
    assert any("lactose" in text for text in first)
    assert not any("Porto" in text for text in first)
    await store(memory, exchange([user("Porto")], assistant("The user's sister is Anna.")))
    second = await read_memories(memory)
    assert any("Porto" in text for text in second), second
    assert not any("Anna" in text for text in second)
    history = await memory.history(WHO)
    for _ in range(2):
        await store(memory, exchange([*said, user("Porto")], assistant("The user's sister is Anna.")))
    assert await memory.history(WHO) == history
    assert len(await read(memory)) == 4
    for each in await memory.list(WHO):  # what a person forgets does not come back with the history of a client
        await memory.forget(WHO, each.id)
    await store(memory, exchange([*said, user("Porto")], assistant("The user's sister is Anna.")))
    assert await read_memories(memory) == []


async def test_what_is_not_to_be_stored_is_not(memory: Memory) -> None:
    """Nothing of a private exchange; of one that was cut off no answer."""
    await store(memory, exchange([user("I live in Rome.")], assistant("Oh."), is_stored=False))
    assert (await read(memory), await read_memories(memory)) == ([], [])
    await store(memory, exchange([user("I live in Porto.")], None))
    assert await read(memory) == [user("I live in Porto.")]


async def test_the_answer_has_the_prints_of_what_was_recalled(memory: Memory) -> None:
    """So that what memory put there is not learned from it, and a user's message has none."""
    await store(memory, exchange([user("Where?")], assistant("In Porto."), recalled=("The user lives in Porto.",)))
    asked, answered = await memory.sessions.read_window(WHO, 2)
    assert not asked.recalled
    assert answered.recalled == memory.conversation.shingle_hashes("The user lives in Porto.")


class BlockedEmbedder(HashEmbedder):
    """It embeds nothing before it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.released = asyncio.Event()

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        await self.released.wait()
        return await super().embed_documents(texts)


async def test_a_token_that_learns_slowly_holds_up_nobody(database_url: str) -> None:
    """Exchanges are appended in the order in which they ended, whoever else is still being learned from."""
    embedder, order = BlockedEmbedder(), StoringOrder()
    others = [replace(WHO, tenant=f"token-{n:032x}") for n in range(3)]

    def begin(opened: Memory, who: Scope, text: str) -> asyncio.Task[None]:
        announced = order.announce_exchange(who)
        exchanged = exchange([user(text)], assistant(f"Answer to {text}"))
        return asyncio.create_task(
            store_exchange(opened, who, exchanged, days=None, timeout_seconds=60, announcement=announced)
        )

    async with engine(database_url, embedder=embedder) as memory:
        tasks = [begin(memory, WHO, f"My lucky number is {n}.") for n in range(20)]
        tasks += [begin(memory, who, "I live in Porto.") for who in others]
        async with asyncio.timeout(20):
            for who in (WHO, *others):
                await order.wait_for_exchanges(who)
        assert not any(task.done() for task in tasks)
        numbers = [message["content"] for message in await read(memory) if message["role"] == "user"]
        assert numbers == [f"My lucky number is {n}." for n in range(20)]
        for who in others:
            assert len(await read(memory, who=who)) == 2
        embedder.released.set()
        await asyncio.gather(*tasks)
        assert len(await memory.list(others[0])) > 0


async def test_a_failure_is_one_line(memory: Memory, caplog: pytest.LogCaptureFixture, database_url: str) -> None:
    """A database that refuses, one that is slow, and a defect: one line with the id of the request, and no text."""
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("begin; lock table muniment.turns in access exclusive mode")
        await store(memory, exchange([user("I live in Porto.")], assistant("Nice.")), timeout=0.3)
        conn.execute("rollback; alter table muniment.turns rename to hidden")
    await store(memory, exchange([user("I live in Porto.")], assistant("Nice.")))
    lines = [record.getMessage() for record in caplog.records if "0123abcd" in record.getMessage()]
    assert len(lines) == len([record for record in caplog.records if record.levelname == "ERROR"]) == 2, caplog.text
    assert "within 0.3 s" in lines[0]
    assert "Porto" not in caplog.text
