"""The list of memories: P-20 to P-22, S-79."""

import re
import time
from uuid import UUID

import httpx
import pytest

from tests.console.browser import VIEWS, Browser
from tests.console.remembered import HOSTILE, TEA, fill, keep_all, page
from tests.console.visitor import read_text, send_form
from tests.http.conftest import Serving


@pytest.fixture
def two(serving: Serving) -> dict[str, UUID]:
    """Two memories of ana."""
    return keep_all(serving, {"tea": TEA, "cake": "The user bakes a cake."})


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
    text = ""
    while path and len(seen) < 200:
        text = ana.get(path).text
        seen += re.findall(r"Note number (\d{3}) of", text)
        if len(seen) == 50:
            fill(serving, ["A late note of the day."])
        following = re.search(r'<a href="([^"]+)" rel="next">', text)
        path = following[1].replace("&amp;", "&") if following else ""
    assert seen == [f"{n:03}" for n in reversed(range(120))]
    assert "121 memories" in text  # on the last page, too


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


def read_seen(answer: httpx.Response) -> str:
    """What the form of an erasure keeps of what it has shown."""
    seen = re.search(r'name="seen" value="([\d.-]+)"', answer.text)
    assert seen
    return seen[1]


def test_several_are_erased_with_receipts_of_what_the_preview_has_shown(
    serving: Serving, ana: httpx.Client, two: dict[str, UUID]
) -> None:
    """S-79: the receipts have no word of what is gone; where more would go than was shown, it is shown again."""
    ids = [each.hex for each in two.values()]
    preview = send_form(ana, "/console/memories/several/preview", {"id": ids, "action": "erase"})
    assert "2 turns of conversations" in read_text(preview)
    seen = read_seen(preview)
    send_form(ana, page(two["tea"], "/pin"), {"pinned": "yes"})
    again = send_form(ana, "/console/memories/several/preview/erase", {"id": ids, "seen": seen})
    assert again.status_code == 409
    assert "has changed since you looked" in read_text(again)
    assert TEA in read_text(ana.get("/console/memories"))
    done = send_form(ana, "/console/memories/several/preview/erase", {"id": ids, "seen": read_seen(again)})
    assert "2 memories are gone." in read_text(done)
    assert "turns 2" in read_text(done)
    assert "tea" not in read_text(done)
    assert "Nothing is remembered yet" in read_text(ana.get("/console/memories"))


def test_what_is_erased_takes_a_chosen_one_along_that_says_the_same(serving: Serving, ana: httpx.Client) -> None:
    keep_all(serving, {"tea": TEA})
    fill(serving, [f"Once again: {TEA}"])
    ids = re.findall(r'name="id" value="([0-9a-f]{32})"', ana.get("/console/memories").text)
    assert len(ids) == 2
    ids.reverse()  # the first said is erased first
    preview = send_form(ana, "/console/memories/several/preview", {"id": ids, "action": "erase"})
    done = send_form(ana, "/console/memories/several/preview/erase", {"id": ids, "seen": read_seen(preview)})
    assert "2 memories are gone." in read_text(done)
    assert "Nothing is remembered yet" in read_text(ana.get("/console/memories"))


def test_an_erasure_has_bounds_and_a_way_of_its_own(ana: httpx.Client, two: dict[str, UUID]) -> None:
    many = {"id": [UUID(int=n).hex for n in range(11)], "action": "erase"}
    for path in ("/console/memories/several/preview", "/console/memories/several/preview/erase"):
        assert send_form(ana, path, many).status_code == 422
    one = {"id": two["tea"].hex, "action": "erase"}
    assert send_form(ana, "/console/memories/several/changed", one).status_code == 422
    assert TEA in read_text(ana.get("/console/memories"))


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


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_words_are_text_on_the_page_of_a_memory(
    chromium: Browser, serving: Serving, ana: httpx.Client, name: str
) -> None:
    id_ = keep_all(serving, {name: HOSTILE[name]}, source="notes <b>.md")[name]
    chromium.check_page(serving.url, page(id_), ana.cookies.jar, views=("narrow", "zoom"))
    with chromium.open_tab(serving.url, ana.cookies.jar) as tab:
        tab.open(page(id_))
        assert tab.page.locator("h1 bdi").inner_text() == HOSTILE[name]
        assert tab.page.locator("main script, main img, main b").count() == 0


def test_hostile_words_are_text_in_the_list(chromium: Browser, serving: Serving, ana: httpx.Client) -> None:
    keep_all(serving, HOSTILE, source="notes <b>.md")
    chromium.check_page(serving.url, "/console/memories?state=all", ana.cookies.jar)
    with chromium.open_tab(serving.url, ana.cookies.jar) as tab:
        tab.open("/console/memories")
        said = tab.page.locator("th bdi").all_inner_texts()
        assert {text[:60] for text in said} == {text[:60] for text in HOSTILE.values()}
        assert tab.page.locator("main script, main img, main b").count() == 0


@pytest.mark.parametrize("path", ["/console/memories", "/console/memories?q=nothing+like+this&category=goals"])
def test_a_list_without_memories_is_sound_in_every_view(
    chromium: Browser, serving: Serving, ana: httpx.Client, path: str
) -> None:
    chromium.check_page(serving.url, path, ana.cookies.jar)


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_what_follows_a_choice_of_several_is_sound_in_every_view(
    chromium: Browser, serving: Serving, ana: httpx.Client, two: dict[str, UUID], view: str
) -> None:
    """Pages that only a form leads to: the preview, what was done, and the receipts."""
    with chromium.open_tab(serving.url, ana.cookies.jar, view=view) as tab:
        for verb, yes in (("pin", "Yes, pin them"), ("erase", "Yes, erase them for good")):
            tab.open("/console/memories")
            for box in tab.page.get_by_role("checkbox").all():
                box.check()
            tab.page.get_by_label("With the chosen ones").select_option(verb)
            for button in ("See what will happen", yes):
                tab.page.get_by_role("button", name=button).click()
                tab.take_picture(f"several {verb} {button}", view)
                assert not tab.overflows()
                assert tab.find_violations() == []
        assert tab.page.locator("h1").inner_text() == "Erased for good"


def test_several_are_forgotten_by_the_keyboard_alone(
    chromium: Browser, serving: Serving, ana: httpx.Client, two: dict[str, UUID]
) -> None:
    with chromium.open_tab(serving.url, ana.cookies.jar) as tab:
        keys = tab.page.keyboard

        def go_to(script: str) -> None:
            """Press Tab until what has the focus fits."""
            for _ in range(60):
                keys.press("Tab")
                if tab.page.evaluate(f"(e => {script})(document.activeElement)"):
                    return
            pytest.fail(f"the keyboard never reaches {script}")

        tab.open("/console/memories")
        for _ in two:
            go_to("e.name === 'id' && !e.checked")
            keys.press("Space")
        go_to("e.id === 'action'")
        keys.type("Forget")
        go_to("e.tagName === 'BUTTON'")
        with tab.page.expect_navigation():
            keys.press("Enter")
        go_to("e.className === 'main'")
        with tab.page.expect_navigation():
            keys.press("Enter")
        assert tab.page.get_by_text("2 memories have changed.").count() == 1


def test_a_printed_list_has_the_memories(
    chromium: Browser, serving: Serving, ana: httpx.Client, two: dict[str, UUID]
) -> None:
    with chromium.open_tab(serving.url, ana.cookies.jar) as tab:
        tab.open("/console/memories")
        tab.page.emulate_media(media="print")
        assert tab.page.get_by_text(TEA).is_visible()
        assert not tab.page.get_by_label("With the chosen ones").is_visible()
