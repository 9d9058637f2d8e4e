"""The page of one memory: P-20 to P-22, P-24, S-74 to S-79."""

import json
import re
from uuid import UUID

import httpx
import pytest

from tests.console.browser import Browser
from tests.console.remembered import LISBON, TEA, follow, keep_again, keep_all, key_of, learn, page
from tests.console.visitor import read_form_key, read_text, send_form, sign_in
from tests.http.conftest import Serving


@pytest.fixture
def lisbon(serving: Serving) -> UUID:
    """A memory that ana's words have made."""
    return learn(serving, "I live in Lisbon.")


def test_a_memory_is_shown_with_its_turn_its_versions_and_who_was_told(
    serving: Serving, ana: httpx.Client, lisbon: UUID
) -> None:
    """P-24: where it comes from; S-77: what happened to it, newest first."""
    text = read_text(ana.get(page(lisbon)))
    assert "I live in Lisbon." in text
    assert "this made the memory" in text
    assert "Noted." in text
    assert "When its words were put before a model" in text
    assert "Remembered" in text


def test_a_memory_is_edited_seen_in_the_next_answer_and_put_back(
    serving: Serving, ana: httpx.Client, lisbon: UUID
) -> None:
    """The value is approved for the profile by the same hand."""
    fields = {"text": "The user lives in Porto", "category": "profile", "importance": "5", "aliases": "home\n base "}
    fields["rev"] = key_of(ana, lisbon).partition(".")[2]
    text = follow(ana, send_form(ana, page(lisbon, "/edit"), fields))
    assert "Saved as a new version" in text
    assert "edited by hand" in text
    with serving.client(serving.token()) as api:
        asked = api.post("/memory/query", json={"query": "where does the user live?", "agent": "supervisor"}).json()
        assert [hit["text"] for hit in asked["results"]][:1] == ["[profile] The user lives in Porto"]
        assert api.get("/consents").json()["requests"] == []
        history = api.get(f"/memories/{lisbon}/history").raise_for_status().json()["history"]
        first = min(entry["rev"] for entry in history)
    text = follow(ana, send_form(ana, page(lisbon, "/version"), {"version": first}))
    assert "The former version is back" in text
    with serving.client(serving.token()) as api:
        assert api.get(f"/memories/{lisbon}").json()["text"] == LISBON


def test_what_cannot_be_kept_is_told_beside_the_words(ana: httpx.Client, lisbon: UUID) -> None:
    secret = "ghp_" + "a1B2" * 9
    fields = {"category": "profile", "importance": "3", "aliases": "", "rev": key_of(ana, lisbon).partition(".")[2]}
    answer = send_form(ana, page(lisbon, "/edit"), fields | {"text": f"The key is {secret}."})
    assert answer.status_code == 422
    assert 'aria-invalid="true"' in answer.text
    assert "nothing of it was kept: it has" in read_text(answer)
    assert LISBON in read_text(ana.get(page(lisbon)))


def test_an_edit_of_what_has_changed_meanwhile_is_asked_again(
    serving: Serving, ana: httpx.Client, lisbon: UUID
) -> None:
    fields = {"text": "The user lives in Porto", "category": "profile", "importance": "3", "aliases": ""}
    fields["rev"] = key_of(ana, lisbon).partition(".")[2]
    send_form(ana, page(lisbon, "/pin"), {"pinned": "yes"})
    answer = send_form(ana, page(lisbon, "/edit"), fields)
    assert answer.status_code == 409
    assert "has changed since" in read_text(answer)
    assert "The user lives in Porto" in answer.text  # what was written is not lost
    fields["rev"] = key_of(ana, lisbon).partition(".")[2]
    assert send_form(ana, page(lisbon, "/edit"), fields).status_code == 303


def test_a_memory_is_pinned_forgotten_and_restored(ana: httpx.Client, lisbon: UUID) -> None:
    """P-21, P-22: what is forgotten stays so until a person restores it."""
    assert "ranks higher" in follow(ana, send_form(ana, page(lisbon, "/pin"), {"pinned": "yes"}))
    assert "The pin is off" in follow(ana, send_form(ana, page(lisbon, "/pin"), {"pinned": "no"}))
    assert "Forgotten." in follow(ana, send_form(ana, page(lisbon, "/forget")))
    assert LISBON not in read_text(ana.get("/console/memories"))
    assert LISBON in read_text(ana.get("/console/memories", params={"state": "soft_deleted"}))
    assert "as it was before" in follow(ana, send_form(ana, page(lisbon, "/restore")))
    assert LISBON in read_text(ana.get("/console/memories"))


def test_what_is_forgotten_does_not_come_back_with_its_turn(serving: Serving, ana: httpx.Client) -> None:
    """P-22: a turn that is read once more makes nothing of what a person has deleted."""
    tea = keep_all(serving, {"tea": TEA})["tea"]
    send_form(ana, page(tea, "/forget"))
    assert keep_again(serving, "tea", TEA) == 0
    assert "Nothing is remembered yet" in read_text(ana.get("/console/memories"))


def test_a_memory_is_erased_with_a_receipt_of_numbers(serving: Serving, ana: httpx.Client, lisbon: UUID) -> None:
    """What would go is shown first, and told again where it is more by now."""
    shown = ana.get(page(lisbon, "/erase"))
    seen = re.search(r'name="seen" value="([\d.]+)"', shown.text)
    assert seen
    send_form(ana, page(lisbon, "/pin"), {"pinned": "yes"})
    again = send_form(ana, page(lisbon, "/erase"), {"seen": seen[1]})
    assert again.status_code == 409
    assert "has changed since you looked" in read_text(again)
    seen = re.search(r'name="seen" value="([\d.]+)"', again.text)
    assert seen
    receipt = send_form(ana, page(lisbon, "/erase"), {"seen": seen[1]})
    assert receipt.status_code == 200
    assert "Lisbon" not in receipt.text
    assert "Receipt" in read_text(receipt)
    assert ana.get(page(lisbon)).status_code == 404
    assert "Lisbon" not in ana.get("/console/memories/export").text


def test_everything_is_downloaded(ana: httpx.Client, lisbon: UUID) -> None:
    """S-79: as `muniment export` has it."""
    answer = ana.get("/console/memories/export")
    assert answer.headers["content-disposition"] == 'attachment; filename="memory.jsonl"'
    rows = [json.loads(line) for line in answer.text.splitlines()]
    assert LISBON in {row.get("text") for row in rows}


def test_another_users_memory_is_as_one_that_is_not_there(serving: Serving, lisbon: UUID) -> None:
    nobodys = UUID(int=7)
    with sign_in(serving, owner="bob", scopes=("admin",)) as bob:
        for rest in ("", "/edit", "/erase"):
            answers = [bob.get(page(id_, rest)) for id_ in (lisbon, nobodys)]
            assert [answer.status_code for answer in answers] == [404, 404]
        fields = {"text": "Mine.", "rev": "1", "importance": "3", "version": "1", "seen": "1", "pinned": "yes"}
        for rest in ("/edit", "/version", "/pin", "/forget", "/restore", "/erase"):
            answers = [send_form(bob, page(id_, rest), fields) for id_ in (lisbon, nobodys)]
            assert [answer.status_code for answer in answers] == [404, 404], rest
            texts = [re.sub(r"[0-9a-f]{32}", "", answer.text) for answer in answers]
            assert texts[0] == texts[1]
        for path in ("/console/memories/several/preview", "/console/memories/several/changed"):
            for verb in ("pin", "forget", "restore"):
                told = read_text(send_form(bob, path, {"id": [lisbon.hex, nobodys.hex], "action": verb}))
                assert told.count("not there") == 2
                assert "Lisbon" not in told
        for rest in ("preview", "preview/erase"):
            both = {"id": [lisbon.hex, nobodys.hex], "action": "erase", "seen": "1.0.0.0.0.0"}
            told = read_text(send_form(bob, f"/console/memories/several/{rest}", both))
            assert told.count("not there") == 2
            assert "Lisbon" not in told


def test_an_operator_changes_what_is_of_the_chosen_user(
    operator: httpx.Client, ana: httpx.Client, lisbon: UUID
) -> None:
    """Every link and form of a page keeps the user; another one in the address has no such memory."""
    shown = operator.get(page(lisbon), params={"user": "ana"}).text
    addresses = re.findall(r'(?:href|action)="(/console/memories[^"]*)"', shown)
    assert addresses
    assert [each for each in addresses if "user=ana" not in each] == []
    assert operator.get(page(lisbon), params={"user": "bob"}).status_code == 404
    key = read_form_key(operator)
    for user, status in (("bob", 404), ("ana", 303)):
        answer = operator.post(page(lisbon, "/forget"), params={"user": user}, data={"form_key": key})
        assert answer.status_code == status
    assert "user=ana" in answer.headers["location"]
    assert "Nothing is remembered yet" in read_text(ana.get("/console/memories"))


def test_a_token_of_some_agents_sees_their_categories_alone(serving: Serving, lisbon: UUID) -> None:
    """A profile is none of the planner's, and what was said is of every category."""
    tea = keep_all(serving, {"tea": TEA})["tea"]
    with sign_in(serving, agents=("planner",), scopes=("read", "write")) as planner:
        assert "Lisbon" not in planner.get("/console/memories", params={"state": "all"}).text
        assert planner.get(page(lisbon)).status_code == 404
        assert planner.get(page(tea)).status_code == 404
        assert planner.get("/console/memories", params={"category": "profile"}).status_code == 403
        assert planner.get("/console/memories/export").status_code == 403
        told = read_text(send_form(planner, "/console/memories/several/preview", {"id": lisbon.hex, "action": "pin"}))
        assert "not there" in told


def test_who_may_only_read_is_offered_no_change(serving: Serving, lisbon: UUID) -> None:
    with sign_in(serving, scopes=("read",)) as reader:
        for path in ("/console/memories", page(lisbon)):
            forms = re.findall(r'<form method="post" action="([^"]*)"', reader.get(path).text)
            assert set(forms) <= {"/console/logout", "/console/language"}
        assert reader.get(page(lisbon, "/edit")).status_code == 403


@pytest.mark.parametrize("rest", ["", "/edit", "/erase"])
def test_every_page_of_a_memory_is_sound_in_every_view(
    chromium: Browser, serving: Serving, ana: httpx.Client, lisbon: UUID, rest: str
) -> None:
    keep_all(serving, {"tea": TEA})
    chromium.check_page(serving.url, page(lisbon, rest), ana.cookies.jar)


@pytest.mark.parametrize("script", [True, False])
def test_a_person_edits_and_forgets_in_the_browser_and_undoes_it(
    chromium: Browser, serving: Serving, ana: httpx.Client, lisbon: UUID, script: bool
) -> None:
    with chromium.open_tab(serving.url, ana.cookies.jar, script=script) as tab:
        here = tab.page
        tab.open("/console/memories")
        here.get_by_role("link", name=LISBON).click()
        here.get_by_role("link", name="Edit").click()
        here.get_by_label("Words").fill("The user lives in Porto")
        here.get_by_role("button", name="Save").click()
        assert here.locator("h1 bdi").inner_text() == "The user lives in Porto"
        here.get_by_role("button", name="Put this version back").first.click()
        assert here.locator("h1 bdi").inner_text() == LISBON
        tab.open("/console/memories")
        here.get_by_role("checkbox", name=LISBON).check()
        here.get_by_label("With the chosen ones").select_option("forget")
        here.get_by_role("button", name="See what will happen").click()
        here.get_by_role("button", name="Yes, forget them").click()
        assert here.locator("h1").inner_text() == "Forgotten"
        here.get_by_role("button", name="Undo").click()
        assert here.locator("h1").inner_text() == "Restored"


def test_a_memory_is_edited_by_the_keyboard_in_chinese(
    chromium: Browser, serving: Serving, ana: httpx.Client, lisbon: UUID
) -> None:
    send_form(ana, "/console/language", {"language": "zh", "next": "/"})
    chromium.check_page(serving.url, page(lisbon), ana.cookies.jar, views=("light", "narrow"))
    with chromium.open_tab(serving.url, ana.cookies.jar) as tab:
        tab.open(page(lisbon, "/edit"))
        keyboard = tab.page.keyboard
        for _ in range(30):
            keyboard.press("Tab")
            if tab.page.evaluate("document.activeElement.id") == "text":
                break
        keyboard.press("Control+A")
        keyboard.type("The user lives in Porto")
        while tab.page.evaluate("document.activeElement.className") != "main":
            keyboard.press("Tab")
        with tab.page.expect_navigation():
            keyboard.press("Enter")
        assert tab.page.locator("h1 bdi").inner_text() == "The user lives in Porto"
