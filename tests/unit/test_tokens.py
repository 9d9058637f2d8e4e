"""The count of tokens is that of o200k_base, for any text, in linear time."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given, strategies as st
from rs_bpe.bpe import openai

from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.policy import cost
from muniment.memory.rules.retrieval import render

REFERENCE = openai.o200k_base()  # another implementation of the same vocabulary
# Both are loaded here, because Hypothesis measures the time of each example.
render.warm_up()
REFERENCE.encode("warm up")
EMOJI = ["👩🏽‍🚀", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇫🇷", "❤️‍🔥", "1️⃣", "👍🏼", "🫠", "\u200d", "\ufe0f"]
PIECES = [
    "用户",
    "喜欢",
    *"\"': ,{}[]().-_/\\<>#\n\r\t",
    *EMOJI,
    "'s",
    "ing",
    " user",
    "The",
    "é",
    "ﬁ",
    "½",
    "\u0301",
    "7",
    "42",
    "  ",
]


@given(st.one_of(st.text(max_size=80), st.lists(st.sampled_from(PIECES), max_size=20).map("".join)))
@example("ﷺ")
@example("Ｔａｎｔ ｐｉｓ")
@example('": "": ", "}, {"')
@example("用户在上海做软件工程师，喜欢跑步和摄影。")
@example("the end <|endoftext|> and <|endofprompt|>")
def test_the_count_is_that_of_the_vocabulary(text: str) -> None:
    """Of any script, with marks, emoji and the names of special tokens."""
    assert render.count_tokens(text) == len(REFERENCE.encode(text))


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("The user lives in Bergen.", 6), ("用户喜欢喝茶。", 5)])
def test_known_counts(text: str, tokens: int) -> None:
    """A count that does not depend on another package."""
    assert render.count_tokens(text) == tokens


@pytest.mark.parametrize("lone", ["\ud800", "a\udfffb", "\udc00" * 50])
def test_half_a_surrogate_pair_is_counted(lone: str) -> None:
    """It counts as the question mark that replaces it."""
    assert render.count_tokens(lone) == len(REFERENCE.encode(lone.encode("utf-8", "replace").decode()))


@pytest.mark.parametrize("unit", ["x", "用", " ", "7", "a b ", "\ud800"])
def test_a_long_text_takes_linear_time(unit: str) -> None:
    """Eight times as long takes at most some 30 times as long, where a quadratic count would take 64 times."""

    def measure(size: int) -> float:
        took = []
        for _ in range(3):
            start = time.process_time()
            render.count_tokens(unit * size)
            took.append(time.process_time() - start)
        return min(took)

    render.warm_up()
    assert measure(160_000) < 30 * max(measure(20_000), 0.002)


def test_threads_count_alike() -> None:
    """The first count may be in any thread."""
    with ThreadPoolExecutor(8) as pool:
        counts = set(pool.map(render.count_tokens, ["The user has two cats"] * 64))
    assert len(counts) == 1


@pytest.mark.parametrize(
    ("model", "vocabulary"),
    [
        *((None, "o200k_base"), ("gpt-5-mini", "o200k_base"), ("gpt-4o", "o200k_base"), ("gpt-4-turbo", "cl100k_base")),
        *(("gpt-4.1", "o200k_base"), ("openai/gpt-oss-20b", "o200k_base"), ("gpt-3.5-turbo", "cl100k_base")),
        *(("meta-llama/Llama-3.3-70B-Instruct", "llama3"), ("deepseek-chat", "deepseek_v3"), ("qwen3:8b", "qwen2.5")),
        *(("deepseek-r1-distill-qwen-7b", "qwen2.5"), ("mistral-small-latest", "mistral_v3"), ("gemma3:4b", "gemma3")),
        *(("claude-sonnet-4", "o200k_base"), ("my-own", "o200k_base")),
    ],
)
def test_the_model_decides_which_vocabulary_counts(model: str | None, vocabulary: str) -> None:
    assert render.choose_vocabulary(model) == vocabulary
    assert render.count_tokens("The user lives in 上海, 2026", vocabulary) > 0


def test_import_loads_no_vocabulary() -> None:
    """It is loaded by the first count, or by `warm_up`."""
    code = (
        "import sys\n"
        "from muniment.memory.rules.retrieval import render\n"
        "assert 'splintr' not in sys.modules\n"
        "render.warm_up()\n"
        "assert render.DEFAULT_VOCABULARY in render.TOKENIZERS\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


SENTENCES = ["The user ", "lives in Bergen, ", "用户喜欢", "用户在上海做软件工程师，", "has 2 cats. "]


@given(st.lists(st.sampled_from(SENTENCES), max_size=30))
def test_an_estimate_is_not_below_another_vocabulary(pieces: list[str]) -> None:
    """Of a model with that vocabulary; cl100k needs up to 2.5 times as many tokens for Chinese as the default."""
    text = "".join(pieces)
    assert cost.estimate_charge("reply", "gpt-4-turbo", [text], 1, {}).input_tokens >= len(
        openai.cl100k_base().encode(text)
    )


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


def test_what_is_kept_of_texts_ends_with_an_erasure() -> None:
    """Of a short text it is kept until then, of a long one until the write is over."""
    made: list[str] = []

    @words.cache_texts(10)
    def count(text: str) -> int:
        made.append(text)
        return len(text)

    short, long = "tea", "t" * (words.CACHED_CHARS + 1)
    assert [count(text) for text in (short, long, short, long)] == [3, len(long), 3, len(long)]
    assert made == [short, long]
    words.drop_long_texts()
    assert [count(short), count(long)] == [3, len(long)]
    assert made == [short, long, long]
    words.clear_text_caches()
    assert [count(short), count(long)] == [3, len(long)]
    assert made == [short, long, long, short, long]
