"""The batch endpoint over real HTTP: what is sent, what comes back, and what an endpoint may do wrong."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import SecretStr

from muniment.memory.errors import (
    BadModelAnswer,
    BatchFailed,
    ModelError,
    ModelRateLimited,
    ModelTimeout,
    ModelUnavailable,
)
from muniment.memory.models.openai.batches import OpenAIBatches
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.memory.ports.llm import AnswerForm, BatchRequest, ChatMessage
from muniment.testing.batch_server import Fate, ScriptedBatch, ScriptedBatches

FORM = AnswerForm(name="pairs", schema={"type": "object"}, max_tokens=50)


def prompts(count: int = 3) -> list[BatchRequest]:
    return [
        BatchRequest(id=f"r{n}", messages=(ChatMessage(role="user", content=f"Größe\u2028{n}?"),), form=FORM)
        for n in range(count)
    ]


def echo(body: dict[str, Any]) -> str:
    return json.dumps({"asked": body["messages"][-1]["content"]}, ensure_ascii=False)


@asynccontextmanager
async def endpoint(reply: Any = echo, **script: Any) -> AsyncIterator[tuple[OpenAIBatches, ScriptedBatches]]:
    with ScriptedBatches(reply, **script) as server:
        chat = OpenAIChat("tiny-1", api_key=SecretStr("k"), base_url=server.base_url, timeout_seconds=2, max_retries=0)
        try:
            yield OpenAIBatches(chat), server
        finally:
            await chat.close()


async def test_prompts_go_out_as_one_file_and_come_back_by_their_ids() -> None:
    """The bodies are those of a chat in a form, to the field; under way is no answer; tokens are counted."""
    async with endpoint(polls=2) as (batches, server):
        name = await batches.submit_batch("run-1", prompts())
        [sent] = server.files.values()
        assert [await batches.fetch_results(name) for _ in range(2)] == [None, None]
        collected = await batches.fetch_results(name)
        await batches._chat.chat(prompts()[0].messages, form=FORM)
        chatted = server.requests[-1].body
    assert collected is not None
    lines = [json.loads(line) for line in sent.decode().split("\n") if line]
    assert [line["custom_id"] for line in lines] == ["r0", "r1", "r2"]
    assert lines[0] | {"custom_id": ""} == {
        "custom_id": "",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": chatted,
    }
    told = {key: json.loads(one.message.content)["asked"] for key, one in collected.answers.items()}
    assert told == {f"r{n}": f"Größe\u2028{n}?" for n in range(3)}
    assert collected.failures == {}
    used = {key: (one.input_tokens, one.output_tokens) for key, one in collected.answers.items()}
    assert collected.tokens == used
    assert all(asked and said for asked, said in used.values())


async def test_what_is_missing_failed_or_cut_off_is_told_apart() -> None:
    """A missing one is nowhere; an answer that is cut off is paid for all the same."""
    fates: list[Fate] = ["answered", "missing", "error", "cut_off"]
    async with endpoint(fate=lambda place: fates[place]) as (batches, _):
        collected = await batches.fetch_results(await batches.submit_batch("run-1", prompts(4)))
    assert collected is not None
    assert set(collected.answers) == {"r0"}
    assert {key: type(one) for key, one in collected.failures.items()} == {"r2": ModelError, "r3": BadModelAnswer}
    assert set(collected.tokens) == {"r0", "r3"}


async def test_what_an_expired_batch_answered_in_time_counts() -> None:
    """The rest has failed for the time, not for good."""
    async with endpoint(ends="expired", fate=lambda place: "answered" if place else "missing") as (batches, _):
        collected = await batches.fetch_results(await batches.submit_batch("run-1", prompts()))
    assert collected is not None
    assert set(collected.answers) == {"r1", "r2"}
    assert isinstance(collected.failures["r0"], ModelTimeout)


async def test_a_batch_is_found_again_by_its_key() -> None:
    """After a crash nothing else is known of it; another's batch is not taken for it."""
    async with endpoint() as (batches, _):
        await batches.submit_batch("run-1", prompts())
        name = await batches.submit_batch("run-2", prompts())
        await batches.submit_batch("run-3", prompts())
        assert await batches.find_batch("run-2") == name
        assert await batches.find_batch("run-4") is None


async def test_a_batch_is_found_among_thousands() -> None:
    """However many the account has made since; but not beyond the time at which ours can have been made."""
    async with endpoint() as (batches, server):
        name = await batches.submit_batch("run-1", prompts())
        made = server.batches[name].created
        for n in range(2, 1_300):
            server.batches[f"batch_{n}"] = ScriptedBatch(id=f"batch_{n}", input_file="f", metadata={}, created=made + n)
        assert await batches.find_batch("run-1", datetime.fromtimestamp(made, UTC)) == name
        assert len(server.requests) == 2 + 13
        assert await batches.find_batch("run-2") is None
        server.requests.clear()
        assert await batches.find_batch("run-2", datetime.fromtimestamp(made, UTC) + timedelta(days=30)) is None
        assert len(server.requests) == 1


async def test_a_batch_can_be_cancelled_and_forgotten() -> None:
    """Twice is once, and no file with a text of ours stays."""
    async with endpoint(polls=9) as (batches, server):
        name = await batches.submit_batch("run-1", prompts())
        for _ in range(2):
            await batches.cancel_batch(name)
        assert await batches.fetch_results(name) is not None
        for _ in range(2):
            await batches.delete_files(name)
        assert server.files == {}
        await batches.cancel_batch("nothing")
        await batches.delete_files("nothing")


@pytest.mark.parametrize("name", ["batch_1", "batch_9"])
async def test_a_batch_that_cannot_be_answered_is_an_error(name: str) -> None:
    """The endpoint refused its file, or has never heard of it."""
    async with endpoint(ends="failed") as (batches, _):
        await batches.submit_batch("run-1", prompts())
        with pytest.raises(BatchFailed):
            await batches.fetch_results(name)


@pytest.mark.parametrize(
    ("fail", "error"),
    [
        ("rate_limit", ModelRateLimited), ("server_error", ModelUnavailable), ("unauthorized", ModelUnavailable),
        ("wrong_schema", BadModelAnswer), ("drop", ModelUnavailable), ("cut_off", BadModelAnswer),
    ],
)  # fmt: skip
async def test_every_failure_of_the_endpoint_is_typed(fail: Any, error: type[ModelError]) -> None:
    """On the way out, and on the way back; none quotes a text or the key."""
    async with endpoint(fail=[None, fail]) as (batches, _):
        with pytest.raises(error) as out:
            await batches.submit_batch("run-1", prompts())
    assert "Größe" not in repr(out.value)
    async with endpoint(fail=[None, None, fail]) as (batches, _):
        name = await batches.submit_batch("run-1", prompts())
        with pytest.raises(error):
            await batches.fetch_results(name)


async def test_lines_that_are_no_answers_are_passed_over() -> None:
    """A file may have anything in it: what can be read of it counts, at the tokens it tells of."""
    async with endpoint() as (batches, server):
        name = await batches.submit_batch("run-1", prompts(1))
        await batches.fetch_results(name)
        output = server.batches[name].files["output_file_id"]
        odd = [
            "",
            "no json",
            "[]",
            '{"custom_id": "x", "response": {"status_code": 500, "body": {}}}',
            '{"custom_id": "y", "response": {"status_code": 200, "body": {"usage": "many", "choices": 3}}}',
        ]
        server.files[output] += "\n".join(odd).encode()
        collected = await batches.fetch_results(name)
    assert collected is not None
    assert set(collected.answers) == {"r0"}
    assert {key: type(one) for key, one in collected.failures.items()} == {"x": ModelError, "y": BadModelAnswer}
