"""Redaction: what leaves a text, and what only looks like a secret."""

import re
import time

import pytest
from hypothesis import given, strategies as st

from muniment.memory.rules.redaction.redact import redact_secrets
from muniment.nodes.supervisor import SETUP_HINT

KEY = "sk-" + "a1B2" * 6
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow" + "IBAAKCAQEA" * 4 + "\n-----END RSA PRIVATE KEY-----"


def hide(text: str, *, email: bool = False, phone: bool = False, patterns: tuple[str, ...] = ()) -> tuple[str, int]:
    return redact_secrets(text, email=email, phone=phone, patterns=tuple(map(re.compile, patterns)))


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        (f"use {KEY} now", "use [redacted:api_key] now"),
        (f"密钥在这里{KEY}，谢谢", "密钥在这里[redacted:api_key]，谢谢"),
        ("push with ghp_" + "x1" * 18, "push with [redacted:api_key]"),
        ("AKIA" + "IOSFODNN7EXAMPL3", "[redacted:api_key]"),
        ("xoxb-" + "1234567890-abcdef", "[redacted:api_key]"),
        ("AIza" + "Sy0123456789abcdefghijklmnopqrstuvw", "[redacted:api_key]"),
        ("Authorization: Bearer abc123def456ghi789", "Authorization: Bearer [redacted:token]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl ok", "[redacted:token] ok"),
        (f"here {PEM} it is", "here [redacted:private_key] it is"),
        (PEM.rpartition("\n")[0], "[redacted:private_key]"),
        ("password: hunter2, ok?", "password: [redacted:password], ok?"),
        ("my password is hunter2.", "my password is [redacted:password]."),
        ('{"password": "a b c"}', '{"password": "[redacted:password]"}'),
        ("API_KEY=abcdef", "API_KEY=[redacted:password]"),
        ("我的密码是abc123，别告诉别人", "我的密码是[redacted:password]，别告诉别人"),
        ("密码：qwerty!9", "密码：[redacted:password]"),
        ("my PIN is 4711", "my PIN is [redacted:password]"),
        ("postgres://ana:s3cret@db/x", "postgres://ana:[redacted:password]@db/x"),
        ("card 4111 1111 1111 1111 please", "card [redacted:card] please"),
        ("room 7 4111-1111-1111-1111", "room 7 [redacted:card]"),
        ("卡号4111111111111111", "卡号[redacted:card]"),
        ("amex 3782 822463 10005", "amex [redacted:card]"),
        ("IBAN DE89 3704 0044 0532 0130 00 is mine", "IBAN [redacted:iban] is mine"),
        ("GB82WEST12345698765432", "[redacted:iban]"),
        ("my password is: hunter2", "my password is: [redacted:password]"),
        ("my password was changed to hunter2x", "my password was changed to [redacted:password]"),
        ("my new password will be hunter2x.", "my new password will be [redacted:password]."),
        ("The password for the office wifi is hunter2x", "The password for the office wifi is [redacted:password]"),
        ("use hunter2x as the password", "use [redacted:password] as the password"),
        ("the wifi password, hunter22, is new", "the wifi password, [redacted:password], is new"),
        ("Password hunter2!x", "Password [redacted:password]"),
        ("pw: hunter2", "pw: [redacted:password]"),
        ("我的密码：开门大吉123", "我的密码：[redacted:password]"),
        ("我的银行卡密码 884422", "我的银行卡密码 [redacted:password]"),
        ("密码改为hunter2，别说", "密码改为[redacted:password]，别说"),
        ("验证码 123456", "验证码 [redacted:password]"),
        ("my pin 4321", "my pin [redacted:password]"),
        ("my PIN is 4 3 2 1", "my PIN is [redacted:password]"),
        ("token: 8f14e45fceea167a5a36dedd4bea2543", "token: [redacted:token]"),
        ("Authorization: Token 9944b09199c62bcf9418ad846dd0e4bb", "Authorization: Token [redacted:token]"),
        ("sk-" + "abcdefghijklmnopqrstuvwx", "[redacted:api_key]"),
        ("bot 123456789:" + "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1", "bot [redacted:api_key]"),
        ("４１１１ １１１１ １１１１ １１１１", "[redacted:card]"),
        ("卡号４１１１１１１１１１１１１１１１", "卡号[redacted:card]"),
        ("4111.1111.1111.1111 it is", "[redacted:card] it is"),
        ("4111\u200b1111\u200b1111\u200b1111", "[redacted:card]"),
        ("4111\u00a01111\u00a01111\u00a01111", "[redacted:card]"),
        ("DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000", "[redacted:iban]"),
    ],
)
def test_a_secret_leaves(text: str, hidden: str) -> None:
    """One secret, one mark in its place, one counted; the words around it stay."""
    assert hide(text) == (hidden, 1)


@pytest.mark.parametrize(
    "text",
    [
        "my password is too weak",
        "the password is wrong",
        "I forgot my password yesterday",
        "what is a bearer token?",
        "I like a risk-averse task-force-oriented plan",
        "4111 1111 1111 1112 fails the check",
        "between 2019 2020 2021 2022 and later",
        "order 1234567890123456",
        "DE89 3704 0044 0532 0130 01 is no account",
        "cb8362be-ff73-41cb-9e13-e595ef57b8ea is an id, and CB an unknown country",
        "dcb735c1-4128-6557-4769-5138c53be28e is an id with the digits of a card",
        "GB79 1234 5698 7654 32 has the checksum alone",
        "-----BEGIN PUBLIC KEY-----",
        "-----BEGIN PRIVATE KEY----- is what it starts with",
        "-----END PRIVATE KEY-----",
        "it happened on 2023-05-07 at 10:30",
        "密码是什么？",
        "write to ana@example.org or +49 30 1234567",
        "http://localhost:8000/path",
        "the password for the office wifi is kept in the vault",
        "the password was changed yesterday",
        "my password has 12 characters",
        "the password, as always, is in the vault",
        "I use it as the password",
        "the token: a small thing",
        "密码有 8 位",
        "密码 8 位以上",
        "pin 12 goes to ground",
        "version 4.11.1 of 2024.05.07",
        "set DB_PASSWORD (and DB_HOST) before you start",
        SETUP_HINT,
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    """Plain words, wrong check digits, and what was not asked for."""
    assert hide(text) == (text, 0)


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("ana.b+c@mail.example.org!", "[redacted:email]!"),
        ("call +49 30 1234567", "call [redacted:phone]"),
        ("call (415) 555-2671 now", "call [redacted:phone] now"),
        ("extension +1 2 3", "extension +1 2 3"),
        ("手机13812345678", "手机[redacted:phone]"),
        ("on 2023-05-07 I ran 1234567 steps", "on 2023-05-07 I ran 1234567 steps"),
    ],
)
def test_addresses_leave_when_asked_for(text: str, hidden: str) -> None:
    """E-mail and phone are a choice; dates are no phone numbers."""
    assert hide(text, email=True, phone=True)[0] == hidden


def test_patterns_of_the_settings() -> None:
    """Configured expressions leave too, empty matches do not count, overlaps are one."""
    assert hide("project falcon, falcon!", patterns=(r"falcon", r"x*")) == (
        "project [redacted:pattern], [redacted:pattern]!",
        2,
    )
    assert hide("password: falcon", patterns=(r"falcon",))[1] == 1


@given(st.text(), st.sampled_from([KEY, PEM, "password: hunter2 ", "4111 1111 1111 1111", "a@b.example"]), st.text())
def test_redacting_twice_finds_nothing_more(before: str, secret: str, after: str) -> None:
    """The marks themselves are no secrets."""
    once, _ = hide(f"{before} {secret} {after}", email=True, phone=True)
    twice, _ = hide(once, email=True, phone=True)
    assert "hunter2" not in once
    assert KEY not in once
    assert twice.count("[redacted:") == once.count("[redacted:")


@pytest.mark.parametrize(
    "unit",
    [
        "sk-",
        "eyJ",
        "1 ",
        "4",
        "a@",
        "password is ",
        "DE89 ",
        "-----BEGIN PRIVATE KEY-----",
        "bearer ",
        "http://a:",
        "+1 ",
        "a.b@c.",
        "password for a ",
        "token ",
        "密码",
        "pin 1 ",
        "as the password ",
    ],
)
def test_long_texts_are_cheap(unit: str) -> None:
    """A hundred thousand characters of near-secrets take no more than a moment."""
    start = time.process_time()
    hide(unit * (100_000 // len(unit)), email=True, phone=True)
    assert time.process_time() - start < 3
