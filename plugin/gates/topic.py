"""What a conversation is about: the last messages of one topic, and whether a new one still belongs to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from muniment.memory.rules.language.tokens import extract_lexemes, has_cjk, is_legible
from muniment.plugin.gates.leaning import Leaning, find_leaning

if TYPE_CHECKING:
    from muniment.memory.config.schema import EmbedderProfile
    from muniment.memory.domain.ids import Vector

_READ_CHARS = 4_000  # of a message
_PAIR_WEIGHT = 0.5  # of two characters of CJK, beside a word
# The weight by which a message is taken to belong to the topic before any word of it is compared.
_CONTINUITY: dict[Leaning, float] = {"leans": 8.0, "open": 2.5, "shifts": 0.5}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TopicMessage:
    """A message of a topic: its lexemes, and its vector where there is one that tells it apart."""

    lexemes: frozenset[str]
    vector: Vector | None = None
    leaning: Leaning = "open"  # whether it leans on what was said before, or says that it leaves it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TopicWindow:
    """The last messages of a topic, oldest first. Without messages there is no topic yet."""

    messages: tuple[TopicMessage, ...] = ()

    def add(self, message: TopicMessage, most: int) -> TopicWindow:
        """Return the window with one message more, of which the last `most` stay."""
        return replace(self, messages=(*self.messages, message)[-most:])

    def measure(self, message: TopicMessage, profile: EmbedderProfile | None = None) -> float | None:
        """Return how near a message is to the topic, in [0, 1]; None without a topic.

        By vectors where the message and the window have them, else by words. `profile` is that of the vectors' model,
        which says what its cosines mean."""
        if not self.messages:
            return None
        by_words = self._measure_words(message)
        if profile is None or message.vector is None:
            return by_words
        cosines = [float(each.vector @ message.vector) for each in self.messages if each.vector is not None]
        if not cosines:
            return by_words
        by_meaning = (max(cosines) - profile.floor) / (profile.ceiling - profile.floor)
        return max(by_words, min(1.0, by_meaning))

    def _measure_words(self, message: TopicMessage) -> float:
        known = frozenset[str]().union(*(each.lexemes for each in self.messages))
        prior = _CONTINUITY[message.leaning]
        return (_weigh(message.lexemes & known) + prior) / (_weigh(message.lexemes) + prior)


def make_topic_message(text: str, vector: Vector | None = None, profile: EmbedderProfile | None = None) -> TopicMessage:
    """Return a message of a topic. A vector of a script that its model does not read is left out."""
    read = text[:_READ_CHARS]
    is_read = vector is not None and profile is not None and is_legible(profile.scripts, read)
    lexemes = frozenset(extract_lexemes(read))
    return TopicMessage(lexemes=lexemes, vector=vector if is_read else None, leaning=find_leaning(read))


def _weigh(lexemes: frozenset[str]) -> float:
    return sum(_PAIR_WEIGHT if has_cjk(each) else 1.0 for each in lexemes)
