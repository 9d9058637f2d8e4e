"""Consolidation runs in the console: pairs, verdicts, money, and taking one back: P-21, L-162."""

from __future__ import annotations

from uuid import UUID

import httpx
import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.consolidation import Run
from tests.console.browser import Browser
from tests.console.space import HOSTILE, find_scope, run_in
from tests.console.visitor import read_text, send_form, sign_in
from tests.engine import note
from tests.http.conftest import Serving
from tests.twins import TWINS


def consolidate(serving: Serving, *texts: str, owner: str = "ana") -> Run:
    """A run over these memories of a user."""

    async def work(memory: Memory) -> Run:
        await memory.ingest(find_scope(serving, owner), [note(text) for text in texts])
        run = await memory.admin.consolidate(find_scope(serving, owner))
        assert run is not None
        return run

    return run_in(serving, work)


def count_active(serving: Serving) -> int:
    async def work(memory: Memory) -> int:
        return len(await memory.list(find_scope(serving)))

    return run_in(serving, work)


def test_a_run_is_shown_with_its_pairs_and_taken_back(serving: Serving, ana: httpx.Client) -> None:
    """P-21: without script: the list, the run, the preview, and the undoing, after which both memories are there."""
    assert "There was no consolidation yet" in read_text(ana.get("/console/nights"))
    run = consolidate(serving, *TWINS)
    assert run.same == 1
    assert f"/console/nights/{run.id}" in ana.get("/console/nights").text
    shown = read_text(ana.get(f"/console/nights/{run.id}"))
    assert "the same" in shown
    assert all(text in shown for text in TWINS)
    assert count_active(serving) == 1
    preview = read_text(ana.get(f"/console/nights/{run.id}/undo"))
    assert "2 memories become what they were before." in preview
    assert f"muniment consolidate --undo {str(run.id)[:8]} --user ana" in preview
    assert count_active(serving) == 1
    done = send_form(ana, f"/console/nights/{run.id}/undo")
    assert done.status_code == 303
    assert "2 memories are what they were before." in read_text(ana.get(done.headers["location"]))
    assert count_active(serving) == 2
    assert send_form(ana, f"/console/nights/{run.id}/undo").status_code == 422
    assert "taken back" in read_text(ana.get("/console/nights"))


def test_another_users_run_is_as_none(serving: Serving, ana: httpx.Client) -> None:
    """P-104: the same answer as for a run that does not exist, and nothing changes."""
    run = consolidate(serving, *TWINS, owner="bob")
    for path in (f"/console/nights/{run.id}", f"/console/nights/{run.id}/undo"):
        there, nowhere = ana.get(path), ana.get(path.replace(str(run.id), str(UUID(int=1))))
        assert there.status_code == nowhere.status_code == 404
        first, second = (each.text.replace(each.headers["x-request-id"], "") for each in (there, nowhere))
        assert first == second
    for action in ("undo", "cancel"):
        assert send_form(ana, f"/console/nights/{run.id}/{action}").status_code == 404
    assert ana.get("/console/nights/no-uuid").status_code == 404


def test_who_may_not_see_every_category_sees_no_run(serving: Serving) -> None:
    run = consolidate(serving, *TWINS)
    with sign_in(serving, owner="ana", agents=("planner",), scopes=("write", "read")) as planner:
        assert planner.get("/console/nights").status_code == 403
        assert planner.get(f"/console/nights/{run.id}").status_code == 403
        assert send_form(planner, f"/console/nights/{run.id}/undo").status_code == 403
    with sign_in(serving, owner="ana", scopes=("read",)) as reader:
        assert reader.get(f"/console/nights/{run.id}").status_code == 200
        assert reader.get(f"/console/nights/{run.id}/undo").status_code == 403


def test_a_run_that_does_not_wait_cannot_be_called_off(serving: Serving, ana: httpx.Client) -> None:
    run = consolidate(serving, *TWINS)
    assert send_form(ana, f"/console/nights/{run.id}/cancel").status_code == 422


def test_pairs_go_on_over_pages(serving: Serving, ana: httpx.Client) -> None:
    """All pairs of a run are on its pages, each once; a place that is none is refused."""
    texts = [f"The user waters plant number {n} on the balcony" for n in range(14)]
    run = consolidate(serving, *texts)
    assert run.checked > 30
    path, seen = f"/console/nights/{run.id}", 0
    while path:
        page = ana.get(path).text
        seen += page.count('<p class="verdict">')
        path = page.partition('rel="next"')[0].rpartition('href="')[2].rstrip('" ').replace("&amp;", "&")
        path = path if 'rel="next"' in page else ""
    assert seen == run.checked
    for bad in (
        "x",
        "9.90.x.y",
        f"7.90.{UUID(int=1)}.{UUID(int=2)}",
        "0." + "9" * 40 + f".{UUID(int=1)}.{UUID(int=2)}",
    ):
        assert ana.get(f"/console/nights/{run.id}", params={"after": bad}).status_code == 422


@pytest.mark.timeout(120)
def test_the_pages_are_sound_in_every_view(chromium: Browser, serving: Serving, ana: httpx.Client) -> None:
    """S-79, P-104: with hostile words on both sides of a pair."""
    chromium.check_page(serving.url, "/console/nights?empty", ana.cookies.jar, views=("light", "narrow"))
    twins = [text for each in HOSTILE for text in (each, f"{each}.")]
    run = consolidate(serving, *twins, *TWINS)
    for path in ("/console/nights", f"/console/nights/{run.id}", f"/console/nights/{run.id}/undo"):
        chromium.check_page(serving.url, path, ana.cookies.jar)


def test_a_person_takes_a_run_back_by_the_keyboard(chromium: Browser, serving: Serving, ana: httpx.Client) -> None:
    """P-24: from the list to the notice with Tab and Enter alone."""
    run = consolidate(serving, *TWINS)
    with chromium.open_tab(serving.url, ana.cookies.jar) as tab:
        tab.open("/console/nights")
        for wanted in (f"/console/nights/{run.id}", f"/console/nights/{run.id}/undo"):
            for _ in range(40):
                tab.page.keyboard.press("Tab")
                if tab.page.evaluate("document.activeElement.getAttribute('href') ?? ''") == wanted:
                    break
            with tab.page.expect_navigation():
                tab.page.keyboard.press("Enter")
        for _ in range(40):
            tab.page.keyboard.press("Tab")
            if tab.page.evaluate("document.activeElement.closest('.confirm form') !== null"):
                break
        with tab.page.expect_navigation():
            tab.page.keyboard.press("Enter")
        assert tab.page.locator("#status").inner_text() == "2 memories are what they were before."
    assert count_active(serving) == 2
