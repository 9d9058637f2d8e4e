"""The bound of tokens: never under a real tokenizer, whatever the text, and not far above it in prose."""

from __future__ import annotations

import json
import tracemalloc
from uuid import UUID

import pytest
from hypothesis import example, given, strategies as st
from rs_bpe.bpe import openai

from muniment.memory import fence
from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.retrieval import token_count

REAL = (openai.cl100k_base(), openai.o200k_base())
KNOWN = [word.decode().replace("_", " ") for word in token_count._KNOWN_COSTS]
SMALL = "abcdefghijklmnopqrstuvwxyz"
MARKS = "\"': ,{}[]().-_/\\<>#\n\r\t"
EMOJI = ["👩🏽‍🚀", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇫🇷", "❤️‍🔥", "1️⃣", "👍🏼", "🫠", "\u200d", "\ufe0f"]
PIECES = [
    *KNOWN,
    *MARKS,
    *EMOJI,
    *token_count._ONE,
    *token_count._TWO,
    "'s",
    "ing",
    "é",
    "ﬁ",
    "½",
    "\u0301",
    "7",
    "42",
    "  ",
]
ENGLISH = [
    "The user lives in Bergen with two cats and works as a nurse at the city hospital.",
    "The user's sister is planning to visit in March, and they want to go skiing together.",
    "The user prefers short answers and does not like to be called before nine in the morning.",
    "The user is learning Portuguese for a new job, and has a lesson every Tuesday evening.",
]
CHINESE = [
    "用户在上海做软件工程师，喜欢跑步和摄影。",
    "用户的妹妹三月要来看他，他们想一起去滑雪。",
    "用户对花生过敏，不吃辣。",
]


def most(text: str) -> int:
    """What a text costs in the vocabulary that is dearest for it."""
    return max(len(real.encode(text)) for real in REAL)


def payload(texts: list[str]) -> str:
    """Memories as a query returns them."""
    hits = [
        {
            "id": str(UUID(int=hash_ * 0x1F3D5B79A2C4E68F01234567 % 2**128)),
            "category": "goals",
            "text": f"[goals] {text}",
        }
        for hash_, text in enumerate(texts, start=7)
    ]
    return fence.fence_text(json.dumps({"rev": 41, "results": hits}, ensure_ascii=False))


@given(st.text(max_size=60))
@example("ﷺ")
@example("Ｔａｎｔ ｐｉｓ")
@example(" 는")
@example('": "": ", "}, {"')
def test_no_text_costs_more(text: str) -> None:
    """Of any script, composed or not."""
    assert token_count.count_tokens(text) >= most(text)


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_what_is_known_costs_no_more_in_any_company(text: str) -> None:
    """Known words, marks, characters and emoji in any order, with spaces between them or not."""
    assert token_count.count_tokens(text) >= most(text)


@pytest.mark.parametrize(
    "alphabet", [SMALL, SMALL.upper(), SMALL + SMALL.upper(), "jqxzkwvfhgmy ", "0123456789abcdef-", MARKS]
)
@given(data=st.data())
def test_letters_in_any_order_cost_no_more(alphabet: str, data: st.DataObject) -> None:
    """What only looks like words, and keys, numbers and marks."""
    text = data.draw(st.text(alphabet, max_size=40))
    assert token_count.count_tokens(text) >= most(text)


@pytest.mark.parametrize("before", ["", " ", "\n", '"', "(", "-", "_", "7", "é", "中"])
def test_every_known_word_holds_where_it_stands(before: str) -> None:
    """After whatever a vocabulary may cut off together with it."""
    short = [word for word in KNOWN if token_count.count_tokens(before + word) < most(before + word)]
    assert not short


@given(st.text(max_size=40), st.text(max_size=40))
def test_the_costs_of_two_texts_hold_for_both_together(one: str, other: str) -> None:
    """Cut at a space, nothing is lost: a text is at most its parts and the space."""
    assert (
        token_count.count_tokens(f"{one} {other}")
        <= token_count.count_tokens(one) + token_count.count_tokens(other) + 1
    )


@pytest.mark.parametrize("lone", ["\ud800", "a\udfffb"])
def test_half_a_surrogate_pair_is_counted(lone: str) -> None:
    """It cannot be sent, but it is no reason to fail."""
    assert token_count.count_tokens(lone) >= 3


@pytest.mark.parametrize(("texts", "ratio"), [(ENGLISH, 1.6), (CHINESE, 2.1)])
def test_a_payload_is_not_far_below_its_bound(texts: list[str], ratio: float) -> None:
    """The bound leaves room for what people say, not only for the worst that can be said."""
    assert token_count.count_tokens(payload(texts)) <= ratio * len(REAL[1].encode(payload(texts)))
    assert token_count.count_tokens(" ".join(texts)) <= ratio * len(REAL[1].encode(" ".join(texts)))


def test_what_is_kept_of_words_is_bounded() -> None:
    """Neither very long words nor very many are held for ever."""
    made: list[str] = []

    def make(word: str) -> int:
        made.append(word)
        return len(word)

    kept = words.WordCache(make, max_words=3, max_length=5)
    assert [kept[word] for word in ("one", "two", "one", "longer", "longer")] == [3, 3, 3, 6, 6]
    assert made == ["one", "two", "longer", "longer"]
    assert [kept[word] for word in ("three", "four", "one")] == [5, 4, 3]
    assert list(kept) == ["four", "one"]


def test_counting_keeps_no_long_words() -> None:
    """A hundred words of 100,000 letters would be 10 MB."""
    assert token_count.count_tokens("x" * 1_000) == token_count.count_tokens("x" * 1_000) > 600
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for n in range(100):
            token_count.count_tokens(SMALL[n % 26] * (100_000 + n))
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 1_000_000
