"""Canary secrets and raw sentences through the whole plugin: nowhere but before the model (P-7, P-15, P-85, P-86)."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from muniment.memory.bootstrap import open_memory
from muniment.memory.config.settings import Settings
from muniment.plugin.stores.hybrid.store import HybridStore
from muniment.testing import ScriptedOpenAI
from tests.canaries import find_hits
from tests.http.conftest import PROGRAM, Serving, make_environment, run_service
from tests.http.test_tracing import collect_spans
from tests.plugin.hosts import Session, make_settings, open_session
from tests.plugin_canaries.relay import Wire, relay_to
from tests.plugin_canaries.talk import MARKERS, SECRETS, TALK, find_words, list_raw

RAW = tuple(list_raw())
KEPT = "pnpm"  # of an item: where it is, something was written
STORES = ("local", "hybrid", "remote", "engine")


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where words of a talk may turn up, beside the database."""

    service: Serving
    spans: list[bytes]
    wire: Wire
    embeddings: ScriptedOpenAI
    home: Path
    environment: dict[str, str]


@pytest.fixture
def places(database_url: str, tmp_path: Path) -> Iterator[Places]:
    """A service with a collector of spans, the wire to it, and a service of embeddings."""
    environment = make_environment(database_url, tmp_path / "served")
    with collect_spans() as (url, bodies), ScriptedOpenAI() as embeddings:
        (tmp_path / "settings.yaml").write_text(f"serve: {{traces_url: '{url}'}}\n")
        quick = {"MUNIMENT_CONFIG": str(tmp_path / "settings.yaml"), "LOG_LEVEL": "DEBUG"}
        with run_service(environment | quick, tmp_path / "log") as service, relay_to(service.url) as wire:
            service.tenant = "default"
            yield Places(
                service=service,
                spans=bodies,
                wire=wire,
                embeddings=embeddings,
                home=tmp_path / "home",
                environment=environment,
            )


@asynccontextmanager
async def open_host(places: Places, store: str) -> AsyncIterator[tuple[Session, Settings]]:
    """A conversation of Ana's over a store, with vectors of a service where the store has any."""
    environment = {
        "MUNIMENT_EMBEDDER": "openai:text-embed",
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": places.embeddings.base_url,
        "MUNIMENT_PLUGIN_TOKEN": places.service.token(),
    }
    if store == "engine":
        environment = {name: places.environment[name] for name in ("MUNIMENT_DATABASE_URL", "MUNIMENT_EMBEDDER")}
    given: dict[str, Any] = {"store": store, "vectors": True, "url": places.wire.url, "remote_seconds": 10.0}
    settings = make_settings(places.home, environment=environment, **given)
    if store == "engine":
        async with open_memory(settings) as memory, open_session(settings, memory=memory, project="shop") as session:
            yield session, settings
        return
    async with open_session(settings, project="shop") as session:
        yield session, settings


@pytest.mark.parametrize("store", STORES)
@pytest.mark.timeout(240)
async def test_secrets_and_raw_words_are_nowhere(
    places: Places, database_url: str, caplog: pytest.LogCaptureFixture, store: str
) -> None:
    """Neither in files and their logs of changes, the outbox, on the wire to either service, nor in the database, the
    logs, the spans or the figures; and what the talk decided is where it belongs, so that this test sees it."""
    caplog.set_level(logging.DEBUG)
    async with open_host(places, store) as (session, settings):
        for said in TALK:
            await session.say(said.text, reply=said.reply, tools=said.tools)
        contents = " ".join(item.content for item in await session.list_items())
        live = read_files(places.home)
        if isinstance(session.plugin.store, HybridStore):
            await session.plugin.store.sync_now(session.owner)
    stats = read_stats(places, settings)
    metrics = read_metrics(places)
    assert places.service.stop() == 0
    seen: dict[str, bytes | str] = {
        "items": contents,
        "open files": live,
        "closed files": read_files(places.home),
        "log of the host": "\n".join(map(repr, caplog.records)) + caplog.text,
        "log of the server": places.service.log,
        "spans": "".join(map(str, map(ExportTraceServiceRequest.FromString, places.spans))),
        "figures": stats,
        "metrics": metrics,
    }
    carried: dict[str, bytes | str] = {
        "wire": bytes(places.wire.sent + places.wire.answered),
        "embeddings": b"\n".join(
            repr(request.headers).encode() + request.raw for request in places.embeddings.requests
        ),
    }
    assert find_words(contents, [KEPT]) == [KEPT]
    check_controls(store, seen | carried, database_url)
    whole = {place: find_words(data, (*SECRETS, *RAW)) for place, data in (seen | carried).items()}
    assert {place: hits for place, hits in whole.items() if hits} == {}
    # A service is searched by words, so single ones may be on the wire; they stay nowhere.
    words = {place: find_words(data, MARKERS) for place, data in seen.items() if place != "log of the host"}
    assert {place: hits for place, hits in words.items() if hits} == {}
    stored = {word: find_hits(database_url, word) for word in (*SECRETS, *RAW, *MARKERS)}
    assert {word: hits for word, hits in stored.items() if hits} == {}


def check_controls(store: str, seen: dict[str, bytes | str], database_url: str) -> None:
    """What was kept is seen in each place where it has to be."""
    local, remote = store in ("local", "hybrid"), store in ("hybrid", "remote")
    for place, is_there in (("open files", local), ("wire", remote), ("embeddings", local)):
        assert bool(find_words(seen[place], [KEPT])) is is_there, place
    assert bool(find_hits(database_url, KEPT)) is (store != "local")
    assert '"turns": ' in str(seen["figures"])
    assert store != "remote" or "POST /v1/store/search" in str(seen["spans"])


def read_files(folder: Path) -> bytes:
    """All that is in the files of a folder."""
    return b"\n".join(path.name.encode() + path.read_bytes() for path in folder.rglob("*") if path.is_file())


def read_stats(places: Places, settings: Settings) -> str:
    """What `muniment stats plugin --json` shows of the host."""
    config = places.home / "host.yaml"
    config.write_text(f"plugin: {{enabled: true, store: {settings.plugin.store}, url: '{places.wire.url}'}}\n")
    environment = places.environment | {"MUNIMENT_CONFIG": str(config), "MUNIMENT_HOME": str(places.home)}
    ran = subprocess.run(
        [PROGRAM, "stats", "plugin", "--days", "3650", "--json"],
        env=environment | {"MUNIMENT_PLUGIN_TOKEN": "mun_none"},
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout + ran.stderr


def read_metrics(places: Places) -> str:
    """What the service counts."""
    with places.service.client(places.service.token()) as client:
        return client.get("/metrics").text
