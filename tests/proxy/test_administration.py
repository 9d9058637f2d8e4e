"""`/v1/admin/tokens` over real HTTP: what is registered is there for the next request, masked for who reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from muniment.memory.bootstrap import open_tokens
from muniment.memory.config.proxy_folder import load_proxy_settings
from muniment.memory.domain.scope import Permission
from muniment.testing import ScriptedOpenAI
from tests.conftest import alone
from tests.http.conftest import wait_until
from tests.proxy.conftest import Proxy
from tests.tokens import KEYS, make_fields

ADDRESS = "/v1/admin/tokens"


def issue(proxy: Proxy, tenant: str = "default", owner: str | None = None, **grant: Any) -> str:
    """A token of the service, an administrator's unless told."""
    scopes: tuple[Permission, ...] = grant.pop("scopes", ("admin",))

    async def work() -> str:
        async with open_tokens(load_proxy_settings(proxy.folder, proxy.environment), as_owner=True) as tokens:
            token, _ = await tokens.issue_token(tenant=tenant, owner=owner, scopes=scopes, **grant)
            return token.get_secret_value()

    return alone(work())


@pytest.fixture(scope="module")
def admin_token(shared_proxy: Proxy) -> str:
    return issue(shared_proxy)


@pytest.fixture
def admin(proxy: Proxy, admin_token: str) -> Iterator[httpx.Client]:
    with proxy.client(admin_token) as client:
        yield client


def register(admin: httpx.Client, upstream: ScriptedOpenAI, **changed: Any) -> dict[str, Any]:
    answer = admin.post(ADDRESS, json=make_fields(upstream, **changed))
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def check_refusal(answer: httpx.Response, status: int, code: str, param: str | None = None) -> str:
    """Hold an answer against the form of errors; its message."""
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["code"], error["param"]) == (code, param)
    assert not any(key in answer.text for key in KEYS.values())
    return str(error["message"])


def test_all_of_it(proxy: Proxy, admin: httpx.Client, upstream: ScriptedOpenAI) -> None:
    """Registered, used, listed, shown, changed, used again, deleted, refused."""
    made = register(admin, upstream, memory_llm_provider="rules", embed_provider="offline")
    token, id_ = made["token"], made["id"]
    assert token.startswith("mun_")
    assert proxy.chat(token, "hello").status_code == 200
    assert upstream.requests[-1].headers["authorization"] == f"Bearer {KEYS['llm_api_key']}"
    shown = admin.get(f"{ADDRESS}/{id_}")
    assert shown.json() == made | {"token": f"****{token[-4:]}"}
    assert shown.json()["llm_api_key"] == "****nary"
    listed = admin.get(ADDRESS).json()
    assert listed["object"] == "list"
    assert shown.json() in listed["data"]
    for method in ("PUT", "PATCH"):
        key = f"sk-changed-by-{method}"
        changed = admin.request(method, f"{ADDRESS}/{id_}", json={"llm_api_key": key, "memory_limit": 7})
        assert changed.status_code == 200, changed.text
        assert (changed.json()["memory_limit"], changed.json()["llm_base_url"]) == (7, upstream.base_url)
        assert proxy.chat(token, "hello again").status_code == 200
        assert upstream.requests[-1].headers["authorization"] == f"Bearer {key}"
    told = [line for line in proxy.log.splitlines() if line.endswith(f"token {id_}: updated")]
    assert ["[INFO]" in line for line in told] == [True, True]
    gone = admin.delete(f"{ADDRESS}/{id_}")
    assert (gone.status_code, gone.json()) == (200, {"id": id_, "object": "token", "deleted": True})
    assert proxy.chat(token, "hello").status_code == 401
    check_refusal(admin.get(f"{ADDRESS}/{id_}"), 404, "not_found")
    for text in (shown.text, json.dumps(listed), proxy.log):
        assert not any(secret in text for secret in (*KEYS.values(), token, "sk-changed-by"))


def test_who_may(proxy: Proxy, upstream: ScriptedOpenAI, admin: httpx.Client) -> None:
    """Nobody without a token; no token of a program; no administrator of one user, tenant or agent."""
    made = register(admin, upstream)
    calls = (
        ("GET", ADDRESS), ("POST", ADDRESS), ("GET", f"{ADDRESS}/{made['id']}"), ("PUT", f"{ADDRESS}/{made['id']}"),
        ("DELETE", f"{ADDRESS}/{made['id']}"), ("GET", f"{ADDRESS}/{uuid4()}"), ("GET", "/v1/admin/else"),
    )  # fmt: skip
    others = (
        made["token"], issue(proxy, scopes=("read", "write")), issue(proxy, owner="ana"), issue(proxy, tenant="acme"),
        issue(proxy, agents=("supervisor",)),
    )  # fmt: skip
    for method, address in calls:
        with proxy.client() as client:
            check_refusal(client.request(method, address, json={}), 401, "missing_token")
        with proxy.client("mun_" + "x" * 43) as client:
            check_refusal(client.request(method, address, json={}), 401, "invalid_token")
        for other in others:
            with proxy.client(other) as client:
                check_refusal(client.request(method, address, json={}), 403, "not_permitted")
    assert admin.get(f"{ADDRESS}/{made['id']}").json()["revision"] == 1


def test_what_there_is_not(admin: httpx.Client) -> None:
    """An unknown id, something that is no id, another address, another method."""
    for address in (f"{ADDRESS}/{uuid4()}", f"{ADDRESS}/x", f"{ADDRESS}/%00", f"{ADDRESS}/{uuid4()}/x", "/v1/admin/x"):
        check_refusal(admin.get(address), 404, "not_found")
    for method in ("PUT", "PATCH", "DELETE"):
        check_refusal(admin.request(method, f"{ADDRESS}/{uuid4()}", json={}), 404, "not_found")
    answer = admin.put(ADDRESS, json={})
    check_refusal(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == "GET, POST"
    assert admin.post(f"{ADDRESS}/{uuid4()}", json={}).status_code == 405


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b'"a"', b"{", b"7", b"\xff", b"[" * 50_000])
def test_bodies_that_are_no_object(admin: httpx.Client, upstream: ScriptedOpenAI, body: bytes) -> None:
    """For a new token and for a change."""
    check_refusal(admin.post(ADDRESS, content=body), 422, "invalid_request", "body")
    made = register(admin, upstream)
    check_refusal(admin.put(f"{ADDRESS}/{made['id']}", content=body), 422, "invalid_request", "body")


@pytest.mark.parametrize("name", sorted(set(make_fields()) - {"llm_model", "memory_prompt"}))
def test_fields_that_are_not_valid(admin: httpx.Client, upstream: ScriptedOpenAI, name: str) -> None:
    """Each field null, empty, zero or of another type: 422 names it and says what is allowed, and nothing is made."""
    made = register(admin, upstream)
    before = admin.get(ADDRESS).json()
    values: tuple[Any, ...] = (None, "", 0, [], {}, "****nary", True, 10**9)
    for value in values:
        for answer in (
            admin.post(ADDRESS, json=make_fields(upstream) | {name: value}),
            admin.put(f"{ADDRESS}/{made['id']}", json={name: value}),
        ):
            message = check_refusal(answer, 422, "invalid_token_config", name)
            assert message.startswith(f"{name}: is ")
            assert "allowed: " in message
    without = make_fields(upstream)
    del without[name]
    answer = admin.post(ADDRESS, json=without)
    if name == "memory_place":
        assert answer.json()["memory_place"] == "system"
    else:
        check_refusal(answer, 422, "invalid_token_config", name)
        assert admin.get(ADDRESS).json() == before


def test_unknown_fields(admin: httpx.Client, upstream: ScriptedOpenAI) -> None:
    """A field that there is not is refused, and its name, which may be anything, is not repeated."""
    message = check_refusal(
        admin.post(ADDRESS, json=make_fields(upstream, c4nary_field=1)), 422, "invalid_token_config", None
    )
    assert "c4nary" not in message
    assert "llm_base_url" in message


def test_a_row_that_became_bad(proxy: Proxy, admin: httpx.Client, upstream: ScriptedOpenAI) -> None:
    """Its program gets 401 until an update mends it; then the next request works."""
    made = register(admin, upstream, memory_llm_provider="rules", embed_provider="offline")
    with psycopg.connect(proxy.environment["MUNIMENT_OWNER_URL"], autocommit=True) as conn:
        conn.execute("update muniment.token_configs set memory_limit = 0 where token_id = %s", (made["id"],))
    check_refusal(proxy.chat(made["token"], "hello"), 401, "invalid_token_config")
    shown = admin.get(f"{ADDRESS}/{made['id']}").json()
    assert shown["problem"].startswith("memory_limit: is 0; allowed: ")
    assert admin.patch(f"{ADDRESS}/{made['id']}", json={"memory_limit": 4}).json()["problem"] is None
    assert proxy.chat(made["token"], "hello").status_code == 200


def test_deleted_with_its_memory(proxy: Proxy, admin: httpx.Client, upstream: ScriptedOpenAI) -> None:
    """Without `erase` the memory stays; with it nothing is left of the token but the receipt."""
    made = [register(admin, upstream, memory_llm_provider="rules", embed_provider="offline") for _ in range(2)]
    for each in made:
        assert proxy.chat(each["token"], "My parrot is called Zephyr").status_code == 200
    tenants = [f"token-{each['id'].replace('-', '')}" for each in made]

    def count(tenant: str) -> tuple[int, int, int]:
        with psycopg.connect(proxy.environment["MUNIMENT_OWNER_URL"]) as conn:
            row = conn.execute(
                "select (select count(*) from muniment.turns join muniment.spaces s using (space_id)"
                " where s.tenant_id = %(t)s),"
                " (select count(*) from muniment.tokens where tenant_id = %(t)s), (select count(*) from"
                " muniment.token_configs c join muniment.tokens k using (token_id) where k.tenant_id = %(t)s)",
                {"t": tenant},
            ).fetchone()
            assert row is not None
            return row[0], row[1], row[2]

    def has_turns(tenant: str) -> bool:
        return count(tenant)[0] > 0

    for tenant in tenants:
        wait_until(partial(has_turns, tenant))
    check_refusal(admin.delete(f"{ADDRESS}/{made[0]['id']}?erase=perhaps"), 422, "invalid_request", "erase")
    assert admin.delete(f"{ADDRESS}/{made[0]['id']}?erase=false").json()["deleted"]
    erased = admin.delete(f"{ADDRESS}/{made[1]['id']}?erase=true")
    assert erased.status_code == 200, erased.text
    counts = erased.json()["erased"]["counts"]
    assert (counts["tokens"], counts["turns"] > 0) == (1, True)
    kept, gone = (count(tenant) for tenant in tenants)
    assert kept[0] > 0
    assert kept[1:] == (1, 0)
    assert gone == (0, 0, 0)
    for each, what in zip(made, ("deleted", "deleted, and its memory erased"), strict=True):
        assert f"token {each['id']}: registered\n" in proxy.log
        assert f"token {each['id']}: {what}\n" in proxy.log
    for each in made:
        check_refusal(admin.delete(f"{ADDRESS}/{each['id']}?erase=true"), 404, "not_found")
        assert proxy.chat(each["token"], "hello").status_code == 401
