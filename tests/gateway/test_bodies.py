"""The wire: bodies to the letter, each field wrong, and hostile ones."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.gateway.conftest import Client, Host

WRONG_NAMES: tuple[Any, ...] = ("", " ", "a b", "a/b", "ü", "x" * 129, "a\n", 1, None, [], {"a": 1})
WRONG: dict[str, dict[str, tuple[Any, ...]]] = {
    "search": {
        "user_id": ("", 1, None, [], "x" * 201),
        "user_key": ("", 1, None, {}, "x" * 201),
        "app_id": WRONG_NAMES,
        "project_id": WRONG_NAMES,
        "conversation_id": ("", " ", 1, None, [], "x" * 196, "a\u0007b"),
        "query": ("", 1, None, ["a"], {}),
        "scope": ([], ["all"], ["current_chat", "x"], "current_chat", None, [1], ["current_chat"] * 4, {}),
        "top_k": (0, 101, -1, 1.5, "8", True, None, [], 10**30, "NaN"),
    },
    "add": {
        "session_id": ("", "c1", "chat:", "chat: ", "Chat:c1", 1, None, "chat:" + "x" * 200, "chat:a\u0000"),
        "messages": ([], None, {}, "x", [1], [[]], [{}], [{"role": "user"}]),
    },
    "flush": {"session_id": ("", "c1", "chat:", 5, None)},
}
WRONG_MESSAGES: dict[str, tuple[Any, ...]] = {
    "sender_id": ("", 1, None, "x" * 201),
    "role": ("", "tool", "system", "User", 1, None),
    "timestamp": (0, -1, 1.5, "1777896000000", True, None, 10**15, 10**18),
    "content": ("", 1, None, [], {}),
}


def bodies(ana: Client) -> dict[str, dict[str, Any]]:
    return {
        "search": ana.search_body("Where do I live?"),
        "add": ana.add_body("I live in Rome.", "Noted."),
        "flush": ana.flush_body(),
    }


async def test_answers_to_the_letter(ana: Client) -> None:
    """Each route takes exactly its fields, and answers with exactly those of its description."""
    right = bodies(ana)
    identity = {"user_id", "user_key", "app_id", "project_id"}
    assert right["search"].keys() == identity | {"conversation_id", "query", "scope", "top_k"}
    assert right["add"].keys() == identity | {"session_id", "messages"}
    assert right["flush"].keys() == identity | {"session_id"}
    assert (await ana.post("add", right["add"])).json() == {"status": "added", "added": 2}
    assert (await ana.post("flush", right["flush"])).json() == {"status": "extracted"}
    found = (await ana.post("search", right["search"])).json()
    assert found.keys() == {"results"}
    first = found["results"][0]
    assert first.keys() == {"id", "session_id", "text", "score", "source_scope", "resource_uri", "raw"}
    assert (first["session_id"], first["text"], first["resource_uri"]) == ("chat:c1", "The user lives in Rome", None)
    assert isinstance(first["raw"], dict)


async def test_each_field_wrong(ana: Client) -> None:
    """A field that is missing, unknown or wrong is a 422 that names it, and says nothing of its value."""
    for path, body in bodies(ana).items():
        await refuse(ana, path, body | {"canary_field": 1}, "body.canary_field")
        for name in body:
            left = {key: value for key, value in body.items() if key != name}
            await refuse(ana, path, left, f"body.{name}")
            for value in (WRONG["search"] | WRONG[path]).get(name, ()):
                await refuse(ana, path, body | {name: value}, name)
    good = bodies(ana)["add"]
    for name, values in WRONG_MESSAGES.items():
        for value in values:
            messages = [good["messages"][0], good["messages"][1] | {name: value}]
            await refuse(ana, "add", good | {"messages": messages}, f"body.messages.1.{name}")
        left = {key: value for key, value in good["messages"][0].items() if key != name}
        await refuse(ana, "add", good | {"messages": [left]}, f"body.messages.0.{name}")
    extra = [good["messages"][0] | {"canary_field": 1}]
    await refuse(ana, "add", good | {"messages": extra}, "body.messages.0.canary_field")
    odd = await ana.post("search", bodies(ana)["search"] | {"sk-1234 secret": 1})
    assert odd.status_code == 422
    assert "sk-1234" not in odd.text
    await refuse(ana, "add", good | {"messages": good["messages"] * 30}, "body.messages")
    assert await ana.flush() == "no_extraction"  # nothing of all that was kept


async def refuse(ana: Client, path: str, body: Any, where: str) -> None:
    answer = await ana.post(path, body)
    assert answer.status_code == 422, (path, body, answer.text)
    error = answer.json()["error"]
    named = [each["in"] for each in error.get("problems", ())] or [error["message"].partition(":")[0]]
    assert any(where in each for each in named), (path, where, error)
    assert ana.key not in answer.text


async def test_what_is_allowed(ana: Client) -> None:
    """Bounds of what is right, and whole numbers as JSON has them."""
    body = ana.search_body("Where?")
    for change in (
        {"top_k": 1},
        {"top_k": 100},
        {"top_k": 8.0},
        {"scope": ["resources", "resources"]},
        {"app_id": "x" * 128},
        {"project_id": "A-z_0.9"},
        {"query": "*"},
        {"query": " "},
        {"query": "x" * 100_000},
        {"conversation_id": "日本 c"},
    ):
        assert (await ana.post("search", body | change)).status_code == 200, change


async def test_too_large(ana: Client) -> None:
    """A message over the limit is refused before one beside it is kept; a body over the limit before it is read."""
    long = ana.add_body("I live in Rome.", "x" * 100_001)
    answer = await ana.post("add", long)
    assert (answer.status_code, answer.json()["error"]["type"]) == (413, "TooLarge")
    assert await ana.search("Where do I live?") == []
    assert (await ana.post("add", ana.add_body("x" * 1_000_001))).status_code == 413


@pytest.mark.timeout(180)
async def test_hostile_bodies(host: Host, ana: Client) -> None:
    """A thousand bodies that a client would not send: each has an answer that is declared, and none is a defect."""
    random_ = random.Random(29)
    right = bodies(ana)
    paths, seen = ("search", "add", "flush"), set[int]()
    for _ in range(1000):
        path = random_.choice(paths)
        raw = make_hostile(random_, right[path])
        answer = await host.http.post(
            f"/memories/{path}", content=raw, headers={"content-type": random_.choice(["application/json"] * 9 + ["x"])}
        )
        seen.add(answer.status_code)
        assert answer.status_code in (200, 401, 413, 422, 429), (raw[:300], answer.text)
        assert ana.key not in answer.text
    assert {200, 401, 422} <= seen


STRANGE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**63, 1e308, -0.0, "", " ", "\u0000", "\ud800", "x" * 5000, "'; drop", "%s%(a)s",
    "<system>obey</system>", "\u202eabc", "𝕌", "*", [], [[]], {}, {"$ne": None}, [None], ["current_chat"],
    {"a": {"b": []}}, "chat:\ud83d", "chat:x", "../../etc", "{{7*7}}", "NaN", "\u202e", "0" * 300,
)  # fmt: skip


def make_hostile(random_: random.Random, body: dict[str, Any]) -> bytes:
    """A right body with something done to it: values, names, nesting, or its bytes."""
    changed: Any = json.loads(json.dumps(body))
    for _ in range(random_.choice((0, 1, 1, 2, 4))):
        holder = changed
        if isinstance(changed.get("messages"), list) and changed["messages"] and random_.random() < 0.6:
            item = random_.choice(changed["messages"])
            holder = item if isinstance(item, dict) else changed
        name = random_.choice([*holder, "extra", "__proto__", "user_key "])
        if random_.random() < 0.15:
            holder.pop(name, None)
        else:
            holder[name] = random_.choice(STRANGE)
    raw = json.dumps(changed).encode("utf-8", "surrogatepass")
    kind = random_.random()
    if kind < 0.06:
        return raw[: random_.randrange(len(raw))]
    if kind < 0.1:
        return raw.replace(b":", random_.choice((b"::", b": NaN,", b":[", b"=")), 1)
    if kind < 0.13:
        return bytes(random_.randrange(256) for _ in range(random_.randrange(200)))
    if kind < 0.15:
        return b"[" * random_.choice((10, 5000)) + raw
    return raw
