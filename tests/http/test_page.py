"""The page /config: in a real browser without scripts, and what it refuses."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.http import browser
from tests.http.conftest import Serving

HIDDEN = re.compile(r'name="(form_key|rev)" value="(\w+)"')


@contextmanager
def log_in(service: Serving) -> Iterator[tuple[httpx.Client, dict[str, str]]]:
    """A client that is logged in, and the hidden fields of its forms."""
    with httpx.Client(base_url=service.url, follow_redirects=True) as client:
        page = client.post("/config/login", data={"token": service.token(owner=None, scopes=("admin",))})
        assert page.status_code == 200
        yield client, {**dict(HIDDEN.findall(page.text)), "stage": "retrieval"}


@pytest.mark.skipif(browser.PROGRAM is None, reason="there is no Chromium on this machine")
@pytest.mark.timeout(180)
def test_a_person_changes_a_setting_in_a_browser(operated: Serving, tmp_path: Path) -> None:
    """A person logs in with a token, changes a value, is told of a bad one, resets it and logs out, without scripts."""
    with browser.open_browser(tmp_path / "profile") as page:
        page.open(f"{operated.url}/config")
        page.type("#token", "mun_nothing")
        page.click("button")
        assert "not known" in page.read("#problem")
        page.type("#token", operated.token(owner=None, scopes=("admin",)))
        page.click("button")
        titles = page.read("main")
        for title in (
            "Session extraction",
            "Write gates",
            "User fact atomization",
            "Dedup and",
            "Retrieval",
            "Maintenance",
        ):
            assert title in titles
        (cookie,) = page.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/config")
        assert "mun_" not in cookie["value"]
        before = int(page.find_value('[id="recall.top_k"]'))
        field, save = '[id="recall.top_k"]', "#retrieval button"
        page.click("#retrieval summary", loads=False)
        page.type(field, "7")
        page.click(save)
        assert page.read("#notice") == "Changed: Retrieval."
        assert page.find_value(field) == "7"
        page.type(field, "many")
        page.click(save)
        assert page.read("#problem").startswith("recall.top_k: is text of 4 characters; allowed: a whole number")
        assert page.find_value(field) == "many"
        page.open(f"{operated.url}/config?changed=retrieval")
        assert page.find_value(field) == "7"
        page.click('[value="recall.top_k"][name="reset"]', loads=False)
        page.click(save)
        assert page.find_value(field) == "8"
        page.click(".plain")
        assert page.find_value("#token") == ""
        assert page.read("summary") == ""
        assert page.violations == []
    history = httpx.get(
        f"{operated.url}/v1/config/history",
        headers={"Authorization": f"Bearer {operated.token(owner=None, scopes=('admin',))}"},
    ).json()["changes"]
    assert [(each["former"], each["value"]) for each in history[:2]] == [(7, 8), (before, 7)]


def test_who_is_not_logged_in(operated: Serving) -> None:
    """Without a login, with a forged or a foreign one, nothing is shown and nothing changes."""
    with log_in(operated) as (client, hidden):
        value = client.cookies["muniment_config"]
        for cookie in ("", value[:-1] + ("0" if value[-1] != "0" else "1"), value.replace(value[:8], "0" * 8), "x.y.z"):
            with httpx.Client(base_url=operated.url, headers={"Cookie": f"muniment_config={cookie}"}) as stranger:
                assert "Session extraction" not in stranger.get("/config").text
                assert stranger.post("/config", data={**hidden, "recall.top_k": "5"}).status_code == 401
        for token in (operated.token(), operated.token(owner=None), "mun_nothing"):
            refused = httpx.post(f"{operated.url}/config/login", data={"token": token})
            assert refused.status_code in (401, 403)
            assert "set-cookie" not in refused.headers
            assert token not in refused.text
        operated.revoke_all()
        assert client.post("/config", data={**hidden, "recall.top_k": "5"}).status_code == 401


def test_forms_of_other_sites_and_old_forms(operated: Serving) -> None:
    """A form without the login's signature, or that another site sends, is refused; an old one is a conflict."""
    with log_in(operated) as (client, hidden):
        change = {**hidden, "recall.top_k": "5"}
        assert client.post("/config", data={**change, "form_key": "0" * 64}).status_code == 403
        for header in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            assert client.post("/config", data=change, headers=header).status_code == 403
            assert client.post("/config/login", data={"token": "x"}, headers=header).status_code == 403
            assert client.post("/config/logout", data=hidden, headers=header).status_code == 403
        assert client.post("/config", data=change, headers={"Origin": operated.url}).status_code == 200
        late = client.post("/config", data={**hidden, "recall.top_k": "6"})
        assert late.status_code == 409
        rev = str(int(hidden["rev"]) + 1)
        assert f"revision {rev}" in late.text
        wrong = client.post("/config", data={**hidden, "rev": rev, "recall.gate": "<b>canary"})
        assert wrong.status_code == 422
        assert "<b>canary" not in wrong.text
        assert "&lt;b&gt;canary" in wrong.text


def test_how_it_is_sent(operated: Serving) -> None:
    """Nothing foreign is loaded, framed or kept; other methods are refused, and so is a body that is no form."""
    shown = httpx.get(f"{operated.url}/config")
    assert shown.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert (shown.headers["cache-control"], shown.headers["x-frame-options"]) == ("no-store", "DENY")
    assert "<script" not in shown.text
    secure = httpx.post(
        f"{operated.url}/config/login",
        data={"token": operated.token(owner=None, scopes=("admin",))},
        headers={"X-Forwarded-Proto": "https"},
    )
    assert "Secure" in secure.headers["set-cookie"]
    assert httpx.put(f"{operated.url}/config").status_code == 405
    assert httpx.delete(f"{operated.url}/config/login").status_code == 405
    for body in (
        {"json": {"token": "x"}},
        {"content": b"\xff", "headers": {"Content-Type": "application/x-www-form-urlencoded"}},
    ):
        assert httpx.post(f"{operated.url}/config/login", **body).status_code == 422
