"""What reads a message takes time in proportion to its length, whatever is repeated in it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from types import FrameType
from typing import Any

import pytest

from muniment.memory.config.settings import load_settings
from muniment.memory.domain.turn import Turn
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.provenance import quoted
from muniment.memory.rules.redaction.redact import Redactor
from muniment.memory.rules.retrieval.question import find_periods, parse_question

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
REDACTOR = Redactor(load_settings({"HOME": "/nonexistent"}).redact)
FRAGMENTS = [
    "\r\n", "|\n", "\n\n ", " ", "\t", "1. ", "# a\n", "Fwd:\n", "[12:00] Bob: hi\n", "From: a\n", "the email: ", "1-",
    "1,", "(", '"', "'", "> ", "- ", "I ", "I live in ", "my ", "and ", "no, ", "3 May ", "on Monday ", "password: ",
    "https://a:b@c/", "a@b.", "<td>", "%3D", "| password ", "user,password\n", "Cookie: a=1; ",
    "my seed phrase is walrus ", "login: a / ", "a1b2c3d4\n",
    "密码", "用户", "，", "。", "三月", "이 ", "a", "**", "&x=1", "\u3000",
]  # fmt: skip


def said(text: str) -> Turn:
    return Turn.make(session="A", key="1", role="user", text=text, at=NOON)


READERS: dict[str, Callable[[str], object]] = {
    "gate": lambda text: gate.find_skip_reason(text, "user"),
    "redaction": REDACTOR.sanitize_text,
    "quotations": lambda text: quoted.strip_quoted(said(text)),
    "instructions": lambda text: quoted.find_quoted_instructions(said(text)),
    "statements": lambda text: extract_statements(said(text)),
    "question": parse_question,
    "periods": lambda text: find_periods(text, NOON),
}


def count_calls(read: Callable[[str], object], text: str) -> int:
    """How many functions, generators' steps and functions of C a reader calls: the same number each time."""
    calls = 0

    def count(_frame: FrameType, event: str, _arg: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        read(text)
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("reader", READERS)
def test_four_times_as_long_is_four_times_the_work(reader: str) -> None:
    """Where it were quadratic it would be sixteen times the work."""
    read = READERS[reader]
    for fragment in FRAGMENTS:
        shorter, longer = ((fragment * size)[:size] for size in (1_500, 6_000))
        read(longer)  # what is loaded by the first text of its kind does not count
        assert count_calls(read, longer) <= 6 * count_calls(read, shorter) + 2_000, fragment
