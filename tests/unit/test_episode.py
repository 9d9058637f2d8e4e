"""What a conversation comes to: asked, decided, done, in the past tense, and nothing that is not news."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from muniment.memory.domain.turn import Turn
from muniment.memory.rules.episodes import episode
from tests.engine import NOON, said

DAY = "On 2026-05-04 the user "


def told(*texts: str, days: float = 0) -> list[str]:
    """The episodes of these turns, `days` apart."""
    turns = [said(text, at=NOON + timedelta(days=days * n, seconds=n)) for n, text in enumerate(texts)]
    return [one.text for one in episode.build_episodes(turns)]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (
            ["What should I eat before the marathon?", "Let's go with pasta on Saturday.",
                "I've booked a room in Porto."],
            DAY + "asked what to eat before the marathon, decided to go with pasta on Saturday"
            " and booked a room in Porto",
        ),
        (
            ["Can you explain the visa rules for Japan?", "Ok, I'll take the night train to Osaka."],
            DAY + "asked the assistant to explain the visa rules for Japan"
            " and decided to take the night train to Osaka",
        ),
        (["Is the Prado open on Mondays?"], DAY + 'asked "Is the Prado open on Mondays?"'),
        (["How do I plan my week?"], DAY + "asked how to plan the user's week"),
        (["We decided not to rent the flat in Madrid."], DAY + "decided not to rent the flat in Madrid"),
        (
            ["马拉松之前我该吃什么？", "那我们就坐高铁去杭州吧。"],
            "2026-05-04，用户询问了“马拉松之前我该吃什么？”，决定坐高铁去杭州",
        ),
        (["帮我查一下日本签证规定", "我已经订了京都的酒店"],
            "2026-05-04，用户询问了“帮我查一下日本签证规定”，订了京都的酒店"),
    ],
)  # fmt: skip
def test_what_was_asked_decided_and_done(texts: list[str], expected: str) -> None:
    """One sentence in the past tense that begins with the date."""
    assert told(*texts) == [expected]


@pytest.mark.parametrize(
    "texts",
    [
        ["Hi!", "Thanks a lot.", "Good night!"],
        ["I live in Lisbon.", "I am allergic to peanuts.", "My sister is Zoe."],
        ["Where do I live?", "What's my name?", "Do you remember my sister?", "我住在哪里？", "你还记得我的名字吗？"],
        ["Who are you?", "Ok?", "Really?"],
        ["I'll be back.", "Let's see.", "I will let you know."],
        ["What should I do with [redacted:password] tomorrow morning?"],
        ["Read this email:\n> What should I eat before the marathon?\n> I've booked a room in Porto."],
    ],
)
def test_what_is_no_news_is_no_episode(texts: list[str]) -> None:
    """Greetings, facts that are memories of their own, questions to memory, secrets, and the words of others."""
    assert told(*texts) == []


def test_an_episode_is_of_its_turns_and_behind_every_fact() -> None:
    """The lowest importance, the category that the supervisor reads, the time of the last turn; replies do not
    count."""
    turns = [said("What should I eat before the marathon?"), said("Thanks!", at=NOON + timedelta(minutes=1))]
    reply = Turn.make(session="A", key="r", role="assistant", text="How about renting a car?", at=NOON, thread="A")
    (one,) = episode.build_episodes([*turns, reply])
    assert (one.kind, one.category, one.importance, one.trust, one.tags) == (
        "episodic", "activity", 1, "user", ("episode",),
    )  # fmt: skip
    assert one.turns == tuple(turn.id for turn in turns)
    assert one.event_time == NOON + timedelta(minutes=1)


def test_every_day_has_an_episode_of_its_own() -> None:
    """And the oldest comes first."""
    found = told("What should I eat before the marathon?", "How do I train for a half marathon?", days=1)
    assert [text[:13] for text in found] == ["On 2026-05-04", "On 2026-05-05"]


def test_two_episodes_of_a_topic_become_one() -> None:
    """Two sentences at the most; another topic is another episode."""
    first, second = told("What about renting a car in Spain?")[0], told("We decided to rent a small car in Spain.")[0]
    assert episode.is_same_topic(first, second)
    assert not episode.is_same_topic(first, told("What should I eat before the marathon?")[0])
    both = episode.combine_episodes(first, second)
    assert both == f"{first}. The user also decided to rent a small car in Spain"
    assert episode.combine_episodes(both, second) is None
    assert episode.combine_episodes(first, "x" * 280) is None
    later = second.replace("05-04", "05-05")
    assert episode.combine_episodes(first, later) == f"{first}. {later}"


@given(st.lists(st.text(max_size=400), max_size=6))
def test_any_words_make_an_episode_that_fits_or_none(texts: list[str]) -> None:
    """At most 280 characters, on one line."""
    for text in told(*texts):
        assert len(text) <= episode.MAX_CHARS
        assert "\n" not in text
        assert text.startswith((DAY, "2026-05-04，用户"))


@given(st.lists(st.sampled_from([
    "What should I eat before the marathon in Lisbon with my coach and my brother who runs with me every single day?",
    "Is the museum of modern art in Porto open on Mondays and Tuesdays in the winter months of the coming year?",
    "We decided to rent a very small red car with four doors and a roof rack for the skis in Granada in March.",
    "I've booked a room in the old hotel beside the harbour with a view of the sea and breakfast for two people.",
    "那我们就坐高铁去杭州吧。", "日本签证需要多长时间才能办好，要准备哪些材料呢？",
]), max_size=6))  # fmt: skip
def test_long_sentences_are_cut(texts: list[str]) -> None:
    """An episode stays short, so that another can be added to it."""
    assert all(len(text) <= 200 for text in told(*texts))
