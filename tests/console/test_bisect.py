"""Which memory made a reply, on the console: asked by a form, made behind it, and shown with where it comes from."""

import re
import time

import httpx
import pytest

from tests.console.browser import Browser
from tests.console.conversations import talk_with_graph, talk_without_graph
from tests.console.visitor import read_text, send_form, sign_in
from tests.http.conftest import Serving

REPLY, BISECT = "/console/threads/reply", "/console/threads/bisect"
SAID = ["I live in Lisbon.", "I am allergic to peanuts.", "Which city do I live in?"]


def wait_for(client: httpx.Client, address: str, words: str) -> str:
    """The words of a page, once it has these."""
    for _ in range(120):
        text = read_text(client.get(address))
        if words in text:
            return text
        time.sleep(0.25)
    raise AssertionError(text)


def test_a_reply_leads_to_the_memory_that_made_it(serving: Serving, ana: httpx.Client) -> None:
    """Bisect shows the minimal set, each with its source, and the reply without it; looking costs nothing."""
    talk_with_graph(serving, SAID)
    page = ana.get(REPLY, params={"id": "main", "at": 5})
    assert "bisect?id=main&amp;at=4" in page.text
    assert "bisect?id=main&amp;at=4&amp;missing=yes" in page.text
    asked = ana.get(BISECT, params={"id": "main", "at": 4, "missing": "yes"})
    assert "What should it have said?" in asked.text
    assert re.search(r'name="missing"[^>]* checked', asked.text)
    text = read_text(ana.get(BISECT, params={"id": "main", "at": 5}))
    assert "muniment bisect --thread main --turn 5 --expect PATTERN --user ana" in text
    assert "The search" not in text
    answer = send_form(ana, f"{BISECT}?id=main&at=5", {"expect": "Lisbon", "runs": "1"})
    assert answer.status_code == 303
    text = wait_for(ana, answer.headers["location"], "The reply needs this, and no less:")
    assert "[profile] The user lives in Lisbon" in text
    assert "From I live in Lisbon." in text
    assert "The reply without it" in text
    assert "Lisbon" not in text[text.index("The reply without it") : text.index("The same in a terminal")]
    other = read_text(ana.get(BISECT, params={"id": "main", "at": 5, "expect": "submarine"}))
    assert "The recorded reply does not have it." in other


def test_a_question_that_is_none_is_told(serving: Serving, ana: httpx.Client) -> None:
    talk_with_graph(serving, SAID)
    for fields, words in (
        ({"expect": "*"}, "expect: a text is wanted"),
        ({"expect": "a", "judge": "b"}, "exactly one of the two"),
        ({"expect": "a", "runs": "2"}, "runs: one of 1, 3, 5, 9"),
    ):
        answer = send_form(ana, f"{BISECT}?id=main&at=5", fields)
        assert words in read_text(ana.get(answer.headers["location"]))
    assert ana.get(BISECT, params={"id": "main", "at": 77}).status_code == 404


def test_a_search_that_stopped_says_why_and_goes_on(serving: Serving, ana: httpx.Client) -> None:
    """Without a model nobody can judge: the page says so, and the form stays."""
    talk_with_graph(serving, SAID)
    answer = send_form(ana, f"{BISECT}?id=main&at=5", {"judge": "Does it name a city?"})
    text = wait_for(ana, answer.headers["location"], "no model is configured")
    assert "The search does not go on at the moment." in text


def test_another_users_reply_is_none(serving: Serving, ana: httpx.Client) -> None:
    talk_with_graph(serving, ["I hide my money in the oven."], "secret", "bob")
    assert ana.get(BISECT, params={"id": "secret", "at": 0}).status_code == 404
    assert send_form(ana, f"{BISECT}?id=secret&at=0", {"expect": "oven"}).status_code == 404
    with sign_in(serving, owner="bob", agents=("supervisor",)) as client:
        assert client.get(BISECT, params={"id": "secret", "at": 0}).status_code == 403


def test_it_goes_by_hand_with_and_without_script(chromium: Browser, serving: Serving, ana: httpx.Client) -> None:
    talk_with_graph(serving, SAID)
    for script, words in ((True, "Lisbon"), (False, "live*Lisbon|lives")):
        with chromium.open_tab(serving.url, ana.cookies.jar, script=script) as tab:
            tab.open(f"{REPLY}?id=main&at=5")
            with tab.page.expect_navigation():
                tab.page.get_by_role("link", name="Which memory made this?").click()
            tab.page.locator("#expect").fill(words)
            with tab.page.expect_navigation():
                tab.page.get_by_role("button", name="Find it").click()
            for _ in range(60):
                if "and no less" in tab.page.locator("#bisect").inner_text():
                    break
                if not script:
                    tab.page.reload()
                time.sleep(0.5)
            assert "The user lives in Lisbon" in tab.page.locator("#bisect").inner_text()


@pytest.mark.parametrize(
    "query", ["", "&missing=yes", "&expect=Lisbon", "&expect=*", "&expect=submarine", "&judge=Does+it?&runs=5"]
)
def test_every_view_is_sound(chromium: Browser, serving: Serving, ana: httpx.Client, query: str) -> None:
    talk_with_graph(serving, SAID)
    if query == "&expect=Lisbon":
        answer = send_form(ana, f"{BISECT}?id=main&at=5", {"expect": "Lisbon"})
        wait_for(ana, answer.headers["location"], "and no less")
    ana.get(f"{BISECT}?id=main&at=5", timeout=120)  # the first page of a process waits for LangGraph
    chromium.check_page(serving.url, f"{BISECT}?id=main&at=5{query}", ana.cookies.jar)


def test_a_thread_without_checkpoints_has_it_too(serving: Serving, ana: httpx.Client) -> None:
    """Also in Chinese; what an own program has said is made again by the supervisor from the ledger."""
    talk_without_graph(serving, [("I live in Lisbon.", "Noted."), ("Which city do I live in?", "In Lisbon.")])
    send_form(ana, "/console/language", {"language": "zh"})
    answer = send_form(ana, f"{BISECT}?id=main&at=5", {"expect": "Lisbon"})
    text = wait_for(ana, answer.headers["location"], "缺一不可")
    assert "该会话没有保留这一轮的记录" in text
    assert re.search(r"\[profile\] The user lives in Lisbon", text)
