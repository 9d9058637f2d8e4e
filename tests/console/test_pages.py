"""Every page of the console in a real browser, and what its words say."""

import re

import httpx
import pytest

from tests.console.browser import Browser
from tests.console.visitor import read_text, remember, send_form
from tests.http.conftest import Serving

PATHS = ("/", "/console/users", "/console/licences")


@pytest.mark.parametrize("path", PATHS)
def test_a_page_is_sound_in_every_view(chromium: Browser, serving: Serving, ana: httpx.Client, path: str) -> None:
    chromium.check_page(serving.url, path, ana.cookies.jar)


def test_a_page_that_is_not_there_is_sound_in_every_view(
    chromium: Browser, serving: Serving, ana: httpx.Client
) -> None:
    chromium.check_page(serving.url, "/console/no-such-page", ana.cookies.jar, status=404)


def test_the_login_is_sound_in_every_view(chromium: Browser, serving: Serving) -> None:
    chromium.check_page(serving.url, "/console/login", ())


def test_the_first_page_counts_memories_by_category(serving: Serving, ana: httpx.Client) -> None:
    assert "Nothing is remembered yet" in read_text(ana.get("/"))
    remember(serving, "Ana lives in Lisbon.")
    assert "1 active memories" in read_text(ana.get("/"))


def test_the_first_page_with_memories_is_sound_in_every_view(
    chromium: Browser, serving: Serving, ana: httpx.Client
) -> None:
    remember(
        serving, "Ana lives in Lisbon.", "Ana takes her coffee black.", "<script>alert(1)</script> is what she typed."
    )
    chromium.check_page(serving.url, "/?", ana.cookies.jar)


HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}", "آنا", "x" * 200, "我" * 200)


def test_names_of_users_are_text_whatever_is_in_them(
    chromium: Browser, serving: Serving, operator: httpx.Client
) -> None:
    """P-104: shown as they are, and the layout holds."""
    for name in HOSTILE:
        remember(serving, "I keep bees.", owner=name)
    chromium.check_page(serving.url, "/console/users", operator.cookies.jar)
    with chromium.open_tab(serving.url, operator.cookies.jar) as tab:
        for name in HOSTILE:
            tab.open("/console/users")
            tab.page.get_by_role("link", name=name, exact=True).click()
            assert tab.page.locator(".who bdi").inner_text() == name
            assert tab.page.locator("h1").inner_text() == "Overview"
    chromium.check_page(serving.url, str(httpx.URL("/", params={"user": HOSTILE[4]})), operator.cookies.jar)


def test_the_chosen_user_stays_from_page_to_page(serving: Serving, operator: httpx.Client) -> None:
    remember(serving, "I keep bees.", owner="bob")
    page = operator.get("/?user=bob").text
    addresses = re.findall(r'(?:href|action)="(/(?:console/)?[^"#]*)"', page)
    lost = [each for each in addresses if "/static/" not in each and "user=bob" not in each]
    assert addresses
    assert lost == []


def test_the_users_of_a_tenant_are_found_by_a_part_of_the_name(serving: Serving, operator: httpx.Client) -> None:
    for name in ("Bob", "bobby", "ana"):
        remember(serving, "I keep bees.", owner=name)
    shown = read_text(operator.get("/console/users?q=BOB"))
    assert "2 users" in shown
    assert {"Bob", "bobby"} <= set(shown.split())
    assert "ana" not in shown.split()
    assert "No such user" in read_text(operator.get("/console/users?q=%25"))


def test_pages_in_chinese_are_sound(chromium: Browser, serving: Serving, ana: httpx.Client) -> None:
    send_form(ana, "/console/language", {"language": "zh"})
    for path in PATHS:
        chromium.check_page(serving.url, path, ana.cookies.jar, views=("light", "narrow"))
