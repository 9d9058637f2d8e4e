"""Where memory stands in a request, what a client may say about it, and that a loop of tools keeps its text."""

import json
from typing import Any

import pytest

from muniment.memory.payload import FENCE_CLOSE, FENCE_OPEN
from muniment.testing import tool_call
from muniment.testing.openai_answers import build_response, stream_response
from tests.proxy.conftest import Proxy, Teach, Upstream, read_sent

ASKED = "What is my favorite color?"


@pytest.fixture
def taught(proxy: Proxy, upstream: Upstream, teach: Teach) -> str:
    """A token whose memory knows a color; its window is one message."""
    token = proxy.register(upstream, session_window_size=1)
    teach(token, "My favorite color is teal.")
    return token


def test_off_and_read(proxy: Proxy, upstream: Upstream, taught: str) -> None:
    """`off` has neither memory nor history, `read` has both, and neither leaves anything behind."""
    secret = "My favorite animal is the otter."
    answer = proxy.chat(taught, secret, headers={"x-muniment-memory": "off"})
    assert answer.headers["x-muniment-memory"] == "off"
    assert read_sent(upstream)["messages"] == [{"role": "user", "content": secret}]
    proxy.wait_kept(answer.headers)
    answer = proxy.chat(taught, f"{secret} {ASKED}", headers={"x-muniment-memory": "Read"})
    assert answer.headers["x-muniment-memory"].startswith("read; injected=1; rev=")
    proxy.wait_kept(answer.headers)
    answer = proxy.chat(taught, ASKED)
    assert answer.headers["x-muniment-memory"].startswith("injected=1; rev=")
    assert "teal" in upstream.requests[-1].raw.decode()
    assert "otter" not in upstream.requests[-1].raw.decode()


def test_no_system_prompt(proxy: Proxy, upstream: Upstream, taught: str) -> None:
    """Where there is no system prompt one is made; where there is one, in parts or for developers, it is added to."""
    proxy.chat(taught, ASKED, headers={"x-muniment-memory": "read"})
    first = read_sent(upstream)["messages"][0]
    assert first["role"] == "system"
    assert first["content"].count(FENCE_OPEN) == first["content"].count(FENCE_CLOSE) == 1
    parts = [{"type": "text", "text": "Be brief."}]
    proxy.chat(taught, {"role": "developer", "content": parts}, ASKED, headers={"x-muniment-memory": "read"})
    first = read_sent(upstream)["messages"][0]
    assert first["role"] == "developer"
    assert first["content"][0] == parts[0]
    assert "teal" in first["content"][1]["text"]


def test_no_memory(proxy: Proxy, upstream: Upstream, token: str) -> None:
    """With nothing to say nothing is inserted, and what has no text asks nothing."""
    assert proxy.chat(token, ASKED).headers["x-muniment-memory"].startswith("injected=0; rev=0")
    assert [each["role"] for each in read_sent(upstream)["messages"]] == ["user"]
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}
    read = {"x-muniment-memory": "read"}
    assert proxy.chat(token, image, headers=read).headers["x-muniment-memory"] == "read; injected=0"


def test_a_memory_that_would_close_the_fence(proxy: Proxy, upstream: Upstream, teach: Teach) -> None:
    """A memory is one line within its fence, whatever it says."""
    token = proxy.register(upstream, session_window_size=1)
    teach(token, f"My favorite color is {FENCE_CLOSE} teal.")
    proxy.chat(token, ASKED, headers={"x-muniment-memory": "read"})
    text = read_sent(upstream)["messages"][0]["content"]
    assert text.count(FENCE_CLOSE) == 1
    assert text.index("teal") < text.index(FENCE_CLOSE)


@pytest.mark.parametrize("limit", [1, 2])
def test_the_limit(proxy: Proxy, upstream: Upstream, teach: Teach, limit: int) -> None:
    """No more memories than the token's limit are shown, those of the profile included."""
    token = proxy.register(upstream, memory_limit=limit, session_window_size=1)
    for text in ("I live in Rome.", "My favorite color is teal.", "My favorite animal is the otter."):
        teach(token, text)
    answer = proxy.chat(token, "What are my favorite color and animal?", headers={"x-muniment-memory": "read"})
    assert f"injected={limit};" in answer.headers["x-muniment-memory"]
    text = read_sent(upstream)["messages"][0]["content"]
    assert sum(line.startswith("- ") for line in text.splitlines()) == limit


def test_beside_the_user(proxy: Proxy, upstream: Upstream, teach: Teach) -> None:
    """With `memory_place: user` what is about the message ends the user's last message, and each step of a loop of
    tools has it in the same place and the same words, whatever was learned meanwhile."""
    token = proxy.register(upstream, memory_place="user", session_window_size=1)
    teach(token, "My favorite color is teal.")
    tools: dict[str, Any] = {"tools": [{"type": "function", "function": {"name": "look"}}]}
    system, user = {"role": "system", "content": "Be brief."}, {"role": "user", "content": ASKED}
    read = {"x-muniment-memory": "read"}
    proxy.chat(token, system, user, headers=read, **tools)
    sent = read_sent(upstream)["messages"]
    (place,) = [at for at, each in enumerate(sent) if each["content"].startswith(ASKED)]
    assert sent[0] == system
    assert sent[place]["content"].endswith(FENCE_CLOSE)
    assert "teal" in sent[place]["content"]
    call: dict[str, Any] = {"role": "assistant", **tool_call("look", {})}
    done = {"role": "tool", "tool_call_id": call["tool_calls"][0]["id"], "content": "seen"}
    teach(token, "My favorite color of cars is red.")
    proxy.chat(token, system, user, call, done, headers=read, **tools)
    again = read_sent(upstream)["messages"]
    assert sent[place] in again
    assert again[-2:] == [call, done]
    proxy.chat(token, system, user, headers=read)
    assert "red" in json.dumps(read_sent(upstream)["messages"])
    parts = [{"type": "text", "text": ASKED}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    proxy.chat(token, {"role": "user", "content": parts}, headers=read)
    content = read_sent(upstream)["messages"][-1]["content"]
    assert content[:2] == parts
    assert content[2]["type"] == "text"


def test_responses(proxy: Proxy, upstream: Upstream, taught: str) -> None:
    """A request for a response has memory in its input, a text or items, and history only where none is elsewhere."""
    with proxy.client(taught) as client:
        answer = client.post("/v1/responses", json={"model": "m", "input": ASKED, "temperature": 1.0})
        assert answer.status_code == 200
        assert answer.headers["x-muniment-memory"].startswith("injected=1")
        sent = read_sent(upstream)
        assert sent["temperature"] == 1.0
        assert sent["input"][-1]["content"].startswith(ASKED)
        assert "teal" in sent["input"][-1]["content"]
        proxy.wait_kept(answer.headers)
        items = [{"role": "user", "content": [{"type": "input_text", "text": ASKED}]}]
        for key in ("previous_response_id", "conversation"):
            client.post("/v1/responses", json={"model": "m", "input": items, key: "resp_1"})
            sent = read_sent(upstream)
            (item,) = sent["input"]
            assert item["content"][0] == items[0]["content"][0]
            assert item["content"][1]["type"] == "input_text"
            assert "teal" in item["content"][1]["text"]
        kept = client.post("/v1/responses", json={"model": "m", "prompt": {"id": "pmpt_1"}})
        assert kept.status_code == 200
        assert "input" not in read_sent(upstream)
    token = proxy.register(upstream, session_window_size=2)  # the question and its answer
    with proxy.client(token) as client:
        upstream.answer_next(stream_response(build_response("A whale, too.", {})))
        stream = client.post("/v1/responses", json={"model": "m", "input": "Say otter.", "stream": True})
        assert b"response.completed" in stream.content
        proxy.wait_kept(stream.headers)
    proxy.chat(token, "And?")
    assert "A whale, too." in upstream.requests[-1].raw.decode()


def test_calls_in_responses(proxy: Proxy, upstream: Upstream) -> None:
    """Calls of a chat stand in the input of a response as its items, and those of a response in the next chat."""
    token = proxy.register(upstream, session_window_size=10)
    function = {"name": "find_pen", "arguments": "{}"}
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }
    result = {"role": "tool", "tool_call_id": "call_1", "content": "A long one."}
    proxy.wait_kept(proxy.chat(token, "Which pen?", call, result).headers)
    items = [
        {"role": "system", "content": "Be brief."},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"role": "user", "content": "And the other?"},
        {"type": "function_call", "call_id": "call_2", "name": "find_pen", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_2", "output": "A short one."},
    ]
    with proxy.client(token) as client:
        answer = client.post("/v1/responses", json={"model": "m", "input": items})
        assert answer.status_code == 200
        sent = read_sent(upstream)["input"]
        assert [sent[0], *sent[-4:]] == items
        assert [one.get("type", one.get("role")) for one in sent[1:-4]] == [
            "user",
            "function_call",
            "function_call_output",
            "assistant",
        ]
        assert sent[2] == {"type": "function_call", "call_id": "call_1", **function}
        assert sent[3] == {"type": "function_call_output", "call_id": "call_1", "output": "A long one."}
        wrong = client.post("/v1/responses", json={"model": "m", "input": ["And?"]})
        assert wrong.status_code == 422
        assert wrong.json()["error"]["param"] == "input[0]"
        proxy.wait_kept(answer.headers)
    proxy.chat(token, "So?", headers={"x-muniment-memory": "read"})
    chain = [one for one in read_sent(upstream)["messages"] if one.get("tool_calls") or one["role"] == "tool"]
    assert [one.get("tool_call_id") or one["tool_calls"][0]["id"] for one in chain] == [
        "call_1",
        "call_1",
        "call_2",
        "call_2",
    ]
