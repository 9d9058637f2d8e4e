"""The settings in the console: who may, what is refused, who changed what: P-23, P-104."""

from __future__ import annotations

import httpx
import pytest

from tests.console.browser import Browser
from tests.console.visitor import read_form_key, read_text, send_form, sign_in
from tests.http.conftest import Serving

STAGE = "/console/settings/retrieval"
OPERATOR = {"owner": None, "scopes": ("admin",)}


def make_bearer(operated: Serving) -> dict[str, str]:
    """The header of an operator's request to the API."""
    return {"Authorization": f"Bearer {operated.token(**OPERATOR)}"}


def read_rev(client: httpx.Client, path: str = STAGE) -> str:
    """The revision in the form of a stage."""
    return client.get(path).text.partition('name="rev" value="')[2].partition('"')[0]


def test_an_operator_changes_and_resets_a_setting(operated: Serving) -> None:
    """P-23: one value is changed, the history says by whom, and a reset brings back the former."""
    with sign_in(operated, **OPERATOR) as client:
        done = send_form(client, STAGE, {"rev": read_rev(client), "recall.top_k": "7"})
        assert "1 setting is changed." in read_text(client.get(done.headers["location"]))
        page = client.get(STAGE).text
        assert 'name="recall.top_k" value="7"' in page
        assert "Changed by token " in page
        history = read_text(client.get("/console/settings"))
        assert "recall.top_k 8 7 token " in history
        told = httpx.get(f"{operated.url}/v1/config/history", headers=make_bearer(operated)).json()["changes"]
        assert [(each["key"], each["former"], each["value"]) for each in told[:1]] == [("recall.top_k", 8, 7)]
        send_form(client, STAGE, {"rev": read_rev(client), "recall.top_k": "7", "reset": "recall.top_k"})
        assert 'name="recall.top_k" value="8"' in client.get(STAGE).text
        same = send_form(client, STAGE, {"rev": read_rev(client), "recall.top_k": "8"})
        assert "Nothing was changed." in read_text(client.get(same.headers["location"]))


def test_what_is_not_allowed_is_shown_again_with_its_field(operated: Serving) -> None:
    """P-23: nothing of the form is done; the text stays, as text."""
    with sign_in(operated, **OPERATOR) as client:
        fields = {"rev": read_rev(client), "recall.top_k": "5", "recall.gate": '"><b>canary'}
        wrong = send_form(client, STAGE, fields)
        assert wrong.status_code == 422
        assert "recall.gate: is text of" in read_text(wrong)
        assert "<b>canary" not in wrong.text
        assert "&lt;b&gt;canary" in wrong.text
        assert wrong.text.count('aria-invalid="true"') == 1
        assert 'name="recall.top_k" value="5"' in wrong.text
        assert 'name="recall.top_k" value="8"' in client.get(STAGE).text
        for rev in ("", "x", "-1", "٣"):
            assert send_form(client, STAGE, {"rev": rev, "recall.top_k": "5"}).status_code == 422
        assert send_form(client, "/console/settings/nothing", {"rev": "0"}).status_code == 404


def test_somebody_elses_change_in_between_is_a_conflict(operated: Serving) -> None:
    with sign_in(operated, **OPERATOR) as client:
        rev = read_rev(client)
        send_form(client, STAGE, {"rev": rev, "recall.top_k": "6"})
        late = send_form(client, STAGE, {"rev": rev, "recall.top_k": "5"})
        assert late.status_code == 409
        assert "revision" in read_text(late)
        assert 'name="recall.top_k" value="6"' in late.text
        send_form(client, STAGE, {"rev": read_rev(client), "reset": "recall.top_k"})


def test_nobody_else_opens_them(operated: Serving) -> None:
    """P-104: a token of a user, of another tenant, or without `admin`; each sees no link either."""
    for grant in (
        {"owner": "ana", "scopes": ("admin",)},
        {"owner": None, "tenant": "acme", "scopes": ("admin",)},
        {"owner": None, "scopes": ("read", "write")},
    ):
        with sign_in(operated, **grant) as client:
            assert client.get("/console/settings").status_code == 403
            assert client.get(STAGE).status_code == 403
            assert client.post(STAGE, data={"form_key": read_form_key(client), "rev": "0"}).status_code == 403
            assert "/console/settings" not in client.get("/console/users").text
    with sign_in(operated, **OPERATOR) as client:
        assert "/console/settings" in client.get("/console/users").text


def test_the_former_addresses_lead_here(operated: Serving) -> None:
    assert httpx.get(f"{operated.url}/config").headers["location"] == "/console/settings"
    assert httpx.get(f"{operated.url}/config/login").headers["location"] == "/console/login"
    assert httpx.put(f"{operated.url}/config").status_code == 405


@pytest.mark.timeout(120)
def test_the_pages_are_sound_in_every_view(chromium: Browser, operated: Serving) -> None:
    """S-79."""
    with sign_in(operated, **OPERATOR) as client:
        chromium.check_page(operated.url, "/console/settings?empty", client.cookies.jar, views=("light", "narrow"))
        send_form(client, STAGE, {"rev": read_rev(client), "recall.top_k": "7"})
        for path in ("/console/settings", STAGE):
            chromium.check_page(operated.url, path, client.cookies.jar)
        send_form(client, STAGE, {"rev": read_rev(client), "reset": "recall.top_k"})


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_a_person_changes_a_setting_by_the_keyboard(chromium: Browser, operated: Serving, *, script: bool) -> None:
    """P-24: a bad value is announced and stays in its field; a good one is saved."""
    with (
        sign_in(operated, **OPERATOR) as client,
        chromium.open_tab(operated.url, client.cookies.jar, status=422, script=script) as tab,
    ):
        keyboard = tab.page.keyboard
        tab.open(STAGE)
        for text in ("many", "7"):
            for _ in range(200):
                keyboard.press("Tab")
                if tab.page.evaluate("document.activeElement.id") == "recall.top_k":
                    break
            keyboard.press("Control+a")
            keyboard.type(text)
            with tab.page.expect_navigation():
                keyboard.press("Enter")
            if text == "many":
                assert tab.page.locator("[role=alert]").inner_text().startswith("recall.top_k: is text of 4 characters")
                assert tab.page.locator("[id='recall.top_k']").input_value() == "many"
        assert tab.page.locator("#status").inner_text() == "1 setting is changed."
        send_form(client, STAGE, {"rev": read_rev(client), "reset": "recall.top_k"})
