"""Every page of the console in a real browser, and what its words say."""

import httpx
import pytest

from tests.console.browser import Browser
from tests.console.visitor import read_text, remember
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
