"""Every form of the console, whoever wrote it, with bodies that are made up of the fields there are: only declared
answers, and nothing without the key of the session: P-104, L-142."""

import ast
import re
from collections.abc import Iterator
from importlib.resources import files
from urllib.parse import quote, urlencode
from uuid import UUID

import httpx
import pytest
from hypothesis import HealthCheck, given, settings, strategies

from muniment.faces import console
from muniment.faces.console.forms import FORM_KEY
from tests.console.test_every_route import FORMS
from tests.console.visitor import read_form_key, sign_in
from tests.http.conftest import Serving

DECLARED = frozenset({200, 303, 400, 403, 404, 409, 413, 422, 429})
FORM = "application/x-www-form-urlencoded"
READERS = {"get", "require_text", "list_values", "is_ticked"}  # methods of a form that name a field
ENDS_SESSION = "/console/logout"
VALUES = [
    "", "0", "1", "-1", "9" * 40, "1e9", "yes", "no", "true", "on", str(UUID(int=1)), "a" * 4_100, "../../x",
    "{{ 7*7 }}", "<script>alert(1)</script>", "2026-13-40", "active", "profile", "consent", "conflict", "skill",
    "contradiction", "forget", "pin", "我" * 300, "\u202e\u200b", "\r\nSet-Cookie: a=b", "\x00", "%", "_",
    "'; drop table x; --",
]  # fmt: skip


def list_names() -> Iterator[str]:
    """The names of the fields in all templates, and those that the pages read."""
    folders = [files(console), files(console) / "pages", files(console) / "templates", files(console) / "memories"]
    for each in (each for folder in folders if folder.is_dir() for each in folder.iterdir()):
        if each.name.endswith(".html"):
            text = each.read_text(encoding="utf-8")
            yield from re.findall(r'\sname="([a-z_]+)"', text)
            yield from re.findall(r'ui\.(?:field|choice|tick)\("([a-z_]+)"', text)
        elif each.name.endswith(".py"):
            for node in ast.walk(ast.parse(each.read_text(encoding="utf-8"))):
                match node:
                    case ast.Call(func=ast.Attribute(attr=method), args=[ast.Constant(value=str(name)), *_]):
                        yield from (name,) if method in READERS else ()


NAMES = sorted({name for name in list_names() if re.fullmatch(r"[a-z_]+", name)} - {FORM_KEY})
PAIRS = strategies.lists(
    strategies.tuples(
        strategies.sampled_from(NAMES),
        strategies.sampled_from(VALUES) | strategies.text(strategies.characters(codec="utf-8"), max_size=40),
    ),
    max_size=12,
)
RAW = strategies.one_of(
    PAIRS.map(lambda pairs: urlencode(pairs).encode()),
    strategies.binary(max_size=200),
    strategies.sampled_from([b"%ED%A0%80=%ED%A0%80", b"id=%FF", b"&&&=", b"id=1;id=2", b"=" * 2_000, b"a=b&" * 1_500]),
)


def send(client: httpx.Client, path: str, body: bytes, kind: str = FORM) -> httpx.Response:
    return client.post(path, content=body, headers={"Content-Type": kind})


def check_answer(answer: httpx.Response) -> None:
    """A declared status; a page in the layout under the content policy, or a way to a page of this console."""
    assert answer.status_code in DECLARED, answer.status_code
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    if answer.status_code == 303:
        assert answer.headers["location"].startswith(("/console/", "/?")) or answer.headers["location"] == "/"
    else:
        assert answer.text.count("<h1") == 1
    assert "set-cookie" not in answer.headers or "a=b" not in answer.headers["set-cookie"]


def test_the_fields_of_the_forms_are_found() -> None:
    assert {"id", "text", "kind", "answer", "keep", "token", "language"} <= set(NAMES)
    assert len(FORMS) > 4


@pytest.mark.parametrize("path", [path for path in FORMS if path != ENDS_SESSION])
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(body=RAW, as_operator=strategies.booleans())
def test_a_generated_body_is_answered(
    serving: Serving, ana: httpx.Client, operator: httpx.Client, path: str, body: bytes, as_operator: bool
) -> None:
    client = operator if as_operator else ana
    key = f"{FORM_KEY}={read_form_key(client)}&".encode()
    check_answer(send(client, f"{path}?user=ana" if as_operator else path, key + body))


@pytest.mark.parametrize("path", FORMS)
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(pairs=PAIRS, wrong=strategies.sampled_from(["", "0" * 64, "我", "x" * 5_000]))
def test_no_body_is_taken_without_the_key_of_the_session(
    ana: httpx.Client, path: str, pairs: list[tuple[str, str]], wrong: str
) -> None:
    clean = [(name, value.replace("\x00", "")) for name, value in pairs]
    for body in (urlencode(clean), urlencode([*clean, (FORM_KEY, wrong)])):
        assert send(ana, path, body.encode()).status_code == 403
    assert ana.get("/console/users").status_code == 200, "the session goes on"


@pytest.mark.parametrize("path", FORMS)
def test_the_key_of_another_session_is_none(serving: Serving, ana: httpx.Client, path: str) -> None:
    """Neither another user's, nor that of another login of the same one."""
    for owner in ("ben", "ana"):
        with sign_in(serving, owner=owner, scopes=("admin",)) as other:
            body = f"{FORM_KEY}={read_form_key(other)}&id={UUID(int=1)}"
        assert send(ana, path, body.encode()).status_code == 403


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data; boundary=x", "text/plain", ""])
def test_another_kind_of_body_is_none(ana: httpx.Client, path: str, kind: str) -> None:
    body = f"{FORM_KEY}={quote(read_form_key(ana))}".encode()
    answer = send(ana, path, body, kind)
    assert answer.status_code == 422
    check_answer(answer)


@pytest.mark.parametrize("path", FORMS)
def test_a_body_without_end_is_refused(ana: httpx.Client, path: str) -> None:
    answer = send(ana, path, b"text=" + b"x" * 3_000_000)
    assert answer.status_code in {413, 403}
