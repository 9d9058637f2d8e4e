"""A configuration that is broken in the database: the token is refused until it is mended, and nobody else is."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from muniment.testing import ScriptedOpenAI, structured
from tests.http.conftest import wait_until
from tests.proxy.hosting import KEY, Host, chat

CHAT = "/v1/chat/completions"
FIELDS: dict[str, Any] = {
    "memory_llm_provider": "openai", "memory_llm_api_key": KEY,
    "memory_llm_body": {"model": "tiny-1", "temperature": 0.5}, "embed_provider": "openai",
    "embed_api_key": KEY, "embed_dims": 256, "embed_body": {"model": "embed-1"}, "memory_prompt": "Keep the birds.",
}  # fmt: skip
TEXTS = ("null", "''", "'  '")
BODIES = (*TEXTS, "'{'", "'[]'", "'\"text\"'", "'7'", "'null'", "'{}'", '\'{"model": ""}\'', "'{\"model\": 7}'")
NUMBERS = ("null", "0", "-1", "2147483647")
URLS = (*TEXTS, "'ftp://example.com'", "'no address'", "'7'")
# Column -> what stands in it instead of what was registered.
BROKEN: dict[str, tuple[str, ...]] = {
    "llm_base_url": URLS,
    "memory_llm_provider": (*TEXTS, "'nobody'"),
    "memory_llm_base_url": URLS,
    "memory_llm_body": BODIES,
    "embed_provider": (*TEXTS, "'nobody'"),
    "embed_base_url": URLS,
    "embed_dims": NUMBERS,
    "embed_body": BODIES,
    "memory_prompt": ("''", "'  '"),
    "memory_limit": NUMBERS,
    "session_window_size": NUMBERS,
    "sealed_keys": ("null", "''", "'\\x00'", "sealed_keys || '\\x00'"),
}


@pytest.mark.timeout(180)
def test_every_field_that_is_broken(host: Host) -> None:
    """401 with the field's name and no value of it; mended by an update, the next request is answered."""
    with ScriptedOpenAI() as upstream, ScriptedOpenAI(structured({"facts": []})) as models:
        fields = FIELDS | {"embed_base_url": models.base_url, "memory_llm_base_url": models.base_url}
        token, other = host.register(upstream.base_url, **fields), host.register(upstream.base_url)
        with host.open_client(token) as client, host.open_client(other) as neighbour:
            assert client.post(CHAT, json=chat("Hi")).status_code == 200
            for column, values in BROKEN.items():
                for value in values:
                    host.execute(f"update muniment.token_configs set {column} = {value} where token_id = %s", token.id)
                    before = len(upstream.requests)
                    answer = client.post(CHAT, json=chat("Hi"))
                    assert answer.status_code == 401, (column, value, answer.text)
                    assert len(upstream.requests) == before, (column, value)
                    error = answer.json()["error"]
                    assert column == "sealed_keys" or column in error["message"], (column, value, error)
                    assert KEY not in answer.text
                assert neighbour.post(CHAT, json=chat("Hi")).status_code == 200
                own = {name: value for name, value in fields.items() if name == column}
                if column == "sealed_keys":
                    own = {"llm_api_key": KEY, "memory_llm_api_key": KEY, "embed_api_key": KEY}
                host.update(
                    token, **(own or {"llm_base_url": upstream.base_url, "memory_limit": 5, "session_window_size": 20})
                )
                assert client.post(CHAT, json=chat("Hi")).status_code == 200, column


def test_a_token_is_deleted_while_streams_run(host: Host) -> None:
    """They come to their end; the next request is refused."""
    seen: list[tuple[int, str]] = []
    with ScriptedOpenAI("one two three four five six seven eight", pace=0.15) as upstream:
        token = host.register(upstream.base_url)
        with host.open_client(token) as client:

            def stream(number: int) -> None:
                answer = client.post(CHAT, json=chat(f"Number {number}", stream=True))
                seen.append((answer.status_code, answer.text))

            threads = [threading.Thread(target=stream, args=(number,)) for number in range(5)]
            for thread in threads:
                thread.start()
            wait_until(lambda: len(upstream.requests) == 5)
            host.delete(token)
            assert client.post(CHAT, json=chat("Hi")).status_code == 401
            assert seen == []
            for thread in threads:
                thread.join()
            assert client.post(CHAT, json=chat("Hi")).status_code == 401
    assert [(status, text.endswith("data: [DONE]\n\n")) for status, text in seen] == [(200, True)] * 5
    assert len(upstream.requests) == 5
