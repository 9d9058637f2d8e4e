"""From where LangGraph's server takes requests in development mode."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from muniment.graph.server import is_local_request
from tests.graph.serving import ROOT

STUDIO = "https://smith.langchain.com"


def request(*, peer: str | None = "127.0.0.1", host: str = "localhost:2024", **headers: str) -> dict[str, Any]:
    given = {"host": host, **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = [(name.encode(), value.encode()) for name, value in given.items()]
    return {"type": "http", "headers": raw, "client": (peer, 50_000) if peer else None}


@pytest.mark.parametrize(
    "here",
    [
        request(),
        request(peer="::1", host="[::1]:2024"),
        request(peer="127.8.0.1", host="127.0.0.1"),
        request(origin=STUDIO),
        request(origin="http://localhost:3000"),
        request(origin="https://[::1]"),
    ],
)
def test_this_machine_is_answered(here: dict[str, Any]) -> None:
    """Its programs, its pages, and Studio."""
    assert is_local_request(here)


@pytest.mark.parametrize(
    "elsewhere",
    [
        request(peer="10.0.0.5"),
        request(peer="fe80::1%eth0"),
        request(peer=None),
        request(host=""),
        request(host="["),
        request(origin="http://["),
        request(host="evil.example"),
        request(host="localhost.evil.example:2024"),
        request(host="10.0.0.1:2024"),
        request(host="evil@localhost@evil.example"),
        request(x_forwarded_for="127.0.0.1"),
        request(forwarded="for=127.0.0.1"),
        request(origin="null"),
        request(origin=""),
        request(origin="https://evil.example"),
        request(origin=f"{STUDIO}.evil.example"),
        request(origin="http://localhost.evil.example"),
        request(origin="http://smith.langchain.com"),
    ],
)
def test_nobody_else_is(elsewhere: dict[str, Any]) -> None:
    """Not another machine, not what a proxy passes on, not a page from elsewhere, whatever its name leads to."""
    assert not is_local_request(elsewhere)


def test_browsers_are_told_the_same() -> None:
    """The origins whose pages may read answers, by `http.cors`, are those that are answered."""
    cors = json.loads((ROOT / "langgraph.json").read_text())["http"]["cors"]
    for origin in (STUDIO, "http://localhost", "http://127.0.0.1:3000", "https://[::1]:8", "null", "http://a.example",
                   "http://localhost.a.example", f"{STUDIO}.a.example", "http://smith.langchain.com"):  # fmt: skip
        is_told = origin in cors["allow_origins"] or re.fullmatch(cors["allow_origin_regex"], origin) is not None
        assert is_told == is_local_request(request(origin=origin)), origin
