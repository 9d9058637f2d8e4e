"""Threads on the console: what stood before the model, what was learned, and memory as it was: P-22, P-25, S-76."""

import re
from html import unescape

import httpx
import pytest

from tests.console.browser import Browser
from tests.console.conversations import HOSTILE, remember, talk_with_graph, talk_without_graph
from tests.console.visitor import read_text, sign_in
from tests.http.conftest import Serving

THREADS, THREAD, REPLY, THEN = (
    "/console/threads",
    "/console/threads/thread",
    "/console/threads/reply",
    "/console/threads/then",
)
TALK = (
    ("I live in Lisbon.", "Noted."),
    ("I am allergic to peanuts.", "I will keep that in mind."),
    ("Do I eat peanuts?", "No: you are allergic to peanuts."),
)


def test_threads_are_listed_the_latest_first(serving: Serving, ana: httpx.Client) -> None:
    assert "Nothing was said yet" in read_text(ana.get(THREADS))
    talk_without_graph(serving, TALK[:1], "first")
    talk_without_graph(serving, TALK[:1], "second")
    page = ana.get(THREADS)
    assert re.findall(r"thread\?id=(\w+)", page.text) == ["second", "first"]
    assert "muniment sessions list --user ana" in read_text(page)
    assert "No thread fits" in read_text(ana.get(THREADS, params={"project": "none"}))


def test_words_that_were_said_lead_to_their_turn(serving: Serving, ana: httpx.Client) -> None:
    talk_without_graph(serving, TALK)
    page = ana.get(THREADS, params={"q": "Lisbon"})
    assert "I live in Lisbon." in read_text(page)
    assert "since=0#turn-0" in unescape(page.text)
    assert "Nobody said that" in read_text(ana.get(THREADS, params={"q": "submarine"}))


def test_a_thread_has_what_was_called_and_what_was_learned(serving: Serving, ana: httpx.Client) -> None:
    talk_without_graph(serving, TALK)
    text = read_text(ana.get(THREAD, params={"id": "main"}))
    assert re.search(r"I live in Lisbon\. Learned from it The user lives in Lisbon ● added revision 1", text)
    assert 'memory_query {"query": "Do I eat peanuts?"}' in text
    assert "Checkpoints none" in text


def test_a_thread_that_was_only_told_what_to_remember_says_so(serving: Serving, ana: httpx.Client) -> None:
    """Nothing was said in it, and it has what it was given all the same."""
    with serving.client(serving.token()) as api:
        api.post("/memories", json={"text": "Keeps bees on the roof", "session": "notes"}).raise_for_status()
    text = read_text(ana.get(THREAD, params={"id": "notes"}))
    assert "Turns none; 1 text was given to remember" in text
    assert "Keeps bees on the roof" in text


def test_a_reply_leads_to_the_memories_and_to_who_said_them(serving: Serving, ana: httpx.Client) -> None:
    talk_without_graph(serving, TALK)
    page = ana.get(REPLY, params={"id": "main", "at": 8})
    text = read_text(page)
    assert "The thread keeps no record of this turn" in text
    line = text[text.index("[constraints] The user is allergic to peanuts") :]
    assert line.startswith(
        "[constraints] The user is allergic to peanuts ■ lasting ● was before the model ● the reply says it"
    )
    assert "I am allergic to peanuts." in line
    assert re.search(r"/console/memories/[0-9a-f-]{36}", page.text)
    assert "#turn-3" in page.text


def test_a_line_that_the_reply_has_no_fingerprint_of_is_marked(serving: Serving, ana: httpx.Client) -> None:
    """What memory would give at the revision is not said to have been given."""
    talk_without_graph(serving, TALK[:1])
    with serving.client(serving.token()) as api:
        at = {
            "session": "api",
            "turns": [
                {"key": "1", "role": "user", "text": "Where do I live?"},
                {"key": "2", "role": "assistant", "text": "In Lisbon."},
            ],
        }
        api.post("/turns", json=at).raise_for_status()
    assert "not recorded" in read_text(ana.get(REPLY, params={"id": "api", "at": 1}))


def test_what_a_thread_of_the_graph_keeps_is_shown_as_it_was(serving: Serving, ana: httpx.Client) -> None:
    """The revision, the lasting part and the bullets are those of the turn, whatever memory says today."""
    talk_with_graph(serving, ["I live in Lisbon.", "I am allergic to peanuts.", "Do I eat peanuts?"])
    talk_without_graph(serving, [("I moved to Porto.", "Nice.")], "later")
    page = ana.get(THREAD, params={"id": "main"})
    text = read_text(page)
    assert re.search(r"Checkpoints \d+ checkpoints, [\d.]+ [kM]?B", text)
    assert text.count("What memory put before the model revision") == 3
    last = text[text.rindex("Do I eat peanuts?") :]
    assert re.search(r"before the model revision 2 · 2 memories", last)
    assert "- [profile] The user lives in Lisbon" in last
    reply = read_text(ana.get(REPLY, params={"id": "main", "at": 5}))
    assert "As the thread keeps it, from revision 2." in reply
    assert re.search(r"\[profile\] The user lives in Lisbon ■ lasting ● was before the model", reply)
    assert "Says today: The user" in reply


def test_the_thread_of_another_user_is_as_none(serving: Serving, ana: httpx.Client) -> None:
    talk_with_graph(serving, ["I hide my money in the oven."], "secret", "bob")
    for path in (THREAD, REPLY, THEN):
        answers = [ana.get(path, params={"id": name, "at": "0"}) for name in ("secret", "nothing")]
        assert [each.status_code for each in answers] == [404, 404]
        assert "oven" not in answers[0].text
    assert ana.get(THREAD, params={"id": "secret", "user": "bob"}).status_code == 403
    # A thread of the same name is another thread.
    talk_without_graph(serving, TALK[:1], "secret")
    text = read_text(ana.get(THREAD, params={"id": "secret"}))
    assert "oven" not in text
    assert "Checkpoints none" in text


def test_a_token_of_some_agents_sees_no_thread(serving: Serving) -> None:
    talk_without_graph(serving, TALK[:1])
    with sign_in(serving, owner="ana", agents=("supervisor",)) as client:
        for path in (THREADS, f"{THREAD}?id=main", f"{REPLY}?id=main&at=0", f"{THEN}?id=main"):
            assert client.get(path).status_code == 403
        assert client.get(THEN, params={"rev": 1}).status_code == 200


def test_memory_is_shown_as_it_was_at_a_revision(serving: Serving, ana: httpx.Client) -> None:
    talk_without_graph(serving, TALK[:1])
    talk_without_graph(serving, [("I moved to Porto.", "Nice.")], "later")
    then = read_text(ana.get(THEN, params={"rev": 1}))
    assert "What revision 1 changed ● added The user lives in Lisbon" in then
    assert "1 memory then" in then
    assert "◐ says something else" in then
    assert "Porto" not in then
    assert "The user" not in read_text(ana.get(THEN, params={"rev": 0}))
    assert ana.get(THEN, params={"rev": 99}).status_code == 422


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"was": "2", "slide": "1", "rev": "2"}, 1),
        ({"was": "2", "slide": "2", "rev": "1"}, 1),
        ({"was": "2", "slide": "2", "rev": "2"}, 2),
        ({"was": "2", "slide": "0", "rev": "1"}, 1),
    ],
)
def test_of_slider_and_field_the_changed_one_counts(
    serving: Serving, ana: httpx.Client, fields: dict[str, str], shown: int
) -> None:
    """A form without script sends both."""
    remember(serving, "The user drinks tea.", "The user has a bicycle.")
    assert f"Memory at revision {shown}" in read_text(ana.get(THEN, params=fields))


def test_the_slider_goes_by_the_keyboard_with_and_without_script(
    chromium: Browser, serving: Serving, ana: httpx.Client
) -> None:
    remember(serving, "The user drinks tea.", "The user has a bicycle.", "The user sleeps until noon.")
    for script in (True, False):
        with chromium.open_tab(serving.url, ana.cookies.jar, script=script) as tab:
            tab.open(f"{THEN}?rev=3")
            slider = tab.page.locator("#slide")
            slider.focus()
            with tab.page.expect_navigation():
                tab.page.keyboard.press("ArrowLeft")
                if not script:
                    tab.page.keyboard.press("Enter")
            assert tab.page.locator("h1").inner_text() == "Memory at revision 2"


def test_what_stood_before_the_model_opens_in_its_place(chromium: Browser, serving: Serving, ana: httpx.Client) -> None:
    talk_without_graph(serving, TALK)
    with chromium.open_tab(serving.url, ana.cookies.jar) as tab:
        tab.open(f"{THREAD}?id=main")
        tab.page.locator("#turn-6 details summary").first.press("Enter")
        tab.page.locator("#before-6 pre").first.wait_for()
        assert "The user lives in Lisbon" in tab.page.locator("#before-6").inner_text()
    with chromium.open_tab(serving.url, ana.cookies.jar, script=False) as tab:
        tab.open(f"{THREAD}?id=main")
        tab.page.locator("#turn-6 details summary").first.click()
        with tab.page.expect_navigation():
            tab.page.locator("#before-6 a").click()
        assert tab.page.locator("h1").inner_text() == "Why did it say this?"


@pytest.mark.parametrize(
    "path",
    [
        f"{THREADS}?q=peanuts",
        f"{THREAD}?id=main",
        f"{REPLY}?id=main&at=8",
        f"{REPLY}?id=main&at=29",
        f"{THEN}?id=main&rev=1",
    ],
)
def test_every_view_of_a_thread_is_sound(chromium: Browser, serving: Serving, ana: httpx.Client, path: str) -> None:
    talk_without_graph(serving, [*TALK, *((each, each) for each in HOSTILE)])
    chromium.check_page(serving.url, path, ana.cookies.jar)


def test_the_views_of_no_thread_and_of_one_of_the_graph_are_sound(
    chromium: Browser, serving: Serving, ana: httpx.Client
) -> None:
    chromium.check_page(serving.url, THREADS, ana.cookies.jar)
    talk_with_graph(serving, ["I live in Lisbon."], "kept")
    chromium.check_page(serving.url, f"{THREAD}?id=kept", ana.cookies.jar)


def test_hostile_words_of_a_thread_are_text(serving: Serving, ana: httpx.Client) -> None:
    talk_without_graph(serving, [(each, each) for each in HOSTILE])
    page = ana.get(THREAD, params={"id": "main"}).text
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "{{ 7*7 }}" in page
