"""Which memory made a reply, over real HTTP."""

from __future__ import annotations

import time
from typing import Any

import httpx

from tests.console.conversations import talk_with_graph
from tests.http.conftest import Serving

SAID = ["I live in Lisbon.", "I am allergic to peanuts.", "Which city do I live in?"]
BISECT = "/v1/bisect"


def ask(client: httpx.Client, **body: Any) -> httpx.Response:
    """The answer once the search is over."""
    for _ in range(60):
        answer = client.post(BISECT, json={"session": "main", "turn": 5} | body)
        if answer.status_code != 202:
            return answer
        assert answer.json()["result"] is None
        time.sleep(0.2)
    raise AssertionError(answer.text)


def test_a_reply_is_traced_to_its_memory(serving: Serving, ana: httpx.Client) -> None:
    """The answer is that of the command line; the same request again makes no reply."""
    talk_with_graph(serving, SAID)
    answer = ask(ana, expect="Lisbon")
    assert answer.status_code == 200, answer.text
    result = answer.json()["result"]
    assert (result["outcome"], result["strayed"]) == ("found", 0)
    ((cause,),) = result["sets"]
    assert cause["text"] == "[profile] The user lives in Lisbon"
    assert cause["sources"][0]["text"] == "I live in Lisbon."
    assert "Lisbon" not in result["reply_without"]
    again = ask(ana, expect="Lisbon").json()["result"]
    assert again["reused"] == again["replies"] == result["replies"]
    missing = ask(ana, expect="submarine", missing=True).json()["result"]
    assert missing["outcome"] == "none would do"


def test_what_cannot_be_asked_is_refused(serving: Serving, ana: httpx.Client) -> None:
    """The errors are those of the other endpoints: also of a search that needs a model where there is none."""
    talk_with_graph(serving, SAID)
    refused: list[tuple[int, dict[str, Any]]] = [
        (422, {}),
        (422, {"expect": "a", "judge": "b"}),
        (422, {"expect": "*"}),
        (422, {"expect": "a", "runs": 99}),
        (422, {"expect": "a", "turn": -1}),
        (404, {"expect": "a", "turn": 99}),
        (404, {"expect": "a", "session": "other"}),
        (503, {"judge": "Does it name a city?"}),
    ]
    for status, body in refused:
        assert ask(ana, **body).status_code == status, body


def test_it_is_for_who_may_write_and_read_everything(serving: Serving) -> None:
    """A token that only reads does not spend, one of some agents does not see all, and another's turn is none."""
    talk_with_graph(serving, SAID)
    body = {"session": "main", "turn": 5, "expect": "Lisbon"}
    for grant, status in (
        ({"scopes": ("read",)}, 403),
        ({"agents": ("supervisor",)}, 403),
        ({"owner": "bo"}, 404),
    ):
        with serving.client(serving.token(**grant)) as client:
            assert client.post(BISECT, json=body).status_code == status, grant
