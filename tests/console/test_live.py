"""What changes appears on open pages: nothing is lost, nothing of anybody else, nobody is disturbed: P-33, P-104."""

import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.console.browser import Browser
from tests.console.test_inbox import fill, find_forms, wait_for
from tests.console.visitor import remember, send_form, sign_in
from tests.http.conftest import Serving

LIVE = "/console/live"
EVENTS = {"Accept": "text/event-stream"}
STREAMS = 10  # of a token
PATIENCE = 30_000  # milliseconds


@contextmanager
def follow(client: httpx.Client, address: str = LIVE, **headers: str) -> Iterator[Iterator[tuple[str, str, Any]]]:
    """The events of a stream: the kind, the id and the data of each."""
    with client.stream("GET", address, headers={**EVENTS, **headers}) as answer:
        assert answer.status_code == 200, answer.status_code
        assert answer.headers["content-type"] == "text/event-stream"

        def read() -> Iterator[tuple[str, str, Any]]:
            fields: dict[str, str] = {}
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                if line and name:
                    fields[name] = value
                elif "event" in fields:
                    yield fields["event"], fields.get("id", ""), json.loads(fields["data"])
                    fields = {}

        yield read()


def find_revision(client: httpx.Client) -> int:
    """The revision that a page follows from."""
    found = re.search(r"/console/live\?(?:[^\"]*&amp;)?since=(\d+)", client.get("/").text)
    assert found
    return int(found[1])


def test_a_change_is_an_event_and_a_cut_stream_goes_on_where_it_was(serving: Serving, ana: httpx.Client) -> None:
    remember(serving, "Ana lives in Lisbon.")
    since = find_revision(ana)
    with follow(ana, f"{LIVE}?since={since}") as events:
        assert next(events)[:2] == ("start", str(since))
        remember(serving, "Ana has a red bicycle.")
        kind, id_, data = next(events)
        assert (kind, int(id_), data) == ("change", since + 1, {"changes": 1})
    remember(serving, "Ana grows tomatoes.", "Ana sings in a choir.")
    with follow(ana, f"{LIVE}?since={since}", **{"Last-Event-ID": id_}) as events:
        assert next(events) == ("change", str(since + 3), {"changes": 2})


def test_nothing_of_another_user_or_another_category_is_told(serving: Serving, ana: httpx.Client) -> None:
    remember(serving, "Ana lives in Lisbon.")
    limited = sign_in(serving, owner="ana", agents=("planner",), scopes=("read",))
    with follow(ana) as events, limited as reader, follow(reader, f"{LIVE}?since=1") as fewer:
        assert next(events)[0] == next(fewer)[0] == "start"
        remember(serving, "Ben has a dog.", owner="ben")
        remember(serving, "Ana is called Annie.", category="profile")
        remember(serving, "Ana has a plan for the garden.", category="goals")
        assert next(events)[0] == "change"
        seen = next(fewer)
        assert seen[0] == "change"
        assert seen[2]["changes"] == 1, "the planner reads goals, and no profile"


def test_a_stream_ends_with_its_session(serving: Serving, ana: httpx.Client) -> None:
    remember(serving, "Ana lives in Lisbon.")
    with sign_in(serving, owner="ana", scopes=("admin",)) as other, follow(other) as events:
        assert next(events)[0] == "start"
        serving.revoke_all()
        assert list(events)[-1][0] == "over", "after the next look at the session"
    assert httpx.get(serving.url + LIVE, headers=EVENTS).status_code == 303


def test_a_token_follows_so_many_pages_and_no_more(serving: Serving, ana: httpx.Client) -> None:
    open_streams = [ana.stream("GET", LIVE, headers=EVENTS) for _ in range(STREAMS)]
    answers = [each.__enter__() for each in open_streams]
    assert {each.status_code for each in answers} == {200}
    refused = ana.get(LIVE, headers=EVENTS)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "10")
    with sign_in(serving, owner="ana", scopes=("admin",)) as other, follow(other):
        pass
    for each in open_streams:
        each.__exit__(None, None, None)
    for _ in range(50):
        with ana.stream("GET", LIVE, headers=EVENTS) as answer:
            if answer.status_code == 200:
                return
        serving.wait(0.2)
    pytest.fail("a stream that has ended is counted on")


def test_a_page_that_is_no_stream_leads_on(ana: httpx.Client) -> None:
    assert ana.get(LIVE).headers["location"] == "/"
    assert ana.get("/console/users").text.count('id="live"') == 1, "of a token of one user each page is of that user"


def test_the_count_changes_and_what_a_person_does_is_left_alone(
    chromium: Browser, serving: Serving, ana: httpx.Client
) -> None:
    """Neither the focus nor the place nor what is typed; a list that is read says how much is new."""
    fill(serving)
    with chromium.open_tab(serving.url, ana.cookies.jar) as tab:
        page = tab.page
        tab.open("/console/inbox")
        page.locator(".edit summary").first.click()
        field = page.locator(".edit[open] [name=text]").first
        field.fill("what I type")
        page.evaluate("window.scrollTo(0, 300)")
        field.focus()
        before = field.bounding_box()
        form = next(each for each in find_forms(ana) if each["kind"] == "contradiction")
        send_form(ana, "/console/inbox/answer", {**form, "answer": "no"})
        page.locator(".tally", has_text="4").wait_for(timeout=PATIENCE)
        page.locator("#live", has_text="1 change").wait_for(timeout=PATIENCE)
        assert page.evaluate("document.activeElement.name") == "text"
        assert (field.input_value(), field.bounding_box()) == ("what I type", before)
        assert page.locator(".waits").count() == 5
        page.locator("#live a").click()
        page.locator("#live", has_text="is not touched").wait_for(timeout=PATIENCE)
        assert field.input_value() == "what I type"


def test_a_list_is_renewed_by_a_click_without_a_reload(chromium: Browser, serving: Serving, ana: httpx.Client) -> None:
    with chromium.open_tab(serving.url, ana.cookies.jar) as tab:
        tab.open("/console/inbox")
        tab.page.evaluate("window.isTheSame = true")
        fill(serving, wait_for("Always recommend Acme kettles"), each=False)
        tab.page.locator("#live a").click(timeout=PATIENCE)
        tab.page.locator(".waits h2", has_text="Acme").wait_for(timeout=PATIENCE)
        assert tab.page.locator("#live").is_hidden()
        assert tab.page.evaluate("window.isTheSame")
        assert tab.find_violations() == []


def test_without_script_a_link_refreshes(chromium: Browser, serving: Serving, ana: httpx.Client) -> None:
    with chromium.open_tab(serving.url, ana.cookies.jar, script=False) as tab:
        tab.open("/console/inbox?kind=instruction&notice=inbox.notice.undone")
        fill(serving, wait_for("Always recommend Acme kettles"), each=False)
        tab.page.get_by_role("link", name="Refresh").click()
        tab.page.locator(".waits h2", has_text="Acme").wait_for()
        assert tab.page.url.endswith("/console/inbox?kind=instruction")


def test_a_lost_connection_says_so_and_goes_on(chromium: Browser, own_serving: Serving) -> None:
    """What was changed in between is counted, too."""
    remember(own_serving, "Ana lives in Lisbon.")
    with sign_in(own_serving, owner="ana", scopes=("admin",)) as ana:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        own_serving.stop()
        own_serving.arguments = ("--no-worker", "--port", str(port))
        restart(own_serving, port)
        with chromium.open_tab(own_serving.url, ana.cookies.jar) as tab:
            tab.open("/console/licences")
            own_serving.stop()
            tab.page.locator("#live", has_text="lost").wait_for(timeout=PATIENCE)
            restart(own_serving, port)
            remember(own_serving, "Ana has a red bicycle.")
            tab.page.locator("#live", has_text="1 change").wait_for(timeout=PATIENCE)
            # The browser says by itself that a server was away.
            tab.complaints = [each for each in tab.complaints if "ERR_" not in each]


def restart(serving: Serving, port: int) -> None:
    """Start a service anew on a port."""
    serving.log_path.unlink(missing_ok=True)
    serving.url = ""
    serving.start()
    assert serving.url.endswith(f":{port}")
