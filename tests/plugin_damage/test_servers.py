"""A turn is answered whatever becomes of the server of its memory (P-16, P-90, P-92, P-115)."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pydantic import SecretStr

from muniment.memory.config.settings import Settings
from tests.plugin.hosts import make_settings
from tests.plugin_damage.talks import Acknowledged, Talk, list_warnings, open_talk
from tests.plugin_remote.test_hostile_server import HEADERS, HIT, Handler, Server, encode

TOKEN = "mun_CANARY-the-token-of-nobody"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a server answers to everything, and what is said of a search of it."""

    name: str
    said: str
    body: bytes = b"{}"
    status: int = 200
    wait: float = 0.0
    headers: dict[str, str] = field(default_factory=lambda: HEADERS)


ANSWERS = (
    Answer(name="away", said="connection"),
    Answer(name="slow", wait=3.0, said="it took too long"),
    Answer(name="a page", body=b"<html>Sign in first</html>", said="invalid answer"),
    Answer(name="a page of a proxy", body=b"<html>", headers={}, said="other version"),
    Answer(name="a refusal of a proxy", body=b"<html>", status=400, headers={}, said="http error"),
    Answer(name="no page", body=b"<html>", status=404, said="other version"),
    Answer(name="other shapes", body=encode({"hits": [HIT | {"score": 7}]}), said="invalid answer"),
    Answer(name="endless", body=b" " * 50 * 2**20, said="too large"),
    Answer(name="another version", headers={"Muniment-Store-Protocol": "2"}, said="other version"),
    Answer(name="failing", status=500, said="http error"),
    Answer(name="not permitted", status=403, said="not permitted"),
)


@pytest.fixture(params=ANSWERS, ids=lambda answer: answer.name)
def answer(request: pytest.FixtureRequest) -> Answer:
    found: Answer = request.param
    return found


@pytest.fixture
def server(answer: Answer) -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as it:
        it.status, it.body, it.wait, it.headers = answer.status, answer.body, answer.wait, answer.headers
        if answer.name == "away":
            it.server_close()
            yield it
            return
        threading.Thread(target=it.serve_forever, args=(0.02,), daemon=True).start()
        yield it
        it.shutdown()


def make_remote_settings(home: Path, server: Server, store: str) -> Settings:
    settings = make_settings(home, store=store, url=server.url, recall_seconds=1.2, after_seconds=1.0)
    return settings.model_copy(update={"plugin_token": SecretStr(TOKEN)})


async def say_all(talk: Talk) -> str:
    """Some turns, and a command for each part of the memory. Return what `/memory status` says."""
    for text in ("We decided to use Redis for the cart.", "continue the auth refactor", "Never use tabs.", "ok"):
        await talk.say(text)
    assert await talk.say("/memory")
    assert await talk.say("/memory forget 4f2a91bc")
    assert await talk.say("/memory why")
    assert len(talk.answered) == 4
    return await talk.say("/memory status")


async def test_every_turn_is_answered_without_a_server(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, server: Server, answer: Answer
) -> None:
    """With the server alone there is no memory meanwhile, which is said once."""
    async with open_talk(make_remote_settings(tmp_path, server, "remote")) as talk:
        status = await say_all(talk)
    said = list_warnings(caplog)
    why = [line.partition("failed: ")[2] for line in said]
    assert any(answer.said in each for each in why)
    assert len(said) <= 4  # what is too late on a busy machine is said, too
    assert "The last search failed" in status
    assert "The last write failed" in status
    assert "CANARY" not in caplog.text + status


async def test_a_hybrid_store_goes_on_alone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    server: Server,
    answer: Answer,
) -> None:
    """What is written is in the file once, is found there, and waits to be sent, once."""
    kept, path = Acknowledged(monkeypatch), tmp_path / "plugin.sqlite"
    settings = make_remote_settings(tmp_path, server, "hybrid")
    async with open_talk(settings) as talk:
        status = await say_all(talk)
        assert "Redis" in await talk.say("Which store does the cart use, Redis?")
    assert "Redis" in "".join(await kept.check_file(path, talk.at))
    assert len(kept.ids) == 2
    with sqlite3.connect(path) as connection:
        waiting = Counter(connection.execute("select item, verb from outbox where refusal is null"))
    assert waiting == Counter({(id_, "upsert"): 1 for id_ in kept.ids})
    said = list_warnings(caplog)
    searched = [line for line in said if line.startswith("The server was not searched")]
    assert any(answer.said in line for line in searched)
    assert any(line in status for line in searched)
    assert len(said) <= 4  # what is too late on a busy machine is said, too
    assert "CANARY" not in caplog.text + status
