"""Somebody who uses the console without a browser: logs in, and sends the forms of its pages."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from typing import Any

import httpx

from tests.http.conftest import Serving

_KEY = re.compile(r'name="form_key" value="([0-9a-f]+)"')


@contextmanager
def sign_in(serving: Serving, **grant: Any) -> Iterator[httpx.Client]:
    """A client with the cookie of a new token of this grant, as `Serving.token` takes it."""
    with httpx.Client(base_url=serving.url, timeout=30) as client:
        answer = client.post("/console/login", data={"token": serving.token(**grant)})
        assert answer.status_code == 303, answer.text
        yield client


def read_form_key(client: httpx.Client, path: str = "/console/users") -> str:
    """The key in the forms of a page."""
    found = _KEY.search(client.get(path).text)
    assert found, path
    return found[1]


def send_form(client: httpx.Client, path: str, fields: dict[str, Any] | None = None) -> httpx.Response:
    """Send a form as a page of this session would, without following where it leads."""
    return client.post(path, data={"form_key": read_form_key(client), **(fields or {})})


def read_text(answer: httpx.Response) -> str:
    """The words of a page, without marks, with single spaces."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())


def remember(serving: Serving, *texts: str, owner: str = "ana", category: str = "profile") -> list[str]:
    """Write memories of a user; their ids."""
    with serving.client(serving.token(owner=owner)) as api:
        answers = [api.post("/memories", json={"text": text, "category": category}) for text in texts]
    return [str(answer.raise_for_status().json()["changes"][0]["id"]) for answer in answers]
