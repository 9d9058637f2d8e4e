"""What a conversation is about: the last messages of one topic, and whether a new one still belongs to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from muniment.memory.rules.language.tokens import extract_lexemes, is_legible
from muniment.plugin.gates.leaning import weigh_leaning
from muniment.plugin.gates.word_weights import weigh_lexemes

if TYPE_CHECKING:
    from muniment.memory.config.schema import EmbedderProfile
    from muniment.memory.domain.ids import Vector

_READ_CHARS = 4_000  # of a message
_MEANING_WEIGHT = 2.0  # shared words that a near meaning counts for each word of the message, up to four
_TELLING = 4.0  # words from which on a vector tells what a message is about
_UNRELATED = 0.25  # how near texts of different topics are, as the profile of the embedder has it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TopicMessage:
    """A message of a topic: its lexemes, and its vector where there is one that tells it apart."""

    lexemes: frozenset[str]
    vector: Vector | None = None
    leaning: float = 2.5  # how much it leans on what was said before, in words


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TopicWindow:
    """The last messages of a topic, oldest first. Without messages there is no topic yet."""

    messages: tuple[TopicMessage, ...] = ()

    def add(self, message: TopicMessage, most: int) -> TopicWindow:
        """Return the window with one message more, of which the last `most` stay."""
        return replace(self, messages=(*self.messages, message)[-most:])

    def measure(self, message: TopicMessage, profile: EmbedderProfile | None = None) -> float | None:
        """Return how near a message is to the topic, in [0, 1]; None without a topic.

        It is the share of the message's words that the topic has, too. What the message leans on counts as shared
        words, and so does a near meaning, where the message and the window have vectors; `profile` is that of the
        vectors' model, which says what its cosines mean."""
        if not self.messages:
            return None
        size = weigh_lexemes(message.lexemes)
        meaning = _MEANING_WEIGHT * min(size, _TELLING) * self._measure_meaning(message, profile)
        shared = max(0.0, message.leaning + meaning)
        known = frozenset[str]().union(*(each.lexemes for each in self.messages))
        total = size + shared
        return (weigh_lexemes(message.lexemes & known) + shared) / total if total else 1.0

    def _measure_meaning(self, message: TopicMessage, profile: EmbedderProfile | None) -> float:
        """How much nearer the message is to one of the topic than to any other; 0 where no vector tells."""
        if profile is None or message.vector is None:
            return 0.0
        cosines = [float(each.vector @ message.vector) for each in self.messages if each.vector is not None]
        near = (max(cosines, default=0.0) - profile.floor) / (profile.ceiling - profile.floor)
        return min(1.0, max(0.0, near)) - _UNRELATED if cosines else 0.0


def make_topic_message(text: str, vector: Vector | None = None, profile: EmbedderProfile | None = None) -> TopicMessage:
    """Return a message of a topic. A vector of a script that its model does not read is left out."""
    read = text[:_READ_CHARS]
    is_read = vector is not None and profile is not None and is_legible(profile.scripts, read)
    lexemes = frozenset(extract_lexemes(read))
    return TopicMessage(lexemes=lexemes, vector=vector if is_read else None, leaning=weigh_leaning(read))
