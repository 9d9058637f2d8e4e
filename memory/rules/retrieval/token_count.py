"""Token counts by the vocabulary of the model that reads them.

The vocabularies are in the wheel of splintr. The name of a model decides which one counts; where it says nothing, as
for Claude and Gemini, whose vocabularies are not published, it is `o200k_base`."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from muniment.memory.rules.language.lazy_regex import lazy_compile

if TYPE_CHECKING:
    from splintr import AnyTokenizer

DEFAULT_VOCABULARY = "o200k_base"
_TOKENIZERS: dict[str, AnyTokenizer] = {}
# Names of models by family, tried in this order: a distilled model has the vocabulary of the one that was trained.
_FAMILIES = tuple(
    (vocabulary, lazy_compile(names, re.IGNORECASE))
    for vocabulary, names in (
        ("o200k_base", r"gpt-oss|gpt-4o|gpt-4\.|gpt-5"),
        ("cl100k_base", r"gpt-4|gpt-3\.5"),
        ("qwen2.5", r"qwen|qwq"),
        ("llama3", r"llama-?[34]"),
        ("llama2", r"llama-?2|tinyllama|vicuna"),
        ("deepseek_v3", r"deepseek"),
        ("mistral_v3", r"mistral|ministral|mixtral|codestral|devstral|magistral"),
        ("gemma3", r"gemma"),
        ("glm4", r"\bglm"),
        ("kimi_k2", r"kimi"),
        ("phi4", r"\bphi-?4"),
    )
)


@cache
def choose_vocabulary(model: str | None) -> str:
    """Return the name of the vocabulary that counts for a model, by the model's name; None is no model."""
    for vocabulary, names in _FAMILIES:
        if model and names.search(model):
            return vocabulary
    return DEFAULT_VOCABULARY


def count_tokens(text: str, vocabulary: str = DEFAULT_VOCABULARY) -> int:
    """Return the number of tokens of a text. Special tokens such as `<|endoftext|>` count as plain text."""
    tokenizer = _load_tokenizer(vocabulary)
    try:
        return len(tokenizer.encode_ordinary(text))
    except UnicodeEncodeError:  # half of a surrogate pair, which cannot be sent either
        return len(tokenizer.encode_ordinary(text.encode("utf-8", "replace").decode()))


def warm_up(vocabulary: str = DEFAULT_VOCABULARY) -> None:
    """Load a vocabulary, which takes about 0.2 s of CPU and 50 MB, so that the first count does not wait for it.

    It blocks. It may run in any thread; two threads at once load it twice, and one copy stays."""
    count_tokens("qzxvjk", vocabulary)  # no word: the first word that has to be put together builds half of the tables


def is_loaded(vocabulary: str = DEFAULT_VOCABULARY) -> bool:
    """Return whether a vocabulary is loaded, so that a count does not wait for it."""
    return vocabulary in _TOKENIZERS


def _load_tokenizer(vocabulary: str) -> AnyTokenizer:
    if (tokenizer := _TOKENIZERS.get(vocabulary)) is None:
        from splintr import Tokenizer  # noqa: PLC0415 - slow to import, and not needed before the first count

        tokenizer = _TOKENIZERS[vocabulary] = Tokenizer.from_pretrained(vocabulary)
    return tokenizer
