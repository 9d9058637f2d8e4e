"""What a checkpoint holds of a thread: everything but its secrets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

import psycopg
import pytest
from hypothesis import given, strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Interrupt, Send

from muniment.graph.checkpointer import open_saver
from muniment.graph.redaction import redact_value
from muniment.memory import bootstrap
from muniment.memory.config.settings import load_settings
from muniment.memory.rules.redaction import secret_names
from tests.graph.conftest import Talk

KEY = "sk-" + "a1B2" * 6
redact = bootstrap.make_redactor()
NAMES = st.text(max_size=5).filter(lambda name: not secret_names.is_secret_name(name))


class Pair(NamedTuple):
    left: str
    right: int


@dataclass(frozen=True, slots=True)
class Frozen:
    id: str
    text: str


@pytest.mark.parametrize(
    "value",
    [
        f"use {KEY}",
        {"a": [{"b": (f"use {KEY}", 1)}]},
        {f"use {KEY}"},
        Pair(f"use {KEY}", 1),
        Frozen("1", f"use {KEY}"),
        HumanMessage(f"use {KEY}", id="m1"),
        HumanMessage([{"type": "text", "text": f"use {KEY}"}, {"type": "image_url", "image_url": "x"}], id="m1"),
        AIMessage("", id="m2", tool_calls=[{"name": "memory_query", "args": {"query": KEY}, "id": "c1"}]),
        AIMessage("", additional_kwargs={"refusal": KEY}, response_metadata={"said": KEY}),
        Send("node", {"messages": [HumanMessage(KEY)]}),
        Interrupt({"consent": [{"value": KEY}]}, id="i1"),
        ValueError(KEY),
    ],
)
def test_a_secret_leaves_every_kind_of_value(value: Any) -> None:
    """Wherever LangGraph may put a text, the secret in it is replaced, and the original is not touched."""
    before = repr(vars(value) if isinstance(value, AIMessage | HumanMessage) else value)
    made = redact_value(value, redact)
    assert KEY not in repr(made)
    assert "[redacted:api_key]" in (repr(made.arg) if isinstance(made, Send) else repr(made))
    assert repr(vars(value) if isinstance(value, AIMessage | HumanMessage) else value) == before
    assert getattr(made, "id", None) == getattr(value, "id", None)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5),
        lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner),
    )
)
def test_what_is_no_secret_stays(value: Any) -> None:
    """Values come back equal and of the same type."""
    assert redact_value(value, redact) == value


def test_an_id_is_no_text() -> None:
    """The digits of an id that would pass for a card or a phone number stay, so that the turn finds its messages."""
    eager = bootstrap.make_redactor(
        load_settings({}).model_copy(update={"redact": load_settings({}).redact.model_copy(update={"phone": True})})
    )
    ids = ["abcd4111-1111-4111-8111-13912345678a", "lc_run--abcd4111-1111-4111-8111-139123456789-0", str(uuid4())]
    assert eager(ids[0]) != ids[0]
    assert redact_value(ids, eager) == ids


async def test_no_secret_is_in_a_checkpoint(talk: Callable[..., Talk], database_url: str) -> None:
    """Neither what was said nor what failed is in any table of the checkpoints; the thread goes on with the marks."""
    async with open_saver(database_url) as saver:
        state = await talk(saver=saver).say(f"My key is {KEY} and I live in Porto.")
        again = await talk(saver=saver).say("Where do I live?")
    assert state["messages"][0].text == "My key is [redacted:api_key] and I live in Porto."
    assert [one.id for one in again["messages"][:2]] == [one.id for one in state["messages"]]
    async with await psycopg.AsyncConnection.connect(database_url) as conn:
        for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"):
            dump = await (await conn.execute(f"select t::text from checkpoints.{table} t")).fetchall()
            assert dump
            held = "".join(
                row
                + "".join(
                    bytes.fromhex(part.split('"')[0].split(",")[0].split(")")[0]).decode("latin-1")
                    for part in row.split("\\x")[1:]
                )
                for (row,) in dump
            )
            assert KEY not in held, table
            assert "Porto" in held or table == "checkpoints"


def test_what_is_nested_too_deeply_to_be_stored() -> None:
    """A message with it can be stored all the same, with all that is above; a secret leaves at any depth."""
    value: Any = KEY
    for n in range(3_000):
        value = {"a": value, "said": f"{n} {KEY}", "password": [n, "quite secret"]}
    message = AIMessage("Look.", id="m1", tool_calls=[{"name": "look", "args": {"in": value, "at": "it"}, "id": "c1"}])
    (held,) = redact_value([message], redact)
    serde = JsonPlusSerializer()
    again = serde.loads_typed(serde.dumps_typed([held]))
    assert again == [held]
    (call,) = again[0].tool_calls
    assert (again[0].text, call["args"]["at"]) == ("Look.", "it")
    made = call["args"]["in"]
    for n in reversed(range(2_920, 3_000)):
        assert made["said"] == f"{n} [redacted:api_key]"
        made = made["a"]
    assert KEY not in repr(again)
    assert "quite secret" not in repr(again)
    assert message.tool_calls[0]["args"]["in"] is value
