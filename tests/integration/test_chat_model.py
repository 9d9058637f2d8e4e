"""The chat model over real HTTP: the real client against a scripted server, every failure with its name."""

from __future__ import annotations

import asyncio
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import SecretStr

from muniment.memory.errors import (
    BadInput,
    BadModelAnswer,
    ModelError,
    ModelRateLimited,
    ModelTimeout,
    ModelUnavailable,
)
from muniment.memory.models.openai.batches import OpenAIBatches
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.memory.ports.llm import AnswerForm, ChatMessage, Tool, ToolCall
from muniment.testing.openai_server import ScriptedOpenAI, structured, tool_call

KEY = "sk-test-3f9a1c77"
SECRET = "my locker code is 4417"
ASK = [ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content=SECRET)]
LOOK = Tool(
    name="memory_query",
    description="Look it up.",
    parameters={"type": "object", "properties": {"text": {"type": "string"}}},
)


@asynccontextmanager
async def chat_with(base_url: str, *, timeout: float = 5.0, retries: int = 0) -> AsyncIterator[OpenAIChat]:
    chat = OpenAIChat(
        "tiny-1",
        api_key=SecretStr(KEY),
        base_url=base_url,
        timeout_seconds=timeout,
        max_retries=retries,
        max_output_tokens=50,
    )
    try:
        yield chat
    finally:
        await chat.close()


async def test_a_text_comes_back_with_its_cost() -> None:
    """And the request holds the messages, the model, the limit and the key where the protocol wants them."""
    with ScriptedOpenAI(reply="You live in Zürich 🏔.") as server:
        async with chat_with(server.base_url) as chat:
            answer = await chat.chat(ASK)
            assert chat.name == "tiny-1"
    assert answer.message == ChatMessage(role="assistant", content="You live in Zürich 🏔.")
    assert (answer.model, answer.input_tokens > 0, answer.output_tokens > 0) == ("tiny-1", True, True)
    [request] = server.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "tiny-1",
        "max_tokens": 50,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": SECRET}],
    }


async def test_a_tool_round_keeps_calls_and_results_together() -> None:
    """The model calls, the result goes back under the call's id, the model answers."""
    with ScriptedOpenAI(reply=[tool_call("memory_query", {"text": "Wohnort"}, call_id="c7"), "In Bern."]) as server:
        async with chat_with(server.base_url) as chat:
            first = (await chat.chat(ASK, [LOOK])).message
            assert first.tool_calls == (ToolCall(id="c7", name="memory_query", arguments={"text": "Wohnort"}),)
            found = ChatMessage(role="tool", content="- [profile] Bern", tool_call_id="c7")
            assert (await chat.chat([*ASK, first, found], [LOOK])).message.content == "In Bern."
    opening, closing = (request.body for request in server.requests)
    assert opening["tools"] == [
        {
            "type": "function",
            "function": {"name": "memory_query", "description": "Look it up.", "parameters": LOOK.parameters},
        }
    ]
    assert closing["messages"][2:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c7",
                    "type": "function",
                    "function": {"name": "memory_query", "arguments": '{"text": "Wohnort"}'},
                }
            ],
        },
        {"role": "tool", "content": "- [profile] Bern", "tool_call_id": "c7"},
    ]


@pytest.mark.parametrize("name", ["memory.query", "", "a" * 65, "look up", "query\n", "查询"])
async def test_a_tool_name_that_providers_refuse_is_never_sent(name: str) -> None:
    """The dot of `memory.query` above all."""
    with ScriptedOpenAI() as server:
        async with chat_with(server.base_url) as chat:
            with pytest.raises(BadInput):
                await chat.chat(ASK, [Tool(name=name, description="", parameters={"type": "object"})])
    assert server.requests == []


async def test_a_text_that_was_cut_off_is_still_an_answer() -> None:
    """The limit of output tokens ends a text, it does not spoil it."""
    with ScriptedOpenAI(reply={"content": "You live in", "finish_reason": "length"}) as server:
        async with chat_with(server.base_url) as chat:
            assert (await chat.chat(ASK)).message.content == "You live in"


async def test_a_call_without_arguments_has_none() -> None:
    """Many models send an empty string for a tool without parameters."""
    with ScriptedOpenAI(reply=tool_call("memory_query", "")) as server:
        async with chat_with(server.base_url) as chat:
            assert (await chat.chat(ASK, [LOOK])).message.tool_calls[0].arguments == {}


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (tool_call("memory_query", '{"text": "loc') | {"finish_reason": "length"}, "cut off"),
        (tool_call("memory_query", "locker"), "not a JSON object"),
        (tool_call("memory_query", '["locker"]'), "not a JSON object"),
        ({"content": None, "refusal": "I cannot talk about locker codes."}, "refuses"),
        ({"content": "4417", "finish_reason": "content_filter"}, "refuses"),
        ("", "empty"),
        (" \n", "empty"),
        ({"content": None}, "empty"),
        ({"content": ["locker"]}, "expected form"),
        ({"content": None, "tool_calls": [{"id": 1}]}, "expected form"),
    ],
)
async def test_an_answer_that_cannot_be_used_is_an_error(reply: str | dict[str, Any], says: str) -> None:
    """It says what is wrong, without a word of the conversation."""
    with ScriptedOpenAI(reply=reply) as server:
        async with chat_with(server.base_url) as chat:
            with pytest.raises(BadModelAnswer, match=says) as raised:
                await chat.chat(ASK, [LOOK])
    assert "locker" not in _everything(raised.value)


@pytest.mark.parametrize(
    ("fail", "error", "data"),
    [
        ("rate_limit", ModelRateLimited, {"model": "tiny-1", "retry_after": 2.5}),
        ("server_error", ModelUnavailable, {"model": "tiny-1", "status": 500}),
        ("unauthorized", ModelUnavailable, {"model": "tiny-1", "status": 401}),
        ("bad_request", ModelError, {"model": "tiny-1", "status": 400}),
        ("drop", ModelUnavailable, {"model": "tiny-1"}),
        ("cut_off", BadModelAnswer, {"model": "tiny-1"}),
        ("wrong_schema", BadModelAnswer, {"model": "tiny-1"}),
        ("empty", BadModelAnswer, {"model": "tiny-1", "finish_reason": "stop"}),
    ],
)
async def test_every_failure_has_its_name(fail: Any, error: type[ModelError], data: dict[str, Any]) -> None:
    """Exactly this class, so that a caller can tell waiting from giving up; no key and no text in it."""
    with ScriptedOpenAI(fail=fail, retry_after=2.5) as server:
        async with chat_with(server.base_url) as chat:
            with pytest.raises(ModelError) as raised:
                await chat.chat(ASK)
    assert type(raised.value) is error
    assert raised.value.data == data
    told = _everything(raised.value)
    assert KEY not in told
    assert "locker" not in told


async def test_a_slow_model_is_a_timeout() -> None:
    """Within the time that was set, not the time the model takes."""
    with ScriptedOpenAI(latency=30) as server:
        async with chat_with(server.base_url, timeout=0.3) as chat:
            before = time.monotonic()
            with pytest.raises(ModelTimeout):
                await chat.chat(ASK)
            assert time.monotonic() - before < 5


async def test_nobody_listening_is_unavailable() -> None:
    """The address of a server that has gone."""
    with ScriptedOpenAI() as server:
        address = server.base_url
    async with chat_with(address) as chat:
        with pytest.raises(ModelUnavailable):
            await chat.chat(ASK)


async def test_a_passing_failure_is_tried_again() -> None:
    """As often as the settings allow, and the caller never hears of it."""
    with ScriptedOpenAI(reply="Here.", fail=["server_error", "rate_limit", None]) as server:
        async with chat_with(server.base_url, retries=2) as chat:
            assert (await chat.chat(ASK)).message.content == "Here."
    assert len(server.requests) == 3


async def test_a_closed_client_says_so() -> None:
    """By name, to a chat and to a batch endpoint; and nothing was sent that would have to be paid for."""
    with ScriptedOpenAI() as server:
        async with chat_with(server.base_url) as chat:
            await chat.close()
            for asked in (chat.chat(ASK), OpenAIBatches(chat).fetch_results("batch_1")):
                with pytest.raises(ModelUnavailable, match="closed") as refused:
                    await asked
                assert refused.value.data["sent"] is False
    assert server.requests == []


async def test_the_key_is_in_no_description() -> None:
    """Nor taken from the environment: an endpoint without a key gets none of ours."""
    async with chat_with("http://127.0.0.1:9/v1") as chat:
        assert KEY not in repr(chat) + str(vars(chat))


async def test_openai_itself_is_told_the_limit_in_its_own_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its newer models refuse `max_tokens`; other endpoints know nothing else."""
    with ScriptedOpenAI() as server:
        monkeypatch.setattr("muniment.memory.models.openai.client.OPENAI_URL", server.base_url)
        chat = OpenAIChat("gpt", api_key=SecretStr(KEY), max_output_tokens=9)
        await chat.chat(ASK)
        await chat.close()
    assert server.requests[0].body["max_completion_tokens"] == 9
    assert "max_tokens" not in server.requests[0].body


def test_the_scripted_server_knows_its_two_paths() -> None:
    """And says so for what it cannot read."""
    with ScriptedOpenAI() as server:
        assert _status(f"{server.base_url}/nothing", b"{}") == 404
        assert _status(f"{server.base_url}/chat/completions", b"{") == 400
    with pytest.raises(RuntimeError):
        _ = ScriptedOpenAI().base_url


async def test_a_function_sees_the_request() -> None:
    """A script can answer by what it is asked."""
    shout: Callable[[dict[str, Any]], str] = lambda body: body["messages"][-1]["content"].upper()  # noqa: E731
    with ScriptedOpenAI(reply=shout) as server:
        async with chat_with(server.base_url) as chat:
            assert (await chat.chat([ChatMessage(role="user", content="hey")])).message.content == "HEY"


def _status(url: str, body: bytes) -> int:
    try:
        urllib.request.urlopen(urllib.request.Request(url, data=body, method="POST"), timeout=5)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    return 200


def _everything(error: BaseException) -> str:
    """What a log with a full traceback would say of the error: the cause too, unless it was cut off."""
    said = [f"{error} {error!r} {vars(error)}"]
    while cause := error.__cause__ or (None if error.__suppress_context__ else error.__context__):
        said.append(f"{cause} {cause!r}")
        error = cause
    return " ".join(said)


FORM = AnswerForm(name="facts", schema={"type": "object", "properties": {"facts": {"type": "array"}}}, max_tokens=99)
FACTS = structured({"facts": []})


async def test_a_form_is_asked_for_strictly_and_without_chance() -> None:
    """The schema by its name, temperature 0, and its own limit of tokens."""
    with ScriptedOpenAI(reply=FACTS) as server:
        async with chat_with(server.base_url) as chat:
            assert (await chat.chat(ASK, form=FORM)).message.content == FACTS
    body = server.requests[0].body
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "facts", "schema": FORM.schema, "strict": True},
    }
    assert (body["temperature"], body["max_tokens"]) == (0, 99)


@pytest.mark.parametrize("unknown", [{"response_format"}, {"temperature"}, {"response_format", "temperature"}])
async def test_an_endpoint_that_refuses_an_option_is_asked_without_it(unknown: set[str]) -> None:
    """Once for each option; the second question knows. The schema is told in words instead."""
    with ScriptedOpenAI(reply=FACTS, unknown=unknown) as server:
        async with chat_with(server.base_url) as chat:
            assert (await chat.chat(ASK, form=FORM)).message.content == FACTS
            assert len(server.requests) == 1 + len(unknown)
            await chat.chat(ASK, form=FORM)
            await chat.chat(ASK)
    formed, plain = server.requests[-2:]
    assert len(server.requests) == 3 + len(unknown)
    assert not unknown & formed.body.keys()
    assert ('{"facts"' in formed.body["messages"][0]["content"]) is ("response_format" in unknown)
    assert plain.body["messages"][0] == {"role": "system", "content": "Be brief."}


async def test_an_endpoint_that_says_nothing_is_asked_without_any_option() -> None:
    """Some answer 400 and no reason; without a system message the schema gets one of its own."""
    with ScriptedOpenAI(reply=FACTS, fail=["bad_request", None]) as server:
        async with chat_with(server.base_url) as chat:
            await chat.chat(ASK[1:], form=FORM)
    assert not {"response_format", "temperature"} & server.requests[1].body.keys()
    assert [one["role"] for one in server.requests[1].body["messages"]] == ["system", "user"]


async def test_a_request_that_is_wrong_otherwise_teaches_nothing() -> None:
    """It is refused without the options too, so the next question has them again."""
    with ScriptedOpenAI(reply=FACTS, fail=["bad_request", "bad_request", None]) as server:
        async with chat_with(server.base_url) as chat:
            with pytest.raises(ModelError):
                await chat.chat(ASK, form=FORM)
            await chat.chat(ASK, form=FORM)
    assert ["response_format" in one.body for one in server.requests] == [True, False, True]


@pytest.mark.parametrize(("fail", "says"), [("too_long", "cut off"), ("refusal", "refuses"), ("empty", "empty")])
async def test_half_a_form_is_no_answer(fail: Any, says: str) -> None:
    """Half a text can be read, half an object cannot."""
    with ScriptedOpenAI(reply=FACTS, fail=fail) as server:
        async with chat_with(server.base_url) as chat:
            with pytest.raises(BadModelAnswer, match=says):
                await chat.chat(ASK, form=FORM)


async def test_the_scripted_server_fails_by_chance_alike_each_time() -> None:
    """The same seed, the same failures, about as many as asked for; every request is on record."""

    async def outcomes(seed: int) -> list[str]:
        with ScriptedOpenAI(fail_share=0.5, fails=("overloaded", "empty"), seed=seed) as server:
            async with chat_with(server.base_url) as chat:
                found = []
                for _ in range(40):
                    try:
                        found.append((await chat.chat(ASK)).message.content)
                    except ModelError as error:
                        found.append(type(error).__name__)
            assert len(server.requests) == 40
        return found

    first = await outcomes(7)
    assert first == await outcomes(7)
    assert first != await outcomes(8)
    assert set(first) == {"OK.", "ModelUnavailable", "BadModelAnswer"}
    assert 10 <= first.count("OK.") <= 30


async def test_the_scripted_server_is_as_slow_as_the_request_wants() -> None:
    """A function decides, request by request."""
    slow = {"slow": 0.3, "slower": 30.0}
    with ScriptedOpenAI(latency=lambda request: slow.get(request.body["messages"][-1]["content"], 0)) as server:
        async with chat_with(server.base_url, timeout=30) as chat:
            slower = asyncio.create_task(chat.chat([ChatMessage(role="user", content="slower")]))
            before = time.monotonic()
            for text in ("quick", "slow"):
                await chat.chat([ChatMessage(role="user", content=text)])
            assert time.monotonic() - before >= 0.3
            assert not slower.done()
            slower.cancel()


async def test_a_long_conversation_costs_no_more_than_its_text() -> None:
    """All else that runs in the process waits for what the client does with each message."""
    with ScriptedOpenAI() as server:
        async with chat_with(server.base_url) as chat:

            async def spent(*said: str) -> float:
                began = time.process_time()
                await chat.chat([ChatMessage(role="user", content=one) for one in said])
                return time.process_time() - began

            alone = min([await spent("hello" * 2_000) for _ in range(5)])
            assert min([await spent(*["hello"] * 2_000) for _ in range(5)]) < 10 * alone


async def test_options_are_in_each_request() -> None:
    """They win over what is set here; a form of their own leaves ours to the prompt, and a refusal keeps them."""
    options = {
        "temperature": 0.5,
        "response_format": {"type": "json_object"},
        "max_completion_tokens": 7,
        "x": {"y": 1},
    }
    with ScriptedOpenAI(reply=FACTS, fail=["bad_request", None]) as server:
        chat = OpenAIChat("m", api_key=SecretStr("k"), base_url=server.base_url, max_retries=0, options=options)
        with pytest.raises(ModelError):
            await chat.chat(ASK, form=FORM)
        await chat.chat(ASK, form=FORM)
        await chat.close()
    for request in server.requests:
        assert {name: request.body[name] for name in options} == options
        assert "max_tokens" not in request.body
        assert '{"facts"' in request.body["messages"][0]["content"]
