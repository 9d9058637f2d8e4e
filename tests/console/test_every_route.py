"""What holds for every page and every form of the console, whoever wrote it: P-104, L-142."""

import re
from uuid import UUID

import httpx
import pytest
from hypothesis import HealthCheck, given, settings, strategies

from muniment.faces.console.access import routes as doors
from muniment.faces.console.app import load_pages
from muniment.faces.console.rendering import make_address
from tests.console.visitor import read_form_key, sign_in
from tests.http.conftest import Serving

NOBODYS = str(UUID(int=1))
OPEN = {"/console/login", "/console/enter"}
ROUTES = [(method, route.path) for route in (*doors, *load_pages()[0]) for method in sorted(route.methods or ())]


def fill_path(path: str) -> str:
    """The address of a route, with an id that nobody has."""
    return make_address(re.sub(r"\{[^}]*\}", NOBODYS, path))


PAGES = sorted({fill_path(path) for method, path in ROUTES if method == "GET"} - OPEN)
FORMS = sorted({fill_path(path) for method, path in ROUTES if method == "POST"} - OPEN)


@pytest.mark.parametrize("path", PAGES)
def test_no_page_opens_without_a_session(serving: Serving, path: str) -> None:
    answer = httpx.get(serving.url + path)
    assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/console/login")
    assert answer.content == b""


@pytest.mark.parametrize("path", FORMS)
def test_no_form_is_taken_but_from_a_page_of_the_session(serving: Serving, ana: httpx.Client, path: str) -> None:
    key = read_form_key(ana)
    assert httpx.post(serving.url + path, data={"form_key": key}).headers["location"] == "/console/login"
    assert ana.post(path, data={"form_key": ""}).status_code == 403
    assert ana.post(path, data={"form_key": key}, headers={"Origin": "https://evil.example"}).status_code == 403
    assert ana.post(path, data={"form_key": key}, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert ana.post(path, json={"form_key": key}).status_code == 422


@pytest.mark.parametrize("path", FORMS)
def test_a_form_is_no_page(ana: httpx.Client, path: str) -> None:
    """Nothing changes by following a link."""
    assert path in PAGES or ana.get(path).status_code == 405


@pytest.mark.parametrize("path", [*PAGES, *FORMS])
def test_another_users_name_in_the_address_is_refused(serving: Serving, ana: httpx.Client, path: str) -> None:
    key = read_form_key(ana)
    answer = (
        ana.get(path, params={"user": "bob"})
        if path in PAGES
        else ana.post(path, params={"user": "bob"}, data={"form_key": key})
    )
    assert answer.status_code == 403


@pytest.mark.parametrize("path", sorted(set(FORMS) - {"/console/logout", "/console/language"}))
def test_a_form_that_changes_something_needs_the_permission_to_write(serving: Serving, path: str) -> None:
    with sign_in(serving, owner="ana", scopes=("read",)) as reader:
        assert reader.post(path, data={"form_key": read_form_key(reader)}).status_code == 403


@pytest.mark.parametrize("path", [path for path in FORMS if path != "/console/logout"])
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    fields=strategies.dictionaries(
        strategies.sampled_from(["id", "ids", "text", "category", "limit", "next", "language", "q", "n", "at", "rev"]),
        strategies.text(max_size=60) | strategies.sampled_from([NOBODYS, "-1", "9" * 40, "\x00", "../..", "2026-13"]),
        max_size=6,
    )
)
def test_a_form_of_anything_is_answered(ana: httpx.Client, path: str, fields: dict[str, str]) -> None:
    key = read_form_key(ana)
    answer = ana.post(path, data={"form_key": key, **fields})
    assert answer.status_code in (200, 303, 400, 403, 404, 409, 413, 422, 429)


@pytest.mark.parametrize("path", PAGES)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    fields=strategies.dictionaries(
        strategies.sampled_from(["q", "n", "notice", "page", "after", "category", "state", "as_of", "days", "limit"]),
        strategies.text(max_size=60) | strategies.sampled_from([NOBODYS, "-1", "9" * 40, "\x00", "base.notice.x"]),
        max_size=6,
    )
)
def test_a_page_of_any_parameters_is_answered(ana: httpx.Client, path: str, fields: dict[str, str]) -> None:
    answer = ana.get(path, params=fields)
    assert answer.status_code in (200, 303, 400, 403, 404, 409, 413, 422, 429)
