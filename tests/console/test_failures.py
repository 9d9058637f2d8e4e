"""What goes wrong is a page in the layout: it says what to do, and nothing of anybody else."""

import httpx
import pytest
from starlette.requests import Request

from muniment.faces.console.failures import render_failure
from tests.console.browser import Browser
from tests.console.visitor import read_form_key, read_text, send_form
from tests.http.conftest import Serving

SECRET = "a word of somebody else"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 413, 422, 429, 500, 503, 507])
def test_every_status_has_a_page(status: int, language: str) -> None:
    request = Request({"type": "http", "headers": [(b"accept-language", language.encode())]})
    answer = render_failure(request, status, f"{SECRET} <b>")
    page = bytes(answer.body).decode()
    assert answer.status_code == status
    assert f'<html lang="{language}"' in page
    assert "<b>" not in page
    assert (SECRET in page) == (status not in (404, 500, 507))


def test_an_address_that_is_nowhere_says_so_in_the_layout(ana: httpx.Client) -> None:
    for path in ("/console/none", "/console/static/none.css", "/console/%00", "/console/login/more"):
        answer = ana.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8"), path
        assert "Not found" in read_text(answer)


def test_what_is_not_a_form_is_refused(ana: httpx.Client) -> None:
    key, kind = read_form_key(ana), {"Content-Type": "application/x-www-form-urlencoded"}
    for body in (b"\xff\xfe", b"form_key=%ff", b"form_key=%00", b"&".join([b"a=b"] * 1_001)):
        assert ana.post("/console/language", content=body, headers=kind).status_code == 422, body[:20]
    assert ana.post("/console/language", files={"form_key": key}).status_code == 422
    answer = ana.put("/console/language")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_a_body_that_is_too_large_is_refused_in_the_layout(ana: httpx.Client) -> None:
    answer = ana.post("/console/language", data={"form_key": "x" * 2_000_000})
    assert answer.status_code == 413
    assert "Too large" in read_text(answer)


def test_a_notice_in_the_address_is_one_of_the_catalogue(ana: httpx.Client) -> None:
    """Anybody can write an address, so it makes the page say nothing of their own."""
    for notice in (SECRET, "login.unknown", "base.notice.none", "<script>", "failure.title.500"):
        answer = ana.get("/", params={"notice": notice, "n": "3"})
        assert '<p class="notice">' not in answer.text


def test_a_failure_is_sound_in_every_view(chromium: Browser, serving: Serving, ana: httpx.Client) -> None:
    chromium.check_page(serving.url, "/?user=bob", ana.cookies.jar, status=403)


def test_the_language_is_kept(ana: httpx.Client) -> None:
    assert send_form(ana, "/console/language", {"language": "zh", "next": "/"}).headers["location"] == "/"
    assert 'lang="zh"' in ana.get("/").text
    assert send_form(ana, "/console/language", {"language": "tlh"}).status_code == 422
