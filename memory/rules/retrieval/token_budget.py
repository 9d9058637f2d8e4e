"""Token counts of texts, and packing: as many hits as fit into a budget, counted on the rendered payload.

Tokens are those of the vocabulary `o200k_base`, which is in the wheel of splintr. Other models count otherwise. For
English and Chinese payloads GPT-4, Llama 3 and DeepSeek have about as many tokens, and Qwen and Mistral up to 1.4 times
as many, because they count every digit. Claude 3 and Gemini publish none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from muniment.memory.domain.query import Hit, Omission

if TYPE_CHECKING:
    from splintr import AnyTokenizer

JOINT_TOKENS = 1  # between two hits: a comma or a line end
_MAX_TRIES = 4  # hits that may be over budget; a later hit that fits has a lower score


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudget:
    """How many hits and tokens an answer may hold, and how a hit and the whole answer are rendered."""

    top_k: int
    max_tokens: int
    render_hit: Callable[[Hit], str]  # as `render_block` renders it
    render_block: Callable[[Sequence[Hit]], str]
    is_exhaustive: bool = False  # every hit that does not fit is an omission

    def pack_hits(self, ranked: Iterable[Hit | Omission]) -> tuple[list[Hit], int, list[Omission]]:
        """Return the packed hits, the tokens of their payload, and the omissions.

        Packing ends at `top_k` hits or when the budget is full, unless the budget is exhaustive. A hit that is too long
        does not end it: a shorter one soon after it may still fit."""
        packed: list[Hit] = []
        omissions: list[Omission] = []
        empty = count_tokens(self.render_block(()))
        spent, tries = empty, _MAX_TRIES
        for hit in ranked:
            if isinstance(hit, Omission):
                omissions.append(hit)
            elif len(packed) >= self.top_k:
                omissions.append(Omission(id=hit.memory.id, reason="beyond top_k", score=hit.score))
            elif not tries or (cost := count_tokens(self.render_hit(hit)) + JOINT_TOKENS) > self.max_tokens - spent:
                tries = max(0, tries - 1)
                omissions.append(Omission(id=hit.memory.id, reason="over budget", score=hit.score))
            else:
                packed.append(hit)
                spent += cost
            if (len(packed) >= self.top_k or not tries) and not self.is_exhaustive:
                break
        while packed and (spent := count_tokens(self.render_block(packed))) > self.max_tokens:
            omissions.append(Omission(id=packed[-1].memory.id, reason="over budget", score=packed.pop().score))
        return packed, spent if packed else empty, omissions
