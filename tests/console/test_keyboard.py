"""The console without a mouse: P-24, S-79."""

import httpx

from tests.console.browser import Browser
from tests.http.conftest import Serving


def test_a_person_logs_in_and_out_by_the_keyboard(chromium: Browser, serving: Serving) -> None:
    with chromium.open_tab(serving.url) as tab:
        tab.open("/console/login")
        keyboard = tab.page.keyboard
        for _ in range(10):
            keyboard.press("Tab")
            if tab.page.evaluate("document.activeElement.id") == "token":
                break
        keyboard.type(serving.token())
        with tab.page.expect_navigation(url=f"{serving.url}/"):
            keyboard.press("Enter")
        assert tab.page.locator("h1").inner_text() == "Overview"
        for _ in range(40):
            keyboard.press("Tab")
            if tab.page.evaluate("document.activeElement.closest('form')?.action ?? ''").endswith("/logout"):
                break
        with tab.page.expect_navigation(url=f"{serving.url}/console/login"):
            keyboard.press("Enter")
        assert tab.page.context.cookies() == []


def test_the_focus_is_seen_and_the_first_link_skips_to_the_content(
    chromium: Browser, serving: Serving, ana: httpx.Client
) -> None:
    with chromium.open_tab(serving.url, ana.cookies.jar) as tab:
        tab.open("/")
        tab.page.keyboard.press("Tab")
        skip = tab.page.locator(":focus")
        assert skip.inner_text() == "Skip to the content"
        assert skip.bounding_box()["y"] >= 0
        assert tab.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        tab.page.keyboard.press("Enter")
        assert tab.page.evaluate("document.activeElement.id") == "content"


def test_without_a_style_sheet_for_colours_the_current_area_is_announced(
    chromium: Browser, serving: Serving, ana: httpx.Client
) -> None:
    with chromium.open_tab(serving.url, ana.cookies.jar) as tab:
        tab.open("/")
        assert tab.page.locator("nav [aria-current=page]").all_inner_texts() == ["Overview"]
