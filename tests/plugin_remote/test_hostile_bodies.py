"""Bodies that are no requests of the store: refused by a declared answer, which repeats nothing of them, and nothing of
them is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any
from uuid import uuid4

import pytest

from tests.http.conftest import Serving
from tests.plugin_remote.conftest import Connect
from tests.plugin_remote.items import NOW, every, make_owner

WORD = "zirconella"  # that no refusal repeats
AT = {"at": NOW.isoformat()}
ITEM = {"id": str(uuid4()), "type": "rule", "content": WORD, "created_at": NOW.isoformat()}
BODIES: dict[str, dict[str, Any]] = {
    "search": AT | {"text": WORD},
    "items": {"items": [ITEM]},
    "list": AT | {"project": WORD},
    "forget": {"ids": [ITEM["id"]], "project": WORD},
    "pin": {"id": ITEM["id"], "pinned": True, "project": WORD},
    "compact": AT | {"project": WORD},
    "operations": {"operations": [{"op_id": str(uuid4()), "verb": "upsert", "item_id": ITEM["id"], "item": ITEM}]},
}
JSON = {"Content-Type": "application/json"}


def spoil_bodies(body: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """A body of the store with one thing wrong each time."""
    text = json.dumps(body)
    yield "half a character", text.replace(WORD, "\\ud800").encode()
    yield "NUL", text.replace(WORD, "a\\u0000b").encode()
    yield "bytes of no text", text.encode().replace(WORD.encode(), b"\xff\xfe")
    yield "another type", text.replace(f'"{WORD}"', '{"$ne": 1}').encode()
    yield "NaN", text.replace(f'"{WORD}"', "NaN").encode()
    yield "half of it", text[: len(text) // 2].encode()
    yield "an unknown field", json.dumps(body | {"tenant": WORD}).encode()
    yield "a user of its own", json.dumps(body | {"user": WORD}).encode()
    yield "a list", json.dumps([body]).encode()
    yield "nothing", b""
    yield "deep nesting", text.replace(f'"{WORD}"', "[" * 4_000 + "]" * 4_000).encode()
    deep = deepcopy(body)
    deep["project"] = {"a": {"a": WORD}}
    yield "an object for a name", json.dumps(deep).encode()


@pytest.mark.parametrize("path", BODIES)
async def test_a_body_that_is_none(served: Serving, connect: Connect, path: str) -> None:
    """Refused with 422, whatever is wrong."""
    ana = make_owner(f"ana-{uuid4().hex[:8]}")
    with served.client(served.token(owner=ana.user)) as client:
        for name, body in spoil_bodies(BODIES[path]):
            answer = client.post(f"/v1/store/{path}", content=body, headers=JSON)
            assert answer.status_code == 422, (name, answer.text)
            assert WORD not in answer.text, name
        versions = [
            client.post(f"/v1/store/{path}", json=BODIES[path], headers={"Muniment-Store-Protocol": version})
            for version in ("2", "0", "one", "1.0", "9" * 300)
        ]
        assert {(each.status_code, each.json()["error"]["type"]) for each in versions} == {(422, "ProtocolMismatch")}
    store = connect(owner=ana.user)
    assert await store.list(every(ana, with_deleted=True)) == ()
    await store.close()


@pytest.mark.parametrize("path", BODIES)
def test_a_body_that_is_too_large(served: Serving, path: str) -> None:
    """10 MB are refused before they are read, and so is one of too many values."""
    with served.client(served.token(owner="ana")) as client:
        for body in (
            json.dumps(BODIES[path]).replace(WORD, WORD * 1_000_000).encode(),
            json.dumps(BODIES[path] | {"types": [[]] * 60_000}).encode(),
        ):
            answer = client.post(f"/v1/store/{path}", content=body, headers=JSON)
            assert (answer.status_code, answer.json()["error"]["type"]) == (413, "TooLarge")
            assert WORD not in answer.text
    assert "Traceback" not in served.log
    assert WORD not in served.log
