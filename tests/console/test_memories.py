"""The list of memories and the page of one: P-20 to P-22, P-24, S-74 to S-79."""

import json
import re
import time
from typing import Any
from uuid import UUID

import httpx
import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn
from tests.conftest import alone
from tests.console.browser import Browser
from tests.console.visitor import read_text, send_form, sign_in
from tests.engine import NOON, engine
from tests.http.conftest import Serving

HOSTILE = {
    "script": "<script>alert(1)</script> was pasted.",
    "image": '"><img src=x onerror=alert(1)> broke the page.',
    "template": "{{ 7*7 }} ${7*7} <%= 7 %> is template syntax.",
    "chinese": "记" * 280,
    "arabic": "هذا نص عربي طويل مع English inside.",
    "zero width": "zero\u200bwidth\u200djoiners here.",
    "unbroken": "x" * 10_000,
}
LISBON, TEA = "The user lives in Lisbon", "The user drinks green tea."


def write(serving: Serving, write_all: Any) -> Any:
    """Do something with the engine of the service's database."""

    async def work() -> Any:
        async with engine(serving.environment["MUNIMENT_OWNER_URL"]) as memory:
            return await write_all(memory, Scope(tenant=serving.tenant, owner="ana", thread="t1", session="t1"))

    return alone(work())


def keep_all(serving: Serving, texts: dict[str, str], **more: Any) -> dict[str, UUID]:
    """Keep texts as they stand, and return the ids of their memories by name."""

    async def keep(memory: Memory, scope: Scope) -> dict[str, UUID]:
        found = {}
        for name, text in texts.items():
            turn = Turn.make(session="t1", key=name, role="user", text=f"Ana said: {text}", at=NOON, thread="t1")
            candidate = Candidate(text=text, category="activity", kind="episodic", turns=(TurnId(turn.id),), **more)
            receipt = await memory.keep_candidates(scope, [candidate], [turn])
            found[name] = UUID(str(receipt.changes[0].after.id))
        return found

    found: dict[str, UUID] = write(serving, keep)
    return found


def fill(serving: Serving, texts: list[str]) -> None:
    """Keep texts without comparing them with what is known."""

    async def ingest(memory: Memory, scope: Scope) -> None:
        await memory.ingest(scope, [Candidate(text=text, category="activity", kind="episodic") for text in texts])

    write(serving, ingest)


def learn(serving: Serving, text: str) -> UUID:
    async def work(memory: Memory, scope: Scope) -> UUID:
        turn = Turn.make(session="t1", key=text, role="user", text=text, at=NOON, thread="t1")
        receipt = await memory.learn(scope, turn)
        hashes = memory.conversation.shingle_hashes(receipt.changes[0].after.text)
        answer = Turn.make(
            session="t1", key=f"re {text}", role="assistant", text="Noted.", at=NOON, thread="t1", recalled=hashes
        )
        await memory.conversation.record(scope, [answer])
        return UUID(str(receipt.changes[0].after.id))

    id_: UUID = write(serving, work)
    return id_


@pytest.fixture
def lisbon(serving: Serving) -> UUID:
    """A memory that ana's words have made."""
    return learn(serving, "I live in Lisbon.")


@pytest.fixture
def two(serving: Serving) -> dict[str, UUID]:
    """Two memories of ana."""
    return keep_all(serving, {"tea": TEA, "cake": "The user bakes a cake."})


def page(id_: UUID, rest: str = "") -> str:
    return f"/console/memories/{id_}{rest}"


def key_of(client: httpx.Client, id_: UUID) -> str:
    """What the form of the preview has for a memory."""
    rev = re.search(r'name="rev" value="(\d+)"', client.get(page(id_, "/edit")).text)
    assert rev
    return f"{id_.hex}.{rev[1]}"


def follow(client: httpx.Client, answer: httpx.Response) -> str:
    assert answer.status_code == 303, answer.text
    return read_text(client.get(answer.headers["location"]))


def test_the_list_is_searched_by_words_and_by_meaning(ana: httpx.Client, two: dict[str, UUID]) -> None:
    assert "2 memories" in read_text(ana.get("/console/memories"))
    found = read_text(ana.get("/console/memories", params={"q": "GREEN tea"}))
    assert "1 memory" in found
    assert "cake" not in found
    asked = read_text(ana.get("/console/memories", params={"q": "which tea is drunk?", "way": "supervisor"}))
    assert "1 memory answers this" in asked
    assert TEA in asked
    assert "Nothing fits" in read_text(ana.get("/console/memories", params={"q": "nothing like this"}))


@pytest.mark.parametrize(
    ("name", "value", "is_found"),
    [
        ("category", "activity", True),
        ("category", "goals", False),
        ("kind", "episodic", True),
        ("kind", "insight", False),
        ("state", "all", True),
        ("state", "soft_deleted", False),
        ("trust", "document", True),
        ("trust", "user", False),
        ("source", "tea.md", True),
        ("source", "tea", False),
        ("agent", "planner", False),
        ("session", "t1", True),
        ("session", "t2", False),
        ("pinned", "yes", False),
        ("pinned", "no", True),
        ("since", "2026-05-04", True),
        ("since", "2026-05-05", False),
        ("until", "2026-05-04", True),
        ("until", "2026-05-03", False),
    ],
)
def test_a_filter_narrows_the_list(serving: Serving, ana: httpx.Client, name: str, value: str, is_found: bool) -> None:
    keep_all(serving, {"tea": TEA}, trust="document", source="tea.md")
    answer = ana.get("/console/memories", params={name: value})
    assert answer.status_code == 200
    assert (TEA in read_text(answer)) is is_found
    assert value in read_text(answer)  # the command line that does the same


@pytest.mark.parametrize("given", [{"state": "x"}, {"since": "soon"}, {"after": "x"}, {"way": "nobody"}])
def test_a_filter_that_there_is_not_is_told_on_the_page(ana: httpx.Client, given: dict[str, str]) -> None:
    answer = ana.get("/console/memories", params=given)
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text


def test_pages_follow_by_key_and_have_every_memory_once(serving: Serving, ana: httpx.Client) -> None:
    """What is added meanwhile moves nothing: the next page begins after the last memory of this one."""
    fill(serving, [f"Note number {n:03} of the day." for n in range(120)])
    seen: list[str] = []
    path = "/console/memories"
    while path:
        text = ana.get(path).text
        seen += re.findall(r"Note number (\d{3}) of", text)
        if len(seen) == 50:
            fill(serving, ["A late note of the day."])
        following = re.search(r'<a href="([^"]+)" rel="next">', text)
        path = following[1].replace("&amp;", "&") if following else ""
    assert seen == [f"{n:03}" for n in reversed(range(120))]


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
        assert [hit["text"] for hit in asked["hits"]][:1] == ["The user lives in Porto"]
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
    assert "a secret" in read_text(answer)
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


def test_several_are_changed_after_a_preview_and_undone(ana: httpx.Client, two: dict[str, UUID]) -> None:
    """What changed between the preview and the yes stays as it is, and is told."""
    ids = [each.hex for each in two.values()]
    preview = send_form(ana, "/console/memories/several/preview", {"id": ids, "action": "forget"})
    assert "2 memories will change." in read_text(preview)
    keys = re.findall(r'name="id" value="([0-9a-f]{32}\.\d+)"', preview.text)
    assert len(keys) == 2
    send_form(ana, page(two["tea"], "/pin"), {"pinned": "yes"})
    done = send_form(ana, "/console/memories/several/changed", {"id": keys, "action": "forget"})
    assert "1 memory has changed." in read_text(done)
    assert "changed since you looked" in read_text(done)
    assert TEA in read_text(ana.get("/console/memories"))
    back = re.findall(r'name="id" value="([0-9a-f]{32}\.\d+)"', done.text)
    assert [key.partition(".")[0] for key in back] == [two["cake"].hex]
    undone = send_form(ana, "/console/memories/several/changed", {"id": back, "action": "restore"})
    assert "1 memory has changed." in read_text(undone)
    assert "2 memories" in read_text(ana.get("/console/memories"))


def test_several_are_erased_with_what_says_them(ana: httpx.Client, two: dict[str, UUID]) -> None:
    keys = [key_of(ana, each) for each in two.values()]
    assert "2 memories have changed." in read_text(
        send_form(ana, "/console/memories/several/changed", {"id": keys, "action": "erase"})
    )
    assert "Nothing is remembered yet" in read_text(ana.get("/console/memories"))
    many = send_form(ana, "/console/memories/several/changed", {"id": [UUID(int=n).hex for n in range(11)], "action": "erase"})
    assert many.status_code == 422


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
            for verb in ("pin", "forget", "restore", "erase"):
                told = read_text(send_form(bob, path, {"id": [lisbon.hex, nobodys.hex], "action": verb}))
                assert told.count("not there") == 2
                assert "Lisbon" not in told


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


def test_ten_thousand_memories_are_listed_at_once(serving: Serving, ana: httpx.Client) -> None:
    """A page costs about as much as with few of them; the time has room for a busy machine."""
    fill(serving, [f"Note {n} about the number {n * 7}." for n in range(10_000)])
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        answer = ana.get("/console/memories")
        times.append(time.perf_counter() - begun)
        assert "10,000 memories" in read_text(answer)
    assert min(times) < 0.6
    assert len(answer.content) < 90_000


def test_hostile_words_are_text_on_every_page(chromium: Browser, serving: Serving, ana: httpx.Client) -> None:
    ids = keep_all(serving, HOSTILE, source="notes <b>.md")
    chromium.check_page(serving.url, "/console/memories", ana.cookies.jar)
    for name, id_ in ids.items():
        chromium.check_page(serving.url, page(id_), ana.cookies.jar, views=("narrow", "zoom"))
        with chromium.open_tab(serving.url, ana.cookies.jar) as tab:
            tab.open(page(id_))
            assert tab.page.locator("h1 bdi").inner_text() == HOSTILE[name]
            assert tab.page.locator("main script, main img, main b").count() == 0


def test_every_page_of_memories_is_sound_in_every_view(
    chromium: Browser, serving: Serving, ana: httpx.Client, lisbon: UUID
) -> None:
    keep_all(serving, {"tea": TEA})
    for path in ("/console/memories?pinned=no", page(lisbon), page(lisbon, "/edit"), page(lisbon, "/erase")):
        chromium.check_page(serving.url, path, ana.cookies.jar)
    chromium.check_page(serving.url, "/console/memories?q=nothing+like+this", ana.cookies.jar)


def test_the_empty_list_is_sound_in_every_view(chromium: Browser, serving: Serving, ana: httpx.Client) -> None:
    chromium.check_page(serving.url, "/console/memories", ana.cookies.jar)


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
