"""The session of a token through the proxy: what goes before a request, what is stored after it, what it came to."""

import json
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import psycopg

from muniment.memory.domain.scope import Scope
from muniment.memory.domain.tokens.config import TOKEN_OWNER, find_token_id, name_tenant
from muniment.testing import ScriptedOpenAI, structured, tool_call
from tests.http.conftest import PROGRAM, wait_until
from tests.proxy.conftest import Proxy, read_sent

SYSTEM = {"role": "system", "content": "Be brief."}


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def ask(proxy: Proxy, query: str, *values: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(proxy.environment["MUNIMENT_OWNER_URL"], autocommit=True) as conn:
        return conn.execute(query, values).fetchall()


def find_scope(proxy: Proxy, token: str) -> Scope:
    """The scope of a token, which is found by the last four characters."""
    ((found,),) = ask(proxy, "select token_id from muniment.token_configs where hint = %s", token[-4:])
    return Scope(tenant=name_tenant(found), owner=TOKEN_OWNER)


def read_texts(proxy: Proxy, token: str) -> list[tuple[Any, ...]]:
    query = "select role, text from muniment.turns where space_id = %s order by position"
    return ask(proxy, query, find_scope(proxy, token).space)


def read_conversation(upstream: ScriptedOpenAI) -> list[dict[str, Any]]:
    return [message for message in read_sent(upstream)["messages"] if message["role"] != "system"]


def test_a_client_without_history_is_given_it(proxy: Proxy) -> None:
    """Each request, sent as soon as the answer before is there, has all that was said before it."""
    with ScriptedOpenAI(reply=[f"Answer {n}." for n in range(20)]) as upstream:
        token = proxy.register(upstream, session_window_size=100)
        said = []
        for n in range(15):
            assert proxy.chat(token, SYSTEM, f"Question {n}?").status_code == 200
            said.append(user(f"Question {n}?"))
            assert read_conversation(upstream) == said
            said.append(assistant(f"Answer {n}."))


def test_a_request_waits_for_the_exchange_before(proxy: Proxy) -> None:
    """A database that takes a second to store what was said does not make the next request forget it."""
    with ScriptedOpenAI(reply=["A.", "B.", "C."]) as upstream:
        token = proxy.register(upstream)
        proxy.chat(token, "One.")
        wait_until(lambda: len(read_texts(proxy, token)) == 2, 10)
        with psycopg.connect(proxy.environment["MUNIMENT_OWNER_URL"]) as conn:
            conn.execute(
                "select from muniment.sessions where space_id = %s for update", [find_scope(proxy, token).space]
            )
            proxy.chat(token, "Two.")
            later = threading.Timer(1, conn.rollback)
            later.start()
            proxy.chat(token, "Three.")
            later.join()
    said = ["One.", "A.", "Two.", "B.", "Three."]
    assert [message["content"] for message in read_conversation(upstream)] == said


def test_a_client_with_history_is_given_nothing_twice(proxy: Proxy) -> None:
    """Its request goes upstream as it came, secrets included; a shortened one gets the rest from the session."""
    with ScriptedOpenAI(reply=[f"Answer {n}." for n in range(20)]) as upstream:
        token = proxy.register(upstream, session_window_size=100)
        said = [SYSTEM]
        for n in range(5):
            said.append(user(f"Question {n}? My password is hunter22x{n}."))
            proxy.chat(token, *said)
            assert read_conversation(upstream) == said[1:]
            said.append(assistant(f"Answer {n}."))
        proxy.chat(token, SYSTEM, *said[-2:], user("And now?"))
        shown = read_conversation(upstream)
        assert [message["content"].split("?")[0] for message in shown] == [
            message["content"].split("?")[0] for message in [*said[1:], user("And now?")]
        ]
        assert shown[-3:] == [*said[-2:], user("And now?")]
        assert not [message for message in shown[:-3] if "hunter22x" in message["content"]]
    assert "hunter22x" not in str(read_texts(proxy, token))


def test_a_chain_of_calls_over_five_turns(proxy: Proxy) -> None:
    """A client that sends only what is new has a valid chain upstream, whose thoughts are stored nowhere."""

    def reply(body: dict[str, Any]) -> dict[str, Any]:
        n = len([message for message in body["messages"] if message["role"] == "user"])
        if body["messages"][-1]["role"] == "tool":
            return {"content": f"It rains {n}.", "reasoning_content": "SECRET"}
        calls = [tool_call("weather", {"n": n}, call_id=f"call_{n}{k}")["tool_calls"][0] for k in "ab"]
        return {"content": None, "tool_calls": calls, "reasoning_content": "SECRET"}

    expected: list[Any] = []
    with ScriptedOpenAI(reply=reply) as upstream:
        token = proxy.register(upstream, session_window_size=100)
        for n in range(1, 6):
            assert "SEC" in proxy.chat(token, f"Weather {n}?", stream=bool(n % 2)).text
            results = [{"role": "tool", "tool_call_id": f"call_{n}{k}", "content": f"rain {n}{k}"} for k in "ba"]
            assert "SEC" in proxy.chat(token, *results, stream=not n % 2).text
            chain = read_conversation(upstream)
            expected += [user(f"Weather {n}?"), reply({"messages": chain[:-2]}) | {"role": "assistant"}, *results]
            del expected[-3]["reasoning_content"]
            assert chain == expected
            expected.append(assistant(f"It rains {n}."))
    assert "SECRET" not in str(ask(proxy, "select t::text from muniment.turns t"))


def test_private_and_cut_off(proxy: Proxy) -> None:
    """Nothing is stored of a private request or of one that the upstream refused; of one cut off no answer."""
    with ScriptedOpenAI(fail=[None, None, "server_error", "cut_off"]) as upstream:
        token = proxy.register(upstream)
        proxy.chat(token, "Off.", headers={"x-muniment-memory": "off"})
        proxy.chat(token, "Read.", headers={"x-muniment-memory": "read"})
        assert proxy.chat(token, "Failing.").status_code == 500
        proxy.chat(token, "Cut off.", stream=True)
        proxy.chat(token, "Whole.")
    wait_until(lambda: ("user", "Whole.") in read_texts(proxy, token), 10)
    assert read_texts(proxy, token) == [("user", "Cut off."), ("user", "Whole."), ("assistant", "OK.")]


def test_the_same_request_at_once(proxy: Proxy, upstream: ScriptedOpenAI) -> None:
    """Sixteen times the same history, as retries send it, leave each message once, in its order."""
    token = proxy.register(upstream)
    said = [user("One."), assistant("Two."), user("Three.")]
    with ThreadPoolExecutor(16) as pool:
        assert {one.status_code for one in pool.map(lambda _: proxy.chat(token, *said), range(16))} == {200}
    proxy.chat(token, *said)
    expected = [("user", "One."), ("assistant", "Two."), ("user", "Three."), ("assistant", "OK.")]
    wait_until(lambda: len(read_texts(proxy, token)) >= 4, 10)
    assert read_texts(proxy, token) == expected


def test_accounts_and_budgets(own_proxy: Proxy) -> None:
    """Exchanges are counted for their token, and cost no memory budget; what its memory's model reads is charged to
    the token's tenant alone. A kill loses no exchange that is a second old."""
    fact = {
        "statement": "The user lives in Porto.",
        "about": "user",
        "attribute": "lives_in",
        "value": "Porto",
        "category": "profile",
        "quote": "I live in Porto",
        "importance": 4,
        "confidence": 0.9,
    }
    with ScriptedOpenAI() as upstream, ScriptedOpenAI(reply=structured({"facts": [fact]})) as reader:
        plain = own_proxy.register(upstream)
        read = own_proxy.register(
            upstream,
            memory_llm_provider="openai",
            memory_llm_api_key="k-123456789012",
            memory_llm_base_url=reader.base_url,
            memory_llm_body='{"model": "reader"}',
        )
        for n in range(3):
            own_proxy.chat(plain, f"Question {n}?")
        own_proxy.chat(plain, "Stream?", stream=True, stream_options={"include_usage": True})
        assert own_proxy.chat(plain, {"role": "user"}).status_code == 422
        for n in range(9):
            own_proxy.chat(read, f"I live in Porto, and my lucky number is {n}.")
        wait_until(lambda: bool(ask(own_proxy, "select from muniment.spend where model = 'reader'")), 30)
        assert reader.requests
    wait_until(lambda: ask(own_proxy, "select sum(requests) from muniment.proxy_days") == [(14,)], 10)
    own_proxy.stop(signal.SIGKILL)
    spent = ask(own_proxy, "select space_id from muniment.spend union all select space_id from muniment.spend_days")
    assert spent
    assert {space for (space,) in spent} == {find_scope(own_proxy, read).tenant_space}
    token_id = str(find_token_id(find_scope(own_proxy, plain).tenant))
    shown = subprocess.run(
        [PROGRAM, "proxy", "usage", str(own_proxy.folder), "--json", "--token", token_id],
        env=own_proxy.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    (day,) = json.loads(shown.stdout)["days"]
    assert (day["requests"], day["refused"], day["unreported"]) == (5, 1, 0)
    assert day["prompt_tokens"] > 0 < day["completion_tokens"]
    assert day["bytes_in"] > 0 < day["bytes_out"]
    assert day["longest_ms"] <= day["latency_ms"]


def test_usage_for_an_administrator(own_proxy: Proxy, upstream: ScriptedOpenAI) -> None:
    """The days of a token over HTTP, for an administrator alone; what cannot be read of a query is named."""
    token = own_proxy.register(upstream)
    own_proxy.chat(token, "Hello.")
    id_ = str(find_token_id(find_scope(own_proxy, token).tenant))
    wait_until(lambda: bool(ask(own_proxy, "select from muniment.proxy_days")), 10)
    with own_proxy.client(own_proxy.admin_token) as admin, own_proxy.client(token) as other:
        (day,) = admin.get("/v1/admin/usage", params={"token": id_, "days": 1}).json()["days"]
        assert (day["token_id"], day["requests"], day["refused"]) == (id_, 1, 0)
        assert admin.get("/v1/admin/usage", params={"token": str(uuid4())}).json() == {"days": []}
        assert other.get("/v1/admin/usage").status_code == 403
        assert admin.delete("/v1/admin/usage").status_code == 405
        for query in ({"days": "0"}, {"days": "x"}, {"token": "x"}):
            assert admin.get("/v1/admin/usage", params=query).status_code == 422
