"""Words that an assertion looks for: how they match a text, and which texts are nearest to them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from muniment.memory.domain.memory import Kind, StoredMemory, Trust

_WAYS = ("contains", "exact", "pattern", "any")
_NEAREST = 3  # texts that a failure shows


class CheckPart(BaseModel):
    """A part of a check file: frozen, and an unknown key or a value of another type is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Words(CheckPart):
    """Words that a text has. A text alone is `contains`.

    `contains`, `pattern` and each of `any` ignore case; `exact` is the whole text as it stands. In a `pattern`, which
    is of the whole text, each `*` stands for any characters. All of them take a run of spaces for one."""

    contains: str | None = None
    exact: str | None = None
    pattern: str | None = None
    any: tuple[str, ...] | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_text(cls, value: Any) -> Any:
        if isinstance(value, dict):
            some = value.get("any")
            return value | {"any": tuple(some)} if isinstance(some, list) else value
        if isinstance(value, str):
            return {"contains": value}
        raise ValueError(f"allowed: a text, or one of {', '.join(_WAYS)} with it")

    @model_validator(mode="after")
    def _check_way(self) -> Self:
        given = [name for name in _WAYS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"has {len(given)} of {', '.join(_WAYS)}; allowed: one of them")
        texts = self._list_texts()
        if not texts or any(not fold_text(text).strip("* ") for text in texts):
            raise ValueError("has an empty text, which every text would match")
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the schema of an object or of a text alone."""
        found = handler.resolve_ref_schema(handler(schema))
        whole = dict(found) | {"oneOf": [{"required": [name]} for name in _WAYS]}
        found.clear()
        return {"anyOf": [{"type": "string", "minLength": 1}, whole]}

    def matches(self, text: str) -> bool:
        """Whether a text has these words. Takes time in proportion to the text."""
        if self.exact is not None:
            return " ".join(text.split()) == " ".join(self.exact.split())
        folded = fold_text(text)
        if self.pattern is not None:
            return _matches_pattern(fold_text(self.pattern), folded)
        return any(fold_text(each) in folded for each in self._list_texts())

    def describe(self) -> str:
        """Return the words as a report shows them."""
        name = next(name for name in _WAYS if getattr(self, name) is not None)
        quoted = " or ".join(f'"{text}"' for text in self._list_texts())
        return quoted if name in ("contains", "any") else f"{name} {quoted}"

    def sort_nearest(self, texts: Iterable[str]) -> list[str]:
        """Return the texts most like these words, the nearest first, by the pairs of letters that they share."""
        wanted = _list_pairs(" ".join(self._list_texts()))
        scored = [(len(wanted & _list_pairs(text)) / (len(wanted) or 1), text) for text in dict.fromkeys(texts)]
        return [text for _, text in sorted(scored, key=lambda each: -each[0])[:_NEAREST]]

    def _list_texts(self) -> Sequence[str]:
        if self.any is not None:
            return self.any
        return [text for text in (self.contains, self.exact, self.pattern) if text is not None]


class MemoryWords(Words):
    """Words of a memory, and what else holds of it: its category, kind, trust, pin."""

    category: str | None = None
    kind: Kind | None = None
    trust: Trust | None = None
    pinned: bool | None = None

    def matches_memory(self, memory: StoredMemory) -> bool:
        """Whether the memory is as asked for."""
        return (
            self.category in (None, memory.category)
            and self.kind in (None, memory.kind)
            and self.trust in (None, memory.trust)
            and self.pinned in (None, memory.pinned)
            and self.matches(memory.text)
        )

    def describe(self) -> str:
        """Return the words and the rest as a report shows them."""
        rest = [
            f"{name} {value}"
            for name in ("category", "kind", "trust", "pinned")
            if (value := getattr(self, name)) is not None
        ]
        return super().describe() + (f" ({', '.join(rest)})" if rest else "")


class FoundWords(MemoryWords):
    """Words of a memory in an answer, with the place that it has there at most: 1 is the first."""

    position: int | None = None

    @model_validator(mode="after")
    def _check_position(self) -> Self:
        if self.position is not None and self.position < 1:
            raise ValueError("position: allowed: at least 1")
        return self


def fold_text(text: str) -> str:
    """Return a text as `contains` and `pattern` compare it: without case and width, with single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _matches_pattern(pattern: str, text: str) -> bool:
    """Whether a text is what a pattern says. The parts between `*` are found one after the other, each as early as it
    can be, so nothing is tried twice."""
    first, *rest = pattern.split("*")
    if not rest:
        return text == first
    *middle, last = rest
    if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _list_pairs(text: str) -> set[str]:
    folded = fold_text(text)
    return {folded[at : at + 2] for at in range(max(len(folded) - 1, 1))}
