"""Token counts of texts, by the vocabulary `o200k_base`, which is in the wheel of splintr.

Other models count otherwise. For English and Chinese payloads GPT-4, Llama 3 and DeepSeek have about as many tokens,
and Qwen and Mistral up to 1.4 times as many, because they count every digit. Claude 3 and Gemini publish none."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from splintr import AnyTokenizer


def count_tokens(text: str) -> int:
    """Return the number of tokens of a text. Special tokens such as `<|endoftext|>` count as plain text."""
    tokenizer = _load_tokenizer()
    try:
        return len(tokenizer.encode_ordinary(text))
    except UnicodeEncodeError:  # half of a surrogate pair, which cannot be sent either
        return len(tokenizer.encode_ordinary(text.encode("utf-8", "replace").decode()))


def warm_up() -> None:
    """Load the vocabulary, which takes about 0.2 s of CPU and 50 MB, so that the first count does not wait for it.

    It blocks. It may run in any thread; two threads at once load it twice, and one copy stays."""
    count_tokens("qzxvjk")  # no word: the first word that has to be put together builds the second half of the tables


def is_loaded() -> bool:
    """Return whether the vocabulary is loaded, so that a count does not wait for it."""
    return _load_tokenizer.cache_info().currsize > 0


@cache
def _load_tokenizer() -> AnyTokenizer:
    from splintr import Tokenizer  # noqa: PLC0415 - slow to import, and not needed before the first count

    return Tokenizer.from_pretrained("o200k_base")
