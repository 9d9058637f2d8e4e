"""Embedder, chat model and clock without a model, a network or a wall: exact, repeatable, and able to tell apart."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import TypeAlias

import numpy as np

from muniment.memory.errors import BadConfig, ModelError, ModelUnavailable
from muniment.memory.ports import AnswerForm, ChatAnswer, ChatMessage, Tool
from muniment.memory.records import Vector

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_PIECES = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+|[^\w\s]")
_IS_CJK = re.compile(f"[{_CJK}]")
# Words that say little: two statements about the user are not alike because both say "the user is".
_COMMON = frozenset(
    re.findall(
        r"\w+",
        """
    a an and are as at be been by do does for from had has have he her his in is it its me my of on or she so that the
    their they this to user was we were what when where which who will with you your""",
    )
)
_COMMON_CJK = frozenset("的了是在我你他她它们和与及也都就很有会吗呢吧啊用户")

Reply: TypeAlias = str | ChatMessage | ChatAnswer | ModelError
Script: TypeAlias = Callable[[Sequence[ChatMessage], Sequence[Tool]], Reply]


def hash_vector(text: str, dimensions: int = 256) -> Vector:
    """A unit vector of the text's hashed words, word parts and CJK 2-grams: shared content is a high cosine."""
    weights: dict[str, float] = defaultdict(float)
    for feature, weight in _features(text):
        weights[feature] += weight
    vector = np.zeros(dimensions, dtype=np.float64)
    for feature, weight in weights.items():
        digest = int.from_bytes(blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest(), "big")
        vector[(digest >> 1) % dimensions] += math.sqrt(weight) * (1 if digest & 1 else -1)
    norm = float(np.linalg.norm(vector))
    if norm == 0.0:
        vector[0] = norm = 1.0
    unit = (vector / norm).astype(np.float32)
    unit.setflags(write=False)
    return unit


def _features(text: str) -> Iterator[tuple[str, float]]:
    for piece in _PIECES.findall(unicodedata.normalize("NFKC", text).casefold()):
        if _IS_CJK.match(piece):
            yield from ((char, 0.1 if char in _COMMON_CJK else 0.6) for char in piece)
            yield from ((piece[at : at + 2], 1.0) for at in range(len(piece) - 1))
        elif piece in _COMMON or not piece[0].isalnum():
            yield piece, 0.05
        else:
            yield piece, 1.0
            # The beginning stands for the stem; the 3-grams forgive a spelling.
            yield f"{piece[:4]}*", 1.0
            marked = f"^{piece}$"
            yield from ((marked[at : at + 3], 0.15) for at in range(len(marked) - 2))


class HashEmbedder:
    """An embedder that needs no model. It knows words, not meanings: synonyms are strangers to it."""

    def __init__(self, dimensions: int = 256) -> None:
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        return f"hash-{self._dimensions}"

    async def documents(self, texts: Sequence[str]) -> list[Vector]:
        return [hash_vector(text, self._dimensions) for text in texts]

    async def query(self, text: str) -> Vector:
        return hash_vector(text, self._dimensions)

    async def close(self) -> None:
        return None


class ScriptedChat:
    """A chat model that answers from a list, one by one, or from a function of messages and tools.

    A `ModelError` in the script is raised. `calls` keeps what was asked, `forms` in which form. A list that has run out is
    `ModelUnavailable`, not an empty answer.
    """

    def __init__(self, script: Sequence[Reply] | Script, *, name: str = "scripted") -> None:
        self._name = name
        self._script: Script | None = script if callable(script) else None
        self._replies = iter(()) if callable(script) else iter(list(script))
        self.calls: list[tuple[tuple[ChatMessage, ...], tuple[Tool, ...]]] = []
        self.forms: list[AnswerForm | None] = []

    @property
    def name(self) -> str:
        return self._name

    async def chat(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = (), *, form: AnswerForm | None = None
    ) -> ChatAnswer:
        self.calls.append((tuple(messages), tuple(tools)))
        self.forms.append(form)
        reply = self._script(messages, tools) if self._script else next(self._replies, None)
        if reply is None:
            raise ModelUnavailable("The script has no answer left.")
        if isinstance(reply, ModelError):
            raise reply
        if isinstance(reply, ChatAnswer):
            return reply
        message = ChatMessage(role="assistant", content=reply) if isinstance(reply, str) else reply
        return ChatAnswer(
            message=message,
            model=self._name,
            input_tokens=sum(len(asked.content) for asked in messages) // 4,
            output_tokens=len(message.content) // 4,
        )

    async def close(self) -> None:
        return None


class FixedClock:
    """A clock that stands still until it is told to move."""

    def __init__(self, start: datetime) -> None:
        if start.tzinfo is None:
            raise BadConfig("A clock needs a time with a time zone.")
        self._now = start.astimezone(UTC)

    def now(self) -> datetime:
        return self._now

    def advance(self, seconds: float) -> datetime:
        """Move by so many seconds and say the new time."""
        self._now += timedelta(seconds=seconds)
        return self._now
