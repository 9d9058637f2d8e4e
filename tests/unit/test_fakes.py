"""The fakes tell things apart, repeat themselves exactly, and say so when a script has ended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given, strategies as st

from muniment.memory.errors import BadConfig, ModelRateLimited, ModelUnavailable
from muniment.memory.models.clock import SystemClock
from muniment.memory.models.hash_embedder import HashEmbedder, hash_vector
from muniment.memory.ports.llm import ChatAnswer, ChatMessage, Tool
from muniment.testing.fakes import FixedClock, ScriptedChat

ASK = [ChatMessage(role="user", content="Where do I live?")]


def cosine(a: str, b: str) -> float:
    return float(hash_vector(a) @ hash_vector(b))


@given(st.text())
def test_any_text_has_a_finite_unit_vector_that_never_changes(text: str) -> None:
    """Emoji, control characters and nothing at all included."""
    vector = hash_vector(text)
    assert vector.shape == (256,)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert np.array_equal(vector, hash_vector(text))


def test_the_vector_is_the_same_in_every_process() -> None:
    """A pinned value: Python's own hash would differ with each start."""
    assert int(np.argmax(np.abs(hash_vector("Berlin", 16)))) == 7


@pytest.mark.parametrize(
    ("near", "text", "far"),
    [
        (
            "The user prefers to work out in the morning.",
            "The user prefers morning workouts.",
            "The user prefers coffee.",
        ),
        ("Anna is the sister of the user.", "The user's sister is Anna.", "The user's brother is Paul."),
        ("用户爱喝绿茶。", "用户喜欢喝绿茶。", "用户住在上海。"),
        ("ユーザーは緑茶が好き", "ユーザーは緑茶を飲む", "会議は金曜日です"),
    ],
)
def test_shared_content_is_nearer_than_shared_grammar(near: str, text: str, far: str) -> None:
    """In English, Chinese and Japanese."""
    assert cosine(text, near) > cosine(text, far) + 0.2


def test_case_and_width_do_not_matter() -> None:
    """ＢＥＲＬＩＮ in full-width letters is Berlin."""
    assert cosine("ＢＥＲＬＩＮ", "berlin") == pytest.approx(1, abs=1e-6)


async def test_the_embedder_keeps_the_order_and_names_its_size() -> None:
    """One vector per text, and the model's name says how long they are."""
    embedder = HashEmbedder(64)
    first, second = await embedder.embed_documents(["tea", "coffee"])
    assert (embedder.name, first.shape) == ("hash-64", (64,))
    assert np.array_equal(first, await embedder.embed_query("tea"))
    assert not np.array_equal(first, second)
    assert await embedder.embed_documents([]) == []
    await embedder.close()


async def test_a_list_is_answered_in_order_and_then_the_model_is_gone() -> None:
    """The end of a script is a failure, never an empty answer; failures in it are raised."""
    chat = ScriptedChat(["Berlin.", ModelRateLimited(retry_after=2.0), "Again."])
    assert (await chat.chat(ASK)).message.content == "Berlin."
    with pytest.raises(ModelRateLimited) as raised:
        await chat.chat(ASK)
    assert raised.value.data == {"retry_after": 2.0}
    assert (await chat.chat(ASK)).message.content == "Again."
    with pytest.raises(ModelUnavailable):
        await chat.chat(ASK)
    assert [messages for messages, _ in chat.calls] == [tuple(ASK)] * 4


async def test_a_function_sees_messages_and_tools() -> None:
    """What it returns may be a text, a message or a whole answer."""
    tool = Tool(name="memory_query", description="Look it up.", parameters={"type": "object"})

    def script(messages: object, tools: object) -> ChatAnswer:
        assert (messages, tools) == (ASK, [tool])
        return ChatAnswer(message=ChatMessage(role="assistant", content="Oslo."), model="other", input_tokens=7)

    answer = await ScriptedChat(script).chat(ASK, [tool])
    assert (answer.message.content, answer.model, answer.input_tokens) == ("Oslo.", "other", 7)


def test_a_fixed_clock_moves_only_when_told() -> None:
    """In seconds, and always in UTC."""
    clock = FixedClock(datetime(2026, 5, 4, 14, tzinfo=timezone(timedelta(hours=2))))
    assert clock.now() == clock.now() == datetime(2026, 5, 4, 12, tzinfo=UTC)
    assert clock.now().tzinfo is UTC
    assert clock.advance(90) == clock.now() == datetime(2026, 5, 4, 12, 1, 30, tzinfo=UTC)


def test_a_clock_without_a_zone_is_refused() -> None:
    """A naive time means something else on every machine."""
    with pytest.raises(BadConfig):
        FixedClock(datetime(2026, 5, 4))  # noqa: DTZ001


def test_the_system_clock_is_utc_and_does_not_stand_still() -> None:
    """Between two looks it has not gone back."""
    clock = SystemClock()
    before = clock.now()
    assert before.tzinfo is UTC
    assert before <= clock.now()
