"""Byte for byte: what is no message goes upstream as it came, and every answer comes back as it was."""

from __future__ import annotations

import json
import os
from random import Random
from typing import Any

import httpx
import pytest

from muniment.testing import Answer, ScriptedOpenAI
from tests.proxy.generated import RawRequest, make_answer, make_request
from tests.proxy.hosting import Host, chat

REQUESTS = int(os.environ.get("MUNIMENT_TEST_PROXY_REQUESTS", "100"))
ANSWERS = 200
CHAT = "/v1/chat/completions"
# Of the connection, of the server, and of the proxy itself.
NOT_PASSED = {
    "connection",
    "keep-alive",
    "transfer-encoding",
    "date",
    "server",
    "x-muniment-memory",
    "x-muniment-request-id",
}


def check_forwarded(sent: RawRequest, came: bytes, *, is_same: bool) -> None:
    """What went upstream is what the client sent, but for what memory and history put among the messages."""
    if is_same:
        assert came == sent.body
        return
    before, after = sent.before.encode(), sent.after.encode()
    assert came.startswith(before)
    assert came.endswith(after)
    middle = came[len(before) : len(came) - len(after)]
    assert isinstance(json.loads(middle), list)
    system, *turns = sent.messages if '"system"' in sent.messages[0] else ("", *sent.messages)
    if system:
        assert json.loads(system)["content"] in json.loads(middle)[0]["content"]
    position = 0
    for turn in (each.encode() for each in turns):
        found = middle.find(turn, position)
        assert found >= 0, turn
        position = found + len(turn)
    assert middle[position:].strip() == b"]", (sent, middle)


@pytest.mark.timeout(300)
def test_requests_byte_for_byte(host: Host) -> None:
    """Unknown fields, blanks, escapes, floats, keys that are there twice, images: with memory and without."""
    dice = Random(28)
    with ScriptedOpenAI(lambda body: f"Answer {len(body['messages'])}.") as upstream:
        token = host.register(upstream.base_url)
        with host.open_client(token) as client:
            for number in range(REQUESTS):
                sent, is_private = make_request(dice, number), number % 2 == 0
                headers = {"x-muniment-memory": "off"} if is_private else {}
                answer = client.post(CHAT, content=sent.body, headers={"content-type": "application/json"} | headers)
                assert answer.status_code == 200, (number, answer.text, sent.body)
                assert len(upstream.requests) == number + 1
                check_forwarded(sent, upstream.requests[-1].raw, is_same=is_private)
        last = [request for request in upstream.requests if len(request.body["messages"]) > 10]
    assert last, "no request had a history before it"


@pytest.mark.parametrize("key", ['"messages"', '"mess\\u0061ges"'])
def test_messages_that_are_there_twice(host: Host, key: str) -> None:
    """What an upstream may read of two values has passed the proxy: both are the same, or there is only one."""
    body = (
        f'{{"model": "m", {key}: [{{"role":"user","content":"one"}}], "messages":[{{"role":"user","content":"two"}}]}}'
    )
    with ScriptedOpenAI() as upstream, host.open_client(host.register(upstream.base_url)) as client:
        answer = client.post(CHAT, content=body.encode(), headers={"content-type": "application/json"})
        if answer.status_code == 422:
            assert not upstream.requests
            return
        values: list[Any] = []
        json.loads(upstream.requests[0].raw, object_pairs_hook=values.extend)
        shown = [json.dumps(value) for name, value in values if name == "messages"]
        assert len(set(shown)) == 1


def take_raw(client: httpx.Client, address: str, body: dict[str, Any]) -> tuple[httpx.Response, bytes, bool]:
    """The head, the bytes of the body, and whether it came to its end."""
    seen: list[bytes] = []
    with client.stream("POST", address, json=body) as answer:
        try:
            seen.extend(answer.iter_raw())
        except httpx.RemoteProtocolError:
            return answer, b"".join(seen), False
    return answer, b"".join(seen), True


def test_answers_byte_for_byte(host: Host) -> None:
    """Any status, packed in any way, odd headers in their order: the client gets what a direct one gets."""
    dice = Random(29)
    answers = [make_answer(dice) for _ in range(ANSWERS)]
    with (
        ScriptedOpenAI([answer for answer in answers for _ in range(2)]) as upstream,
        httpx.Client() as direct,
        host.open_client(host.register(upstream.base_url)) as client,
    ):
        for number, answer in enumerate(answers):
            asked = chat(f"number {number}")
            expected, raw, is_whole = take_raw(direct, f"{upstream.base_url}/chat/completions", asked)
            came, came_raw, came_whole = take_raw(client, CHAT, asked)
            assert (came.status_code, came_raw, came_whole) == (expected.status_code, raw, is_whole), answer
            assert list_passed(came) == list_passed(expected), answer
            for each in (direct, client):
                each.cookies.clear()
    assert not [request for request in upstream.requests if "cookie" in request.headers]


def list_passed(answer: httpx.Response) -> list[tuple[bytes, bytes]]:
    """The headers that belong to the answer itself, in their order; how a name is spelled says nothing in HTTP."""
    return [(name.lower(), value) for name, value in answer.headers.raw if name.decode().lower() not in NOT_PASSED]


def test_a_stream_that_is_cut_anywhere(host: Host) -> None:
    """The client has every byte that came before, and sees that the end is missing; nothing of it is an answer."""
    first = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Zürich"}, "finish_reason": None}]}
    events = [f"data: {json.dumps(first, ensure_ascii=False)}\n\n".encode()]
    events.append(b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n')
    events.append(b"data: [DONE]\n\n")
    whole, headers = b"".join(events), (("content-type", "text/event-stream"),)
    cuts = [Answer(headers=headers, body=tuple(events), cut=cut) for cut in range(1, len(whole))]
    with ScriptedOpenAI([*cuts, Answer(headers=headers, body=tuple(events))]) as upstream:
        token = host.register(upstream.base_url)
        with host.open_client(token) as client:
            for cut in range(1, len(whole)):
                answer, raw, is_whole = take_raw(client, CHAT, chat("Where am I?", stream=True))
                assert (answer.status_code, raw, is_whole) == (200, whole[:cut], False)
            assert [one["role"] for one in host.wait_stored(token, 1)] == ["user"]
            _, raw, is_whole = take_raw(client, CHAT, chat("Where am I?", stream=True))
            assert (raw, is_whole) == (whole, True)
        assert [one["content"] for one in host.wait_stored(token, 2)] == ["Where am I?", "Zürich"]
        assert len(upstream.requests) == len(whole)
