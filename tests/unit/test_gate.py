"""The gate: which messages hold nothing to keep, and why."""

import time

import pytest
from hypothesis import given, strategies as st

from muniment.memory.domain.memory import Role
from muniment.memory.rules.extraction import gate

GREETING, THANKS, ASSISTANT, QUESTION = "greeting", "acknowledgement", "question about the assistant", "question"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Hi!", GREETING),
        ("hello there", GREETING),
        ("Good morning, everyone", GREETING),
        ("Hey, how are you?", GREETING),
        ("你好", GREETING),
        ("早上好！", GREETING),
        ("晚安", GREETING),
        ("ok", THANKS),
        ("Thanks a lot!", THANKS),
        ("great, thank you so much", THANKS),
        ("sounds good", THANKS),
        ("好的，谢谢", THANKS),
        ("嗯嗯", THANKS),
        ("明白了", THANKS),
        ("👍", THANKS),
        ("Hi! Thanks.", THANKS),
        ("Who are you?", ASSISTANT),
        ("what can you do", ASSISTANT),
        ("Are you a robot?", ASSISTANT),
        ("What's your name?", ASSISTANT),
        ("Do you remember my name?", ASSISTANT),
        ("你是谁？", ASSISTANT),
        ("你会做什么？", ASSISTANT),
        ("What is the capital of Peru?", QUESTION),
        ("where do I live", QUESTION),
        ("How many planets are there?", QUESTION),
        ("Is it raining?", QUESTION),
        ("Hello! What is the time?", QUESTION),
        ("今天天气怎么样？", QUESTION),
        ("为什么天是蓝的", QUESTION),
        ("我住在哪里？", QUESTION),
        ("", "empty"),
        (" \n\t", "empty"),
        ("...?!", "empty"),
    ],
)
def test_nothing_to_keep(text: str, reason: str) -> None:
    """Each kind of empty talk is named."""
    assert gate.find_skip_reason(text, "user") == reason


@pytest.mark.parametrize(
    "text",
    [
        "I live in Rome.",
        "Hi, call me Ana.",
        "Nice to meet you. I'm Ana.",
        "I'm Ana, what's your name?",
        "Since I'm allergic to nuts, what can I eat?",
        "What can I cook, given that I'm vegan?",
        "I have two cats. What do they eat?",
        "Can you remember that I like tea?",
        "Could you call me Sam?",
        "Don't forget that my exam is on Monday, ok?",
        "When I moved to Rome I was twelve.",
        "Thanks, but I moved to Oslo last year",
        "ok remember my shoe size is 42",
        "我对花生过敏，能吃什么？",
        "你好，我叫王敏",
        "谢谢，我住在上海。你呢？",
        "记住我喜欢喝茶",
        "叫我小敏",
    ],
)
def test_something_to_keep(text: str) -> None:
    """A statement passes, whatever is asked or said politely around it."""
    assert gate.find_skip_reason(text, "user") is None


@pytest.mark.parametrize(("role", "reason"), [("tool", "tool turn"), ("system", "system turn"), ("assistant", None)])
def test_roles(role: Role, reason: str | None) -> None:
    """What a tool or the system says is no statement of a person."""
    assert gate.find_skip_reason("I live in Rome.", role) == reason


@given(st.text())
def test_any_text_has_an_answer(text: str) -> None:
    """No text raises; a text without a letter or digit never passes."""
    reason = gate.find_skip_reason(text, "user")
    assert reason is not None or any(c.isalnum() for c in text)


@pytest.mark.parametrize(
    "unit", ["why ", "a, ", "hi ", "I ", "? ", "what is ", "thanks, ", "。", "你", "my ", "since "]
)
def test_long_texts_are_cheap(unit: str) -> None:
    """Ten times the text is nowhere near a hundred times the work."""
    start = time.process_time()
    gate.find_skip_reason(unit * (100_000 // len(unit)) + "?", "user")
    assert time.process_time() - start < 2
