"""Extraction by a model over real HTTP: what it adds to the rules, and what becomes of every way in which it can
fail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from pydantic import SecretStr

from muniment.memory.client import Memory
from muniment.memory.domain.ids import TurnId, Vector
from muniment.memory.domain.memory import is_note
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import (
    BadExtraction,
    BadModelAnswer,
    ModelError,
    ModelRateLimited,
    ModelTimeout,
    ModelUnavailable,
    NotFound,
)
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.testing.openai_server import Replies, ScriptedOpenAI, structured
from tests.answers import fact
from tests.engine import NOON, engine, said, scope

TOLD = "I moved to Lisbon yesterday with my wife Maria. She teaches pottery to refugees."


def facts(*some: dict[str, Any]) -> str:
    return json.dumps({"facts": list(some)}, ensure_ascii=False)


MOVED = fact(
    "The user moved to Lisbon on 3 May 2026", kind="event", predicate="moved_to", object="Lisbon", category="event"
)
SPOUSE = fact(
    "The user's wife is Maria",
    kind="relationship",
    predicate="wife",
    object="Maria",
    persons=["Maria"],
    category="relationships",
    single=True,
)
POTTERY = fact(
    "Maria teaches pottery to refugees",
    kind="relationship",
    predicate="teaches",
    object="pottery",
    subject="user's wife",
    persons=["Maria"],
    category="relationships",
)


@asynccontextmanager
async def listening(url: str, reply: Replies, **more: Any) -> AsyncIterator[tuple[Memory, ScriptedOpenAI]]:
    """An engine whose model is at a scripted server."""
    with ScriptedOpenAI(reply, **more) as server:
        model = OpenAIChat(
            "tiny-1", api_key=SecretStr("k"), base_url=server.base_url, timeout_seconds=1.0, max_retries=0
        )
        async with engine(url, model=model) as memory:
            yield memory, server


def added(receipt: Receipt) -> list[str]:
    """The new memories of a receipt; a note whose words they hold goes as they come."""
    assert {change.action for change in receipt.changes} <= {"ADD", "DELETE"}
    assert all(is_note(change.after.fact) for change in receipt.changes if change.action == "DELETE")
    return [change.after.text for change in receipt.changes if change.action == "ADD"]


async def texts(memory: Memory, who: Scope) -> set[str]:
    return {one.text for one in await memory.list(who)}


async def recorded(memory: Memory, text: str = TOLD) -> Turn:
    """A turn in the ledger that the rules have learned from."""
    turn = said(text)
    await memory.conversation.record(scope(), [turn])
    await memory.learn(scope(), turn)
    return turn


async def test_the_model_adds_to_what_the_rules_found_and_doubles_nothing(database_url: str) -> None:
    """The same facts have the same keys from both; what only the model sees is new."""
    async with listening(database_url, facts(MOVED, SPOUSE, POTTERY)) as (memory, server):
        turn = await recorded(memory)
        before = await texts(memory, scope())
        [note] = [one.text for one in await memory.list(scope()) if is_note(one.fact)]
        assert len(before - {note}) == 2
        receipt = await memory.jobs.extract(scope(), turn.id)
        assert added(receipt) == ["Maria teaches pottery to refugees"]
        assert await texts(memory, scope()) == before - {note} | {"Maria teaches pottery to refugees"}
        again = await memory.jobs.extract(scope(), turn.id)
    assert again.replayed
    assert len(server.requests) == 1


async def test_the_model_is_asked_as_the_prompt_says(database_url: str) -> None:
    """The turn with its neighbours, its time, the categories, and the form; temperature 0."""
    async with listening(database_url, facts()) as (memory, server):
        asked = Turn.make(session="A", key="q", role="assistant", text="Who came with you?", at=NOON, thread="A")
        turn = said("My wife Maria.", key="a", at=NOON.replace(minute=1))
        later = said("Where is the station?", key="b", at=NOON.replace(minute=2))
        await memory.conversation.record(scope(), [asked, turn, later])
        await memory.jobs.extract(scope(), turn.id)
    body = server.requests[0].body
    told = json.loads(body["messages"][1]["content"])
    assert [(one["turn"], one["role"], one["text"]) for one in told["conversation"]] == [
        (1, "assistant", "Who came with you?"),
        (2, "user", "My wife Maria."),
    ]
    assert (told["said_at"], told["extract_from"]) == ("2026-05-04T12:01:00+00:00", [2])
    assert told["categories"]["relationships"] == "Relationships"
    assert body["temperature"] == 0
    assert body["response_format"]["json_schema"]["strict"] is True


async def test_a_long_paste_is_shown_in_part(database_url: str) -> None:
    """Its beginning and its end, so that it fits a model; a long neighbour in fewer words."""
    async with listening(database_url, facts()) as (memory, server):
        before = Turn.make(session="A", key="q", role="assistant", text="b" * 9_000, at=NOON, thread="A")
        turn = said(f"I sent {'x' * 50_000} to Ana", at=NOON.replace(minute=1))
        await memory.conversation.record(scope(), [before, turn])
        await memory.jobs.extract(scope(), turn.id)
    shown = json.loads(server.requests[0].body["messages"][1]["content"])["conversation"]
    assert [len(one["text"]) < most for one, most in zip(shown, (4_100, 24_100), strict=True)] == [True, True]
    assert shown[1]["text"].startswith("I sent x")
    assert shown[1]["text"].endswith("x to Ana")


async def test_a_turn_that_is_not_in_the_ledger_cannot_be_read(database_url: str) -> None:
    async with listening(database_url, facts()) as (memory, server):
        with pytest.raises(NotFound):
            await memory.jobs.extract(scope(), TurnId(said("x").id))
    assert server.requests == []


FAILURES: list[tuple[dict[str, Any], type[ModelError]]] = [
    ({"fail": "rate_limit", "retry_after": 7}, ModelRateLimited),
    ({"fail": "server_error"}, ModelUnavailable),
    ({"fail": "overloaded"}, ModelUnavailable),
    ({"fail": "unauthorized"}, ModelUnavailable),
    ({"fail": "drop"}, ModelUnavailable),
    ({"fail": "bad_request"}, ModelError),
    ({"fail": "cut_off"}, BadModelAnswer),
    ({"fail": "too_long"}, BadModelAnswer),
    ({"fail": "wrong_schema"}, BadModelAnswer),
    ({"fail": "empty"}, BadModelAnswer),
    ({"fail": "refusal"}, BadModelAnswer),
    ({"latency": 1.5}, ModelTimeout),
    ({"reply": "I found nothing to tell."}, BadExtraction),
    ({"reply": '{"facts": "none"}'}, BadExtraction),
    ({"reply": facts(MOVED)[:-9]}, BadExtraction),
]


@pytest.mark.parametrize(("script", "error"), FAILURES, ids=[str(script)[1:25] for script, _ in FAILURES])
async def test_a_failing_model_has_a_name_and_costs_no_fact(
    database_url: str, script: dict[str, Any], error: type[ModelError]
) -> None:
    """What the rules found is there, the failure is typed, and the same turn can be read as soon as the model is
    back."""
    async with listening(database_url, **({"reply": facts(POTTERY)} | script)) as (memory, _):
        turn = await recorded(memory)
        ruled = await texts(memory, scope())
        with pytest.raises(ModelError) as raised:
            await memory.jobs.extract(scope(), turn.id)
        assert type(raised.value) is error
        assert "Lisbon" not in f"{raised.value!r} {raised.value.data}"
        assert await texts(memory, scope()) == ruled != set()
    if error is ModelRateLimited:
        assert raised.value.data["retry_after"] == 7
    async with listening(database_url, facts(POTTERY)) as (memory, _):
        receipt = await memory.jobs.extract(scope(), turn.id)
        assert len(added(receipt)) == 1
        assert not receipt.replayed


@pytest.mark.parametrize(
    ("wrap", "unknown", "asked"),
    [
        ({}, (), 1),
        ({"fenced": True}, (), 1),
        ({"surrounded": True}, (), 1),
        ({"fenced": True, "surrounded": True}, ("response_format",), 2),
        ({"fenced": True, "surrounded": True}, ("response_format", "temperature"), 3),
    ],
)
async def test_endpoints_that_only_know_text_will_do(
    database_url: str, wrap: dict[str, bool], unknown: Sequence[str], asked: int
) -> None:
    """A fenced or surrounded object is read; what an endpoint refuses it is not asked for again."""
    reply = structured({"facts": [POTTERY]}, **wrap)
    async with listening(database_url, reply, unknown=unknown) as (memory, server):
        for text in (TOLD, f"Hello. {TOLD}"):
            turn = await recorded(memory, text)
            await memory.jobs.extract(scope(), turn.id)
        assert "Maria teaches pottery to refugees" in await texts(memory, scope())
    assert len(server.requests) == asked + 1


async def test_what_is_not_right_is_counted_and_marked(database_url: str) -> None:
    """The receipt and the ledger of extractions say how many were found, repaired and refused, and by which prompt."""
    wrong = [fact("You live in Rome", object="Rome"), fact("We moved"), fact("The user sings", confidence=0.1)]
    async with listening(database_url, facts(fact("I teach pottery"), *wrong)) as (memory, _):
        turn = await recorded(memory, "I teach pottery.")
        receipt = await memory.jobs.extract(scope(), turn.id)
        rows = await extractions(database_url)
    assert added(receipt) == ["The user teaches pottery"]
    assert [change.action for change in receipt.changes] == ["ADD", "DELETE"]  # it takes the place of the note
    assert receipt.repaired == ("pronoun",)
    assert receipt.refused == ("not in the turn", "first or second person", "low confidence")
    model = next(row for row in rows if row["source"] == "model")
    assert (model["turn_id"], model["found"], model["written"]) == (turn.id, 4, 2)
    assert (model["repaired"], model["refused"]) == (list(receipt.repaired), list(receipt.refused))
    assert (model["prompt"], model["model"]) == ("extract-3", "tiny-1")


async def test_the_rules_leave_their_mark_where_they_wrote(database_url: str) -> None:
    """And none where there was nothing to write."""
    async with engine(database_url) as memory:
        await memory.learn(scope(), said("I live in Lisbon."))
        await memory.learn(scope(), said("The weather was lovely in the hills."))
    [row] = await extractions(database_url)
    assert (row["source"], row["found"], row["written"], row["prompt"]) == ("rules", 1, 1, None)


async def test_nothing_found_is_paid_for_once(database_url: str) -> None:
    """An empty answer is an answer."""
    async with listening(database_url, facts()) as (memory, server):
        turn = await recorded(memory)
        assert (await memory.jobs.extract(scope(), turn.id)).changes == ()
        assert (await memory.jobs.extract(scope(), turn.id)).replayed
    assert len(server.requests) == 1


async def test_small_talk_is_not_paid_for(database_url: str) -> None:
    """The gate stands before the model, too."""
    async with listening(database_url, facts()) as (memory, server):
        turn = said("Hello there!")
        await memory.conversation.record(scope(), [turn])
        assert (await memory.jobs.extract(scope(), turn.id)).skipped == "greeting"
    assert server.requests == []


async def test_two_looks_at_once_are_one(database_url: str) -> None:
    """Both may ask; one is written, in whatever order they come back."""
    async with listening(database_url, facts(POTTERY), latency=0.1) as (memory, _):
        turn = await recorded(memory)
        receipts = await asyncio.gather(*(memory.jobs.extract(scope(), turn.id) for _ in range(4)))
        found = [one.text for one in await memory.list(scope())]
    assert sorted(one.replayed for one in receipts) == [False, True, True, True]
    assert found.count("Maria teaches pottery to refugees") == 1


class Crashing(HashEmbedder):
    """An embedder that fails so often, as a process that dies between the model's answer and the commit would look."""

    def __init__(self, often: int) -> None:
        super().__init__()
        self._often = often

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        self._often -= 1
        if self._often >= 0:
            raise RuntimeError("gone")
        return await super().embed_documents(texts)


async def test_a_crash_between_answer_and_commit_loses_and_doubles_nothing(database_url: str) -> None:
    """Nothing is there of the first look; the second one writes it once."""
    with ScriptedOpenAI(facts(POTTERY)) as server:
        model = OpenAIChat("tiny-1", api_key=SecretStr("k"), base_url=server.base_url)
        async with engine(database_url, model=model, embedder=Crashing(2)) as memory:
            turn = said(TOLD)
            await memory.conversation.record(scope(), [turn])
            for _ in range(2):
                with pytest.raises(RuntimeError, match="gone"):
                    await memory.jobs.extract(scope(), turn.id)
                assert await texts(memory, scope()) == set()
            assert len((await memory.jobs.extract(scope(), turn.id)).changes) == 1
            assert (await memory.jobs.extract(scope(), turn.id)).replayed
            history = await memory.history(scope())
    assert [line.action for line in history] == ["ADD"]
    assert len(server.requests) == 3


async def test_a_look_that_is_cancelled_can_be_taken_again(database_url: str) -> None:
    """A worker that stops in the middle of a question leaves the turn as it was."""
    async with listening(database_url, facts(POTTERY), latency=0.5) as (memory, _):
        turn = await recorded(memory)
        task = asyncio.create_task(memory.jobs.extract(scope(), turn.id))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(added(await memory.jobs.extract(scope(), turn.id))) == 1


async def test_without_a_model_the_turn_waits(database_url: str) -> None:
    """An error with a name, and the rules' facts."""
    async with engine(database_url) as memory:
        turn = await recorded(memory)
        with pytest.raises(ModelUnavailable):
            await memory.jobs.extract(scope(), turn.id)


async def test_a_correction_by_the_model_replaces_what_it_corrects(database_url: str) -> None:
    """The same key, the newer value, the old one in the history."""
    first = fact("The user lives in Porto", kind="identity", predicate="resides in", object="Porto", category="profile")
    second = fact("The user lives in Faro", kind="identity", predicate="home city", object="Faro", category="profile")
    async with listening(database_url, [facts(first), facts(second)]) as (memory, _):
        for text in ("My flat, in Porto, has a garden.", "The flat in Faro is home now."):
            turn = said(text, thread=text)
            await memory.conversation.record(scope(thread=text), [turn])
            await memory.jobs.extract(scope(thread=text), turn.id)
        assert await texts(memory, scope()) == {"The user lives in Faro"}
        assert [line.action for line in await memory.history(scope())] == ["UPDATE", "ADD"]


async def test_what_memory_recalled_is_not_learned_from_the_reply(database_url: str) -> None:
    """A statement that only repeats what was put before the model is no news."""
    async with listening(database_url, facts(fact("The user breeds alpacas in Peru", turns=[1, 2]))) as (memory, _):
        turn = said("What do you know of me? I forgot all of it, and the alpacas.", key="q")
        recalled = memory.conversation.shingle_hashes("The user breeds alpacas in Peru")
        reply = Turn.make(
            session="A",
            key="r",
            role="assistant",
            text="You breed alpacas in Peru.",
            at=NOON.replace(minute=1),
            thread="A",
            recalled=recalled,
        )
        await memory.conversation.record(scope(), [turn, reply])
        receipt = await memory.jobs.extract(scope(), turn.id)
    assert (receipt.changes, receipt.refused) == ((), ("not in the turn",))


async def test_secrets_leave_before_the_model_and_after(database_url: str) -> None:
    """Neither the question nor what the model makes of it holds one."""
    key = "sk-proj-" + "a1B2c3D4" * 5
    leak = fact(f"The user's deployment uses the key {key} on Mondays", object="key")
    async with listening(database_url, facts(leak)) as (memory, server):
        turn = await recorded(memory, f"My deployment uses the key {key}, mind you.")
        await memory.jobs.extract(scope(), turn.id)
        kept = json.dumps(await memory.export(scope()), default=str)
    assert key not in json.dumps(server.requests[0].body)
    assert key not in kept


async def extractions(url: str) -> list[dict[str, Any]]:
    """The rows of the extractions, as the owner of the tables sees them."""
    async with await psycopg.AsyncConnection.connect(url, row_factory=dict_row) as conn:
        await conn.execute("set row_security = off")
        return await (await conn.execute("select * from muniment.extractions order by source")).fetchall()


async def test_a_look_is_one_signal(database_url: str) -> None:
    """A model that names turns which say something else corroborates nothing: a benign field takes a second saying."""
    goal = "The user wants to run a marathon in June 2027"
    made = fact(goal, kind="goal", predicate="wants_to", object="run a marathon in June 2027", category="goals")
    lunch, again = (
        "Lunch with Pedro and the whole team was good.",
        "Still dreaming of that marathon in June 2027, to run it in one go.",
    )
    replies = [facts(made | {"turns": [1]}), facts(made | {"turns": [1, 2]}), facts(made | {"turns": [1, 2, 3]})]
    async with listening(database_url, replies) as (memory, _):
        states = []
        for text, minute in (("To run a marathon in June 2027: that is the dream of mine.", 0), (lunch, 1), (again, 2)):
            turn = said(text, at=NOON.replace(minute=minute))
            await memory.conversation.record(scope(), [turn])
            await memory.jobs.extract(scope(), turn.id)
            states.append({one.decision for one in await memory.list_consents(scope(), decided=True)})
    assert states == [{"pending"}, {"pending"}, {"approved"}]
