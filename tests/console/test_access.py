"""Getting in and out of the console, and what is refused: P-104, L-142."""

import re
from datetime import UTC, datetime, timedelta
from http.cookiejar import CookieJar
from typing import Any

import httpx
import pytest

from muniment.memory.bootstrap import open_tokens
from muniment.memory.bootstrap.console_sessions import make_console_sessions
from muniment.memory.config.settings import load_settings
from muniment.testing import FixedClock
from tests.conftest import alone
from tests.console.visitor import read_form_key, read_text, remember, send_form, sign_in
from tests.http.conftest import Serving

PAGES = ("/", "/console/users", "/console/licences")
FORMS = ("/console/logout", "/console/language")
COOKIE = "muniment_console"


def read_cookie(jar: CookieJar) -> str:
    return next(str(each.value) for each in jar if each.name == COOKIE)


@pytest.mark.parametrize("path", PAGES)
def test_no_page_is_shown_without_a_login(serving: Serving, path: str) -> None:
    answer = httpx.get(serving.url + path)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/console/login")


@pytest.mark.parametrize("path", FORMS)
def test_no_form_is_taken_without_a_login(serving: Serving, path: str) -> None:
    answer = httpx.post(serving.url + path, data={"form_key": "0" * 64})
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/login")


def test_the_console_is_found_where_it_may_be_looked_for(ana: httpx.Client) -> None:
    pages = [ana.get(path) for path in ("/", "/console", "/console/")]
    assert [answer.status_code for answer in pages] == [200, 200, 200]
    assert len({read_text(answer) for answer in pages}) == 1


def test_only_the_login_and_static_files_are_open(serving: Serving) -> None:
    login = httpx.get(f"{serving.url}/console/login")
    assert login.status_code == 200
    for address in re.findall(r'(?:href|src)="(/console/static/[^"]+)"', login.text):
        assert httpx.get(serving.url + address).status_code == 200


def test_a_token_is_shown_once_and_the_cookie_is_another_secret(serving: Serving) -> None:
    token = serving.token()
    answer = httpx.post(f"{serving.url}/console/login", data={"token": token, "next": "/console/licences"})
    cookie = answer.headers["set-cookie"]
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/licences")
    assert token not in cookie
    assert {part.strip().lower() for part in cookie.split(";")[1:]} >= {"httponly", "samesite=strict", "path=/"}
    assert token not in serving.log


def test_behind_tls_the_cookie_is_of_this_host_alone(serving: Serving) -> None:
    head = {"X-Forwarded-Proto": "https"}
    answer = httpx.post(f"{serving.url}/console/login", data={"token": serving.token()}, headers=head)
    name, _, rest = answer.headers["set-cookie"].partition("=")
    assert name == "__Host-muniment"
    assert "Secure" in rest
    value = rest.partition(";")[0]
    # A page of another host of the domain can set the plain cookie; over TLS it does not count.
    assert httpx.get(serving.url, cookies={COOKIE: value}, headers=head).status_code == 303
    assert httpx.get(serving.url, cookies={name: value}, headers=head).status_code == 200


@pytest.mark.parametrize("token", ["", "mun_", "mun_" + "a" * 43, "x" * 10_000, "mun_\ud83d\ude00"])
def test_a_wrong_token_is_refused_without_its_text(serving: Serving, token: str) -> None:
    answer = httpx.post(
        f"{serving.url}/console/login",
        content=f"token={token}".encode("utf-8", "surrogatepass"),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert answer.status_code in (401, 422, 429)
    assert "set-cookie" not in answer.headers
    assert not token or f'"{token}"' not in answer.text


@pytest.mark.parametrize(
    "next_", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/config"]
)
def test_after_the_login_it_goes_on_here_alone(serving: Serving, next_: str) -> None:
    answer = httpx.post(f"{serving.url}/console/login", data={"token": serving.token(), "next": next_})
    assert answer.headers["location"] == "/"


def test_a_login_gets_a_session_of_its_own(serving: Serving) -> None:
    """A session that somebody else has put into the browser is ended, not taken over."""
    with sign_in(serving) as planted:
        fixed = read_cookie(planted.cookies.jar)
        answer = httpx.post(
            f"{serving.url}/console/login", data={"token": serving.token(owner="bob")}, cookies={COOKIE: fixed}
        )
        assert fixed not in answer.headers["set-cookie"]
        assert planted.get("/").status_code == 303


def test_a_stolen_cookie_opens_nothing_after_revocation(serving: Serving, ana: httpx.Client) -> None:
    stolen = {COOKIE: read_cookie(ana.cookies.jar)}
    assert httpx.get(serving.url, cookies=stolen).status_code == 200
    serving.revoke_all()
    assert httpx.get(serving.url, cookies=stolen).status_code == 303
    assert ana.get("/").status_code == 303


def test_a_stolen_cookie_opens_nothing_after_log_out(serving: Serving, ana: httpx.Client) -> None:
    stolen = {COOKIE: read_cookie(ana.cookies.jar)}
    assert send_form(ana, "/console/logout").headers["location"] == "/console/login"
    assert httpx.get(serving.url, cookies=stolen).status_code == 303


def test_a_token_that_is_revoked_opens_no_session(serving: Serving) -> None:
    token = serving.token()
    serving.revoke_all()
    assert httpx.post(f"{serving.url}/console/login", data={"token": token}).status_code == 401


def test_a_form_needs_the_key_of_its_session(serving: Serving, ana: httpx.Client) -> None:
    with sign_in(serving, owner="bob") as bob:
        foreign = read_form_key(bob)
    for key in ("", "0" * 64, foreign):
        assert ana.post("/console/logout", data={"form_key": key}).status_code == 403
    assert ana.get("/").status_code == 200


@pytest.mark.parametrize(
    "head",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_form_of_another_site_is_refused(serving: Serving, ana: httpx.Client, head: dict[str, str]) -> None:
    fields = {"form_key": read_form_key(ana)}
    assert ana.post("/console/logout", data=fields, headers=head).status_code == 403
    assert ana.get("/").status_code == 200
    assert httpx.post(f"{serving.url}/console/login", data={"token": serving.token()}, headers=head).status_code == 403


@pytest.mark.parametrize("path", [*PAGES, "/console/login", "/console/none", "/console/static/console.css"])
def test_every_answer_forbids_frames_and_foreign_code(ana: httpx.Client, path: str) -> None:
    head = ana.get(path).headers
    assert head["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    assert (head["x-frame-options"], head["x-content-type-options"]) == ("DENY", "nosniff")
    assert head["cache-control"] == "no-store"


def test_a_token_of_one_user_sees_that_user_alone(serving: Serving, ana: httpx.Client) -> None:
    remember(serving, "Bob keeps bees.", owner="bob")
    for path in ("/?user=bob", "/console/users?user=bob", "/?user=nobody"):
        assert ana.get(path).status_code == 403
    assert "bob" not in read_text(ana.get("/console/users")).lower()


def test_a_token_of_one_agent_counts_the_categories_of_that_agent_alone(serving: Serving) -> None:
    remember(serving, "Ana lives in Lisbon.", category="profile")
    remember(serving, "Ana likes short sentences.", category="style")
    with sign_in(serving, owner="ana", agents=("stylist",)) as stylist:
        shown = read_text(stylist.get("/"))
    assert "1 active" in shown
    assert "style" in shown
    assert "profile" not in shown


def test_an_operator_chooses_a_user_of_the_tenant(serving: Serving, operator: httpx.Client) -> None:
    remember(serving, "Bob keeps bees.", owner="bob")
    answer = operator.get("/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/users")
    picker = read_text(operator.get("/console/users"))
    assert "bob" in picker
    assert "ana" not in picker.split()
    assert "1 active" in read_text(operator.get("/?user=bob"))


def test_a_token_of_another_tenant_sees_nothing_of_this_one(serving: Serving) -> None:
    remember(serving, "Bob keeps bees.", owner="bob")
    with sign_in(serving, tenant=f"{serving.tenant}-other", owner=None, scopes=("admin",)) as other:
        assert "bob" not in read_text(other.get("/console/users"))
        assert "Nothing is remembered yet" in read_text(other.get("/?user=bob"))


@pytest.mark.parametrize("grant", [{"scopes": ("read",)}, {"scopes": ("admin",), "agents": ("stylist",)}])
def test_a_token_that_is_no_operators_gets_no_list(serving: Serving, grant: dict[str, Any]) -> None:
    remember(serving, "Bob keeps bees.", owner="bob")
    with sign_in(serving, owner=None, **grant) as reader:
        assert "bob" not in read_text(reader.get("/console/users"))


def test_a_token_of_the_items_of_some_projects_is_refused_at_the_door(serving: Serving) -> None:
    answer = httpx.post(f"{serving.url}/console/login", data={"token": serving.token(projects=("apollo",))})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_who_tries_too_many_tokens_waits(own_serving: Serving) -> None:
    answers = [httpx.post(f"{own_serving.url}/console/login", data={"token": "mun_x"}) for _ in range(30)]
    assert {answer.status_code for answer in answers} == {401, 429}
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert int(refused.headers["retry-after"]) >= 1
    assert "Too much at once" in read_text(refused)
    assert httpx.post(f"{own_serving.url}/console/login", data={"token": own_serving.token()}).status_code == 303


def test_a_one_time_link_opens_one_session(environment: dict[str, str]) -> None:
    """The command's link: once, and not after a minute."""

    async def run() -> list[bool]:
        clock = FixedClock(datetime(2026, 3, 1, tzinfo=UTC))
        async with open_tokens(load_settings(environment), clock, as_owner=True) as tokens:
            _, grant = await tokens.issue_token(tenant="acme", owner="ana")
            sessions = make_console_sessions(tokens)
            code, late = sessions.make_link_code(grant.id), sessions.make_link_code(grant.id)
            first, second = await sessions.open_link(code), await sessions.open_link(code)
            assert first is not None
            assert await sessions.find_grant(first) == grant
            clock.advance(timedelta(seconds=61).total_seconds())
            return [second is None, await sessions.open_link(late) is None]

    assert alone(run()) == [True, True]


def test_a_session_ends_after_twelve_hours_and_with_its_token(environment: dict[str, str]) -> None:

    async def run() -> None:
        clock = FixedClock(datetime(2026, 3, 1, tzinfo=UTC))
        async with open_tokens(load_settings(environment), clock, as_owner=True) as tokens:
            _, grant = await tokens.issue_token(tenant="acme", owner="ana")
            _, brief = await tokens.issue_token(tenant="acme", owner="ana", days=1)
            sessions = make_console_sessions(tokens)
            long = await sessions.open_session(grant.id)
            clock.advance(timedelta(hours=11).total_seconds())
            assert long is not None
            assert await sessions.find_grant(long) == grant
            clock.advance(timedelta(hours=1).total_seconds())
            assert await sessions.find_grant(long) is None
            clock.advance(timedelta(hours=11, minutes=30).total_seconds())
            short = await sessions.open_session(brief.id)
            assert short is not None
            assert await sessions.find_grant(short) == brief
            clock.advance(timedelta(hours=1).total_seconds())
            assert await sessions.find_grant(short) is None
            assert await sessions.open_session(brief.id) is None

    alone(run())
