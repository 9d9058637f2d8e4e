"""The embedder behind an endpoint, over real HTTP."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Event
from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr

from muniment.memory.errors import (
    BadModelAnswer,
    ModelError,
    ModelRateLimited,
    ModelTimeout,
    ModelUnavailable,
)
from muniment.memory.models.hash_embedder import hash_vector
from muniment.memory.models.openai.embedder import REQUEST_CHARS, REQUEST_TEXTS, REQUESTS, OpenAIEmbedder
from muniment.memory.models.sharing import CACHE_SIZE
from muniment.testing.openai_server import Request, ScriptedOpenAI

KEY = "sk-test-3f9a1c77"


@asynccontextmanager
async def embedder_at(
    base_url: str, *, model: str = "small-3", timeout: float = 5.0, retries: int = 0
) -> AsyncIterator[OpenAIEmbedder]:
    embedder = OpenAIEmbedder(
        model,
        api_key=SecretStr(KEY),
        base_url=base_url,
        timeout_seconds=timeout,
        max_retries=retries,
    )
    try:
        yield embedder
    finally:
        await embedder.close()


@contextmanager
def endpoint(answer: bytes) -> Iterator[str]:
    """An endpoint that says exactly this."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            return None

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def rows(*embeddings: Any) -> bytes:
    return json.dumps(
        {
            "object": "list",
            "data": [
                {"object": "embedding", "index": index, "embedding": embedding}
                for index, embedding in enumerate(embeddings)
            ],
        }
    ).encode()


def packed(*numbers: float) -> str:
    return base64.b64encode(np.array(numbers, dtype="<f4").tobytes()).decode()


async def test_vectors_come_back_in_order_and_of_length_one() -> None:
    """Exactly what the endpoint said but for the length, whatever length it answers in."""
    with ScriptedOpenAI(embed=lambda text: [3.0 * number for number in hash_vector(text).tolist()]) as server:
        async with embedder_at(server.base_url) as embedder:
            found = await embedder.embed_documents(["tea", "咖啡 ☕", "tea"])
            assert embedder.name == "small-3"
    for vector, text in zip(found, ["tea", "咖啡 ☕", "tea"], strict=True):
        assert vector.dtype == np.float32
        assert np.allclose(vector, hash_vector(text), atol=1e-6)
    [request] = server.requests
    assert request.body == {"model": "small-3", "input": ["tea", "咖啡 ☕"], "encoding_format": "base64"}
    assert request.headers["authorization"] == f"Bearer {KEY}"


async def test_an_endpoint_that_answers_with_numbers_will_do() -> None:
    """Some do not know base64 and send floats, some send the rows in another order."""
    data = [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [5.0, 0.0]}]
    with endpoint(json.dumps({"data": data}).encode()) as url:
        async with embedder_at(url) as embedder:
            assert [vector.tolist() for vector in await embedder.embed_documents(["a", "b"])] == [[1, 0], [0, 1]]


async def test_what_was_embedded_once_is_not_asked_again() -> None:
    """For documents and queries alike, and the cache has an end."""
    with ScriptedOpenAI(embed=lambda text: [1.0, float(len(text))]) as server:
        async with embedder_at(server.base_url) as embedder:
            await embedder.embed_documents(["tea", "coffee"])
            before = len(server.requests)
            await embedder.embed_query("tea")
            assert len(server.requests) == before
            await embedder.embed_documents([f"text {number}" for number in range(CACHE_SIZE)])
            await embedder.embed_query("tea")
            assert server.requests[-1].body["input"] == ["tea"]


async def test_nothing_to_embed_asks_nobody() -> None:
    """An empty list is an empty list."""
    with ScriptedOpenAI() as server:
        async with embedder_at(server.base_url) as embedder:
            assert await embedder.embed_documents([]) == []
    assert server.requests == []


async def test_an_empty_text_is_sent_as_a_space() -> None:
    """Endpoints refuse the empty string."""
    with ScriptedOpenAI(embed=lambda _: [1.0, 0.0]) as server:
        async with embedder_at(server.base_url) as embedder:
            assert (await embedder.embed_query("")).tolist() == [1.0, 0.0]
    assert server.requests[0].body["input"] == [" "]


async def test_many_texts_go_in_several_requests() -> None:
    """Within what an endpoint takes at once, by count and by characters, and none is lost or turned around."""
    texts = [f"number {number}" for number in range(REQUEST_TEXTS + 10)]
    long = [f"{number} " + "x" * 9_000 for number in range(30)]
    with ScriptedOpenAI(
        embed=lambda text: [1.0, float(text.split()[0] if text[0].isdigit() else text.split()[1])],
    ) as server:
        async with embedder_at(server.base_url) as embedder:
            many = await embedder.embed_documents(texts)
            heavy = await embedder.embed_documents(long)
    assert [round(float(v[1] / v[0])) for v in many] == list(range(len(texts)))
    assert [round(float(v[1] / v[0])) for v in heavy] == list(range(30))
    sent = [request.body["input"] for request in server.requests]
    assert sorted(len(batch) for batch in sent[:2]) == [10, REQUEST_TEXTS]
    assert len(sent) == 4
    assert all(sum(map(len, batch)) <= REQUEST_CHARS for batch in sent)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (rows(), "2 texts were sent and 0"),
        (rows([1, 0]), "2 texts were sent and 1"),
        (rows([1, 0], [0, 1], [1, 1]), "2 texts were sent and 3"),
        (json.dumps({"data": [{"index": 0, "embedding": [1, 0]}] * 2}).encode(), "not one for each"),
        (rows([1, 0], [1, 0, 0]), "3 dimensions instead of 2"),
        (rows([], []), "zero"),
        (rows([1, 0], [0, 0]), "zero"),
        (rows(packed(1, 0), packed(1, float("nan"))), "not a number"),
        (rows([1, 0], packed(1, float("inf"))), "not a number"),
        (rows([1, 0], "@@@@"), "expected form"),
        (rows([1, 0], base64.b64encode(b"12345").decode()), "expected form"),
        (b'{"data": [{"index": 0, "embe', "expected form"),
        (b"<html>Bad gateway</html>", "expected form"),
        (b'{"data": "secret"}', "expected form"),
    ],
)
async def test_an_answer_that_cannot_be_used_is_an_error(answer: bytes, says: str) -> None:
    """Never a vector that would quietly be stored."""
    with endpoint(answer) as url:
        async with embedder_at(url) as embedder:
            with pytest.raises(BadModelAnswer, match=says):
                await embedder.embed_documents(["secret tea", "coffee"])


async def test_other_dimensions_than_those_of_the_model_are_refused() -> None:
    """The model at the endpoint is not the one that was meant."""
    with ScriptedOpenAI() as server:
        async with embedder_at(server.base_url, model="text-embedding-3-small") as embedder:
            with pytest.raises(BadModelAnswer, match="256 dimensions instead of 1536"):
                await embedder.embed_query("tea")


@pytest.mark.parametrize(
    ("fail", "error"),
    [
        ("rate_limit", ModelRateLimited),
        ("server_error", ModelUnavailable),
        ("unauthorized", ModelUnavailable),
        ("bad_request", ModelError),
        ("drop", ModelUnavailable),
        ("cut_off", BadModelAnswer),
        ("wrong_schema", BadModelAnswer),
        ("empty", BadModelAnswer),
    ],
)
async def test_every_failure_has_its_name(fail: Any, error: type[ModelError]) -> None:
    """No key and no text in it."""
    with ScriptedOpenAI(fail=fail) as server:
        async with embedder_at(server.base_url) as embedder:
            with pytest.raises(ModelError) as raised:
                await embedder.embed_query("secret tea")
            assert type(raised.value) is error
            told = f"{raised.value!r} {vars(raised.value)} {raised.value.__cause__} {embedder!r} {vars(embedder)}"
    assert KEY not in told
    assert "secret" not in told


async def test_a_slow_endpoint_is_a_timeout() -> None:
    """After the time that was set."""
    with ScriptedOpenAI(latency=30) as server:
        async with embedder_at(server.base_url, timeout=0.3) as embedder:
            with pytest.raises(ModelTimeout):
                await embedder.embed_query("tea")


async def test_a_passing_failure_is_tried_again() -> None:
    """And costs the caller nothing but time."""
    with ScriptedOpenAI(fail=["rate_limit"]) as server:
        async with embedder_at(server.base_url, retries=1) as embedder:
            assert np.allclose(await embedder.embed_query("tea"), hash_vector("tea"), atol=1e-6)
    assert len(server.requests) == 2


async def test_who_asks_at_once_travels_together() -> None:
    """Eight questions are one request; what two ask is in it once; each gets its own answer."""
    texts = [f"question {number}" for number in range(7)] + ["question 3"]
    with ScriptedOpenAI() as server:
        async with embedder_at(server.base_url) as embedder:
            bulk = asyncio.create_task(embedder.embed_documents(["a", "b"]))
            answers = await asyncio.gather(*(embedder.embed_query(text) for text in texts))
            await bulk
            assert [request.body["input"] for request in server.requests] == [[*texts[:7], "a", "b"]]
            for text, vector in zip(texts, answers, strict=True):
                assert np.allclose(vector, hash_vector(text), atol=1e-6)


async def test_what_comes_while_others_are_on_their_way_gathers() -> None:
    """A moment beside one request, and until one is back beside as many as may be."""
    go_on = Event()
    with ScriptedOpenAI(latency=lambda _: 0.0 if go_on.wait(20) else 20) as server:
        async with embedder_at(server.base_url) as embedder:
            work = []
            for number in range(REQUESTS):
                work.append(asyncio.create_task(embedder.embed_query(f"first {number}")))
                await asyncio.sleep(0.02)
            for number in range(20):
                work.append(asyncio.create_task(embedder.embed_query(f"later {number}")))
                await asyncio.sleep(0.002)
            go_on.set()
            await asyncio.gather(*work)
    assert [len(request.body["input"]) for request in server.requests] == [1] * REQUESTS + [20]


async def test_a_question_passes_an_import() -> None:
    """It waits for no bulk request, not even where all that may be are on their way."""
    go_on = Event()

    def latency(request: Request) -> float:
        return 0.0 if len(request.body["input"]) == 1 or go_on.wait(20) else 20

    with ScriptedOpenAI(latency=latency) as server:
        async with embedder_at(server.base_url) as embedder:
            work = asyncio.create_task(
                embedder.embed_documents([f"line {number}" for number in range(REQUEST_TEXTS * 6)])
            )
            while len(server.requests) < REQUESTS - 1:
                await asyncio.sleep(0.01)
            await embedder.embed_query("Who asks?")  # no bulk request is answered before
            go_on.set()
            await work
    sent = [len(request.body["input"]) for request in server.requests]
    assert sorted(sent) == [1, *[REQUEST_TEXTS] * 6]
    assert sent.index(1) == REQUESTS - 1


@pytest.mark.parametrize(("fail", "error"), [("server_error", ModelUnavailable), ("rate_limit", ModelRateLimited)])
async def test_a_failure_is_everybodys_who_was_in_it(fail: Any, error: type[ModelError]) -> None:
    """It is asked once, all are told, and the next request is a new one."""
    with ScriptedOpenAI(fail=[fail]) as server:
        async with embedder_at(server.base_url) as embedder:
            asked = (
                embedder.embed_query("tea"),
                embedder.embed_query("tea"),
                embedder.embed_documents(["coffee", "tea"]),
            )
            told = await asyncio.gather(*asked, return_exceptions=True)
            assert [type(one) for one in told] == [error] * 3
            assert len(server.requests) == 1
            await embedder.embed_query("tea")
            assert len(server.requests) == 2


async def test_a_text_that_is_refused_is_one_callers() -> None:
    """The others in the same request are asked for again without it; its vector would be no number."""

    def embed(text: str) -> list[float]:
        return [float("nan"), 1.0] if text == "bad" else [3.0, 4.0]

    with ScriptedOpenAI(embed=embed) as server:
        async with embedder_at(server.base_url) as embedder:
            told = await asyncio.gather(
                embedder.embed_query("good"),
                embedder.embed_query("bad"),
                embedder.embed_query("fine"),
                return_exceptions=True,
            )
    assert isinstance(told[1], BadModelAnswer)
    assert [np.asarray(told[n]).tolist() for n in (0, 2)] == [pytest.approx([0.6, 0.8])] * 2
    assert [request.body["input"] for request in server.requests] == [
        ["good", "bad", "fine"],
        ["good"],
        ["bad"],
        ["fine"],
    ]


async def test_a_text_that_two_want_is_not_refused_for_the_other() -> None:
    """Who shares a text with a caller whose other text is bad has its vector all the same."""

    def embed(text: str) -> list[float]:
        return [float("nan"), 1.0] if text == "bad" else [3.0, 4.0]

    with ScriptedOpenAI(embed=embed) as server:
        async with embedder_at(server.base_url) as embedder:
            told = await asyncio.gather(
                embedder.embed_documents(["shared", "bad"]),
                embedder.embed_documents(["shared"]),
                return_exceptions=True,
            )
    assert isinstance(told[0], BadModelAnswer)
    assert np.asarray(told[1]).tolist() == [pytest.approx([0.6, 0.8])]


async def test_who_is_cancelled_does_not_cancel_the_others() -> None:
    """Neither in the request on its way nor in line; what nobody wants any more is not sent."""
    with ScriptedOpenAI(latency=0.15) as server:
        async with embedder_at(server.base_url) as embedder:
            gone = asyncio.create_task(
                embedder.embed_documents([f"line {number}" for number in range(REQUEST_TEXTS * 8)])
            )
            asked = [asyncio.create_task(embedder.embed_query("tea")) for _ in range(2)]
            await asyncio.sleep(0.08)
            asked[0].cancel()
            gone.cancel()
            assert np.allclose(await asked[1], hash_vector("tea"), atol=1e-6)
            assert (gone.cancelled(), asked[0].cancelled()) == (True, True)
            await asyncio.sleep(0.2)
            assert len(server.requests) <= REQUESTS
            await embedder.embed_query("coffee")


async def test_closing_tells_those_who_wait() -> None:
    """At once, whether on their way or in line, and whoever comes later."""
    with ScriptedOpenAI(latency=20) as server:
        async with embedder_at(server.base_url) as embedder:
            work = [
                asyncio.create_task(
                    embedder.embed_documents([f"line {number}" for number in range(REQUEST_TEXTS * 5)])
                ),
                asyncio.create_task(embedder.embed_query("tea")),
            ]
            await asyncio.sleep(0.1)
            await embedder.close()
            told = await asyncio.wait_for(asyncio.gather(*work, return_exceptions=True), 2)
            assert [type(one) for one in told] == [ModelUnavailable] * 2
            with pytest.raises(ModelUnavailable, match="closed"):
                await embedder.embed_query("tea")
