"""When a turn searches, and when not (P-42, P-51..P-57, P-80..P-82)."""

from __future__ import annotations

from dataclasses import replace
from time import thread_time

import pytest
from hypothesis import given, strategies as st

from muniment.plugin.gates.recall import (
    FRESH,
    GOOD_LOCAL,
    MACHINE_TURN,
    NOT_FOUND,
    OVER_RATE,
    REFERENCE,
    SESSION_START,
    SKIP_REASONS,
    SPACE_CHANGED,
    STALE_CACHE,
    TOPIC_CHANGE,
    WEAK_LOCAL,
    WEAK_RESULTS,
    WINDOW_OVER,
    RecallSignals,
    decide_recall,
    decide_remote,
)
from muniment.plugin.gates.references import find_reference
from muniment.plugin.gates.topic import TopicWindow, make_topic_message
from tests.plugin_gates.gate_settings import GATES

FOLLOWING = RecallSignals(
    text="does it keep the deleted ones?",
    is_session_start=False,
    turns_in_window=1,
    topic_similarity=0.8,
    cache_age_seconds=20,
    best_score=0.8,
)
REFERRING = {
    "continue the auth refactor": {"auth", "refactor"},
    "as we discussed, use Redis": {"redi"},
    "where were we?": set(),
    "let's pick up where we left off": set(),
    "what did we decide about the database?": {"databas"},
    "go back to the parser bug from yesterday": {"parser", "bug"},
    "the CI fails again with the same error": {"ci"},
    "do you remember how I like my answers?": {"answer"},
    "接着上次的": set(),
    "继续昨天的工作": set(),
    "继续弄支付模块": {"支付", "模块"},
    "我们之前讨论过的方案": {"方案"},
    "按老规矩来": set(),
}
AT_HAND = (
    "continue reading the file below",
    "the last line is wrong",
    "prices continue to rise",
    "write a resume for a nurse",
    "what does the continue statement do in Python?",
    "how do I go back to the previous commit in git?",
    "run the tests again",
    "we decided to use Postgres",
    "在提交之前先跑测试",
    "继续教育学院怎么申请",
    "下面的文件继续读",
    "我们决定用 Redis",
)


@pytest.mark.parametrize("text", REFERRING)
def test_reference_is_found_with_the_words_that_name_the_work(text: str) -> None:
    """P-53: a form of resumption, of a shared memory, or of an earlier time; what it is about is named."""
    reference = find_reference(text)
    assert reference is not None
    assert set(reference.words) >= REFERRING[text]


@pytest.mark.parametrize("text", AT_HAND)
def test_what_is_at_hand_is_no_reference(text: str) -> None:
    """P-53: the same words about a text at hand, a rule, or something new."""
    assert find_reference(text) is None


@pytest.mark.parametrize("text", ["continue", "Continue, please", "继续", "继续吧", "go on"])
def test_bare_resumption_is_of_the_last_work(text: str) -> None:
    """P-53, P-57: it searches where a session starts, and within a fresh topic it means that topic."""
    start = RecallSignals(text=text)
    assert decide_recall(start, GATES).reason == REFERENCE
    assert decide_recall(replace(FOLLOWING, text=text), GATES).reason == FRESH
    assert decide_recall(replace(FOLLOWING, text=text, cache_age_seconds=None), GATES).reason == STALE_CACHE


@pytest.mark.parametrize(
    "text",
    ["ok", "thanks, that helps a lot", "好的谢谢", "ok 懂了 thx", "👍", "hi there", "你好呀", "haha oops you're right"],
)
def test_courtesy_costs_nothing(text: str) -> None:
    """P-55: not at the start of a session either, nor when all that was found is stale."""
    assert not decide_recall(RecallSignals(text=text), GATES).allowed
    assert not decide_recall(replace(FOLLOWING, text=text, cache_age_seconds=None), GATES).allowed


def test_courtesy_with_a_task_is_a_task() -> None:
    """P-51: what a greeting leads to is the start of the session."""
    assert decide_recall(RecallSignals(text="hi, can you check the logs"), GATES).reason == SESSION_START
    assert decide_recall(RecallSignals(text="谢谢你昨天的帮忙!今天要处理的是库存对账"), GATES).allowed


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, FRESH),
        ({"is_machine": True, "is_session_start": True}, MACHINE_TURN),
        ({"is_session_start": True}, SESSION_START),
        ({"has_space_changed": True}, SPACE_CHANGED),
        ({"topic_similarity": 0.54}, TOPIC_CHANGE),
        ({"topic_similarity": 0.55}, FRESH),
        ({"turns_in_window": 3}, FRESH),
        ({"turns_in_window": 4}, WINDOW_OVER),
        ({"cache_age_seconds": 180}, FRESH),
        ({"cache_age_seconds": 181}, STALE_CACHE),
        ({"best_score": 0.44}, WEAK_RESULTS),
        ({"best_score": None}, FRESH),
    ],
)
def test_each_signal_decides_alone(changes: dict[str, object], reason: str) -> None:
    """P-51..P-57, P-80, P-81: the reason is that of the first signal that holds."""
    decision = decide_recall(replace(FOLLOWING, **changes), GATES)  # type: ignore[arg-type] # a table of fields
    assert decision.reason == reason
    assert decision.allowed == (reason not in SKIP_REASONS)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, SPACE_CHANGED),
        ({"has_space_changed": False}, TOPIC_CHANGE),
        ({"has_space_changed": False, "topic_similarity": None}, WINDOW_OVER),
        ({"has_space_changed": False, "topic_similarity": None, "turns_in_window": 0}, STALE_CACHE),
        (
            {"has_space_changed": False, "topic_similarity": 1.0, "turns_in_window": 0, "cache_age_seconds": 0.0},
            WEAK_RESULTS,
        ),
    ],
)
def test_of_several_signals_the_first_is_the_reason(changes: dict[str, object], reason: str) -> None:
    """P-51..P-57, P-80, P-81: what changed the space before what ages; and what was measured is told."""
    every = replace(
        FOLLOWING,
        has_space_changed=True,
        topic_similarity=0.0,
        turns_in_window=9,
        cache_age_seconds=999.0,
        best_score=0.0,
    )
    signals = replace(every, **changes)  # type: ignore[arg-type] # a table of fields
    decision = decide_recall(signals, GATES)
    assert decision.reason == reason
    told = {"turns": signals.turns_in_window, "age": signals.cache_age_seconds, "topic": signals.topic_similarity}
    assert dict(decision.facts) == {name: value for name, value in told.items() if value is not None}


def test_a_bare_resumption_and_a_courtesy_are_told_apart() -> None:
    """P-53, P-55: words that name the work search in the midst of a fresh topic, too, and a machine never does."""
    assert decide_recall(replace(FOLLOWING, text="continue the auth refactor"), GATES).reason == REFERENCE
    assert decide_recall(replace(FOLLOWING, text="continue", has_space_changed=True), GATES).reason == SPACE_CHANGED
    assert decide_recall(replace(FOLLOWING, text="ok"), GATES).reason == "acknowledgement"
    for text in ("ok", "continue the auth refactor"):
        assert decide_recall(RecallSignals(text=text, is_machine=True), GATES).reason == MACHINE_TURN


@pytest.mark.parametrize(
    ("best", "hits", "reads", "reason"),
    [
        (None, 0, 0, NOT_FOUND),
        (0.44, 3, 0, WEAK_LOCAL),
        (0.45, 1, 0, GOOD_LOCAL),
        (None, 0, 30, OVER_RATE),
        (0.9, 3, 30, GOOD_LOCAL),
        (0.9, 0, 0, NOT_FOUND),
        (None, 3, 0, NOT_FOUND),
        (0.44, 3, 29, WEAK_LOCAL),
        (0.44, 3, 31, OVER_RATE),
    ],
)
def test_the_service_is_asked_on_a_miss_or_a_weak_best(best: float | None, hits: int, reads: int, reason: str) -> None:
    """P-54, P-82: and never more often than the settings allow."""
    decision = decide_remote(best, hits, reads, GATES)
    assert (decision.reason, decision.allowed) == (reason, reason in (NOT_FOUND, WEAK_LOCAL))
    assert decision.facts == {"best": best or 0.0, "hits": hits, "reads": reads}


@pytest.mark.parametrize(
    ("earlier", "later", "is_same"),
    [
        ("how do I center a div", "and on mobile?", True),
        ("write a haiku about rain", "make it sadder", True),
        ("红烧肉怎么做", "要炖多久", True),
        ("how do I center a div", "write a unit test for the date parser", False),
        ("plan a trip to Lisbon", "btw, the tax letter", False),
        ("红烧肉怎么做", "帮我写个 Python 脚本读取 Excel", False),
    ],
)
def test_topic_is_told_by_words_without_a_model(earlier: str, later: str, is_same: bool) -> None:
    """P-52: what leans on the topic belongs to it though it shares no word; what is whole in itself does not."""
    window = TopicWindow().add(make_topic_message(earlier), 8)
    similarity = window.measure(make_topic_message(later))
    assert similarity is not None
    assert (similarity >= GATES.topic_similarity) == is_same


def test_window_keeps_the_last_messages() -> None:
    """P-81: an empty window has no topic, and a full one forgets its first message."""
    first = make_topic_message("postgres vacuum settings")
    assert TopicWindow().measure(first) is None
    window = TopicWindow()
    for text in ("postgres vacuum settings", "lisbon tram tickets", "rain haiku umbrella"):
        window = window.add(make_topic_message(text), 2)
    assert len(window.messages) == 2
    nearness = window.measure(make_topic_message("postgres vacuum settings"))
    assert nearness is not None
    assert nearness < GATES.topic_similarity


@given(
    text=st.text(max_size=300),
    machine=st.booleans(),
    turns=st.integers(0, 9),
    topic=st.none() | st.floats(0, 1),
    age=st.none() | st.floats(0, 1e6),
)
def test_decision_is_total(text: str, machine: bool, turns: int, topic: float | None, age: float | None) -> None:
    """P-42: any text and any signals have a decision, and its reason tells whether it allows."""
    signals = RecallSignals(
        text=text,
        is_machine=machine,
        is_session_start=False,
        turns_in_window=turns,
        topic_similarity=topic,
        cache_age_seconds=age,
    )
    decision = decide_recall(signals, GATES)
    assert decision.allowed == (decision.reason not in SKIP_REASONS)
    nearness = TopicWindow().add(make_topic_message("a first one"), 4).measure(make_topic_message(text))
    assert nearness is not None
    assert 0 <= nearness <= 1


@pytest.mark.parametrize(
    "piece",
    ["continue ", "we ", "please ", "the ", "ok ", "继续", "我们", "，", "a", " ", "that we ", "\n", "our x ", "haha "],
)
def test_long_texts_take_linear_time(piece: str) -> None:
    """P-6: 100,000 characters of any one piece are decided within a fraction of a second."""
    text = (piece * (100_000 // len(piece) + 1))[:100_000]
    begun = thread_time()
    decide_recall(RecallSignals(text=text), GATES)
    TopicWindow().add(make_topic_message("x"), 4).measure(make_topic_message(text))
    assert thread_time() - begun < 2
