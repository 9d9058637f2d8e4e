"""What is written, and what is refused with a reason that can be counted (P-43, P-58..P-63, P-113)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from muniment.memory.domain.memory import Fact, FactKind
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.plugin.gates.distillation import distill_statement
from muniment.plugin.gates.privacy import decide_content
from muniment.plugin.gates.stability import is_momentary
from muniment.plugin.gates.write import (
    DAY_QUOTA,
    DUPLICATE,
    FOREIGN,
    LOW_CONFIDENCE,
    MOMENTARY,
    REQUESTED,
    SMALL_TALK,
    STABLE,
    STATED,
    TURN_QUOTA,
    UNVERIFIED,
    VERIFIED,
    WRITE_REFUSALS,
    WriteSignals,
    decide_write,
)
from tests.plugin_gates.gate_settings import GATES, change_gates

NOON = datetime(2026, 11, 12, 12, tzinfo=UTC)


def make_find(kind: FactKind, predicate: str = "decided", text: str = "use Postgres") -> Candidate:
    """A find of a kind, of which the user is sure."""
    return Candidate(text=text, category="projects", fact=Fact(kind=kind, predicate=predicate, object=text))


DECISION = make_find("decision")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("We decided to use Postgres instead of MySQL.", STATED),
        ("Always run the tests before committing.", STATED),
        ("never use any in TypeScript", STATED),
        ("TODO: fix the login redirect", STATED),
        ("我们决定用 Redis 做缓存", STATED),
        ("I prefer short answers.", STABLE),
        ("以后都用中文回答", STABLE),
        ("The build failed because of the lockfile; deleting node_modules fixed it.", VERIFIED),
    ],
)
def test_what_is_stated_is_written(said: str, reason: str) -> None:
    """P-58, P-59, P-60: decisions, rules, constraints, tasks, fixes and lasting preferences, as the rules find them."""
    finds = extract_statements(Turn.make(session="s", key="1", role="user", text=said, at=NOON)).candidates
    assert [decide_write(each, WriteSignals(said=said), GATES).reason for each in finds] == [reason]


@pytest.mark.parametrize(
    ("find", "signals", "reason"),
    [
        (make_find("note", "said"), WriteSignals(said="I walked in the park today"), SMALL_TALK),
        (make_find("event", "went_to"), WriteSignals(), SMALL_TALK),
        (DECISION, WriteSignals(said="ok thanks"), SMALL_TALK),
        (replace(DECISION, trust="agent"), WriteSignals(), FOREIGN),
        (replace(DECISION, trust="document"), WriteSignals(is_requested=True), FOREIGN),
        (replace(make_find("fix", "fixed_by"), trust="agent"), WriteSignals(), UNVERIFIED),
        (make_find("preference", "likes"), WriteSignals(said="make this one shorter"), MOMENTARY),
        (replace(DECISION, confidence=0.64), WriteSignals(), LOW_CONFIDENCE),
        (DECISION, WriteSignals(duplicate_similarity=0.92), DUPLICATE),
        (DECISION, WriteSignals(written_in_turn=3), TURN_QUOTA),
        (DECISION, WriteSignals(written_today=30), DAY_QUOTA),
    ],
)
def test_each_refusal_has_its_reason(find: Candidate, signals: WriteSignals, reason: str) -> None:
    """P-61, P-62, P-63, P-113: and the reason is one of those that are counted."""
    decision = decide_write(find, signals, GATES)
    assert (decision.allowed, decision.reason) == (False, reason)
    assert reason in WRITE_REFUSALS


def test_wish_laid_down_beside_standing_orders_stands_with_them() -> None:
    """P-59: `use pnpm, a bit shorter answers` says of both that they hold."""
    wish = replace(make_find("preference", "response_style"), category="style")
    alone = WriteSignals(said="a bit shorter")
    assert decide_write(wish, alone, GATES).reason == MOMENTARY
    assert decide_write(wish, replace(alone, is_standing=True), GATES).reason == STABLE


def test_note_is_written_where_it_is_of_work() -> None:
    """P-59: a note of a constraint, or of the work; not what its speaker tells of themselves in passing."""
    note = make_find("note", "said", "the queue holds a thousand jobs")
    about_self = WriteSignals(said="the queue reminds me of my uncle")
    assert decide_write(note, WriteSignals(said="the queue holds a thousand jobs"), GATES).reason == STATED
    assert decide_write(note, about_self, GATES).reason == SMALL_TALK
    assert decide_write(replace(note, category="constraints"), about_self, GATES).reason == STATED


def test_bounds_are_inclusive() -> None:
    """P-62, P-63, P-113: .65 is sure enough, .919 is another statement, and the third of a turn is written."""
    signals = WriteSignals(duplicate_similarity=0.919, written_in_turn=2, written_today=29)
    assert decide_write(replace(DECISION, confidence=0.65), signals, GATES).allowed


def test_what_is_asked_for_and_what_a_tool_has_shown_is_written() -> None:
    """P-49, P-59: a note that a person wants kept, and a fix of a tool that failed and then succeeded."""
    note = make_find("note", "said")
    assert decide_write(note, WriteSignals(is_requested=True), GATES).reason == REQUESTED
    fix = replace(make_find("fix", "fixed_by"), trust="tool")
    assert decide_write(fix, WriteSignals(is_verified=True), GATES).reason == VERIFIED


@pytest.mark.parametrize(
    ("sentence", "is_passing"),
    [
        ("make this one shorter", True),
        ("a bit more formal please", True),
        ("for now answer in French", True),
        ("这次写短一点", True),
        ("I prefer short answers", False),
        ("always make it short", False),
        ("answer in German from now on", False),
        ("short answers", False),
        ("以后都写短一点", False),
        ("从下周起写短一点", False),
        ("我喜欢简洁的回答", False),
    ],
)
def test_wish_is_stable_by_its_form(sentence: str, is_passing: bool) -> None:
    """P-60: what points at something at hand passes, unless the wish says that it holds for longer."""
    assert is_momentary(sentence) == is_passing


@given(
    first=st.integers(0, 40),
    more=st.integers(0, 40),
    confidence=st.floats(0, 1),
    near=st.none() | st.floats(0, 1),
    text=st.text(max_size=200),
)
def test_quotas_are_monotone(first: int, more: int, confidence: float, near: float | None, text: str) -> None:
    """P-43, P-113: a decision is total, and what is refused stays refused when more was written."""
    find = replace(DECISION, confidence=confidence)
    signals = WriteSignals(said=text, written_today=first, written_in_turn=min(first, 3), duplicate_similarity=near)
    later = replace(signals, written_today=first + more)
    before, after = decide_write(find, signals, GATES), decide_write(find, later, GATES)
    assert before.allowed >= after.allowed
    assert after.allowed or after.reason in WRITE_REFUSALS
    generous = change_gates(per_day=first + more + 1, per_turn=10)
    assert decide_write(find, later, generous).allowed >= after.allowed


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("We decided to use Postgres instead of MySQL.", "The user decided: use Postgres instead of MySQL"),
        (
            "Always run the tests before committing.",
            "The user always wants the assistant to run the tests before committing",
        ),
        ("never use any in TypeScript", "The user never wants the assistant to use any in TypeScript"),
        ("我们决定用 Redis 做缓存", "用户决定：用 Redis 做缓存"),
        (
            "The build failed because of the lockfile; deleting node_modules fixed it.",
            "Fixed by deleting node_modules (problem: The build failed because of the lockfile)",
        ),
        ("I prefer short answers.", "The user prefers short answers"),
    ],
)
def test_statement_is_told_in_the_third_person(said: str, content: str) -> None:
    """P-7, P-15, P-85: it says the same, and the sentence itself is not in it."""
    (find,) = extract_statements(Turn.make(session="s", key="1", role="user", text=said, at=NOON)).candidates
    assert distill_statement(find) == content
    assert decide_content(content, [said]).allowed
