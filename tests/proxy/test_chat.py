"""A chat through the proxy: what goes upstream, and what comes back."""

import json

from tests.proxy.conftest import UPSTREAM_KEY, Proxy, Teach, Upstream, read_sent


def test_a_color_and_an_animal(proxy: Proxy, upstream: Upstream, token: str, teach: Teach) -> None:
    """What was told before the window is in the request upstream, behind the system prompt; another token knows
    nothing."""
    small = proxy.register(upstream, session_window_size=1)
    teach(small, "My favorite color is teal.")
    teach(small, "My favorite animal is the otter.")
    for number in range(3):
        proxy.chat(small, f"What is {number} plus {number}?")
    answer = proxy.chat(small, {"role": "system", "content": "Be brief."}, "What are my favorite color and animal?")
    assert answer.status_code == 200
    assert answer.headers["x-muniment-memory"].startswith("injected=2; rev=")
    system, *_, last = read_sent(upstream)["messages"]
    assert system["role"] == "system"
    assert system["content"].startswith("Be brief.\n\n")
    assert "teal" in system["content"]
    assert "otter" in system["content"]
    assert last == {"role": "user", "content": "What are my favorite color and animal?"}
    other = proxy.chat(token, "What are my favorite color and animal?")
    assert other.headers["x-muniment-memory"].startswith("injected=0")
    assert read_sent(upstream)["messages"] == [{"role": "user", "content": "What are my favorite color and animal?"}]


def test_the_key_of_the_upstream(proxy: Proxy, upstream: Upstream, token: str) -> None:
    """The token's own key goes upstream, and neither the token nor a header of ours does."""
    proxy.chat(token, "Hello", headers={"x-muniment-memory": "off", "X-Copy": f"Bearer {token}", "X-Other": "1"})
    sent = upstream.requests[-1]
    assert sent.headers["authorization"] == f"Bearer {UPSTREAM_KEY}"
    assert sent.headers["x-other"] == "1"
    assert token not in json.dumps(sent.headers)
    assert not [name for name in sent.headers if name.startswith("x-muniment")]
