"""Synthetic memories and questions: the same for the same seed, shaped like what an embedder and a person make.

A vector is a part that all share (embeddings live in a cone), a topic's part and its own: two vectors of one topic have
a cosine of about .7, of two topics about .45. Every user has a few of the topics, so that other users' memories are as
near to a question as the user's own. Words fall off as in real text (Zipf-Mandelbrot), a part of them belongs to the
topic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from muniment.memory.domain.ids import Vector

DIMENSIONS = 384
TOPICS = 200
USER_TOPICS = 20
CATEGORIES = ("goals", "preferences", "event", "activity", "relationships", "tasks")
SHARED, TOPICAL, OWN = 0.45, 0.25, 0.3  # shares of a vector's length, squared

_VOCABULARY = 20_000
_TOPIC_WORDS = 40
_FLATNESS = 20  # Mandelbrot's: with stop words gone, the commonest word is in a few percent of the texts
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstv" for vowel in "aeiou"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One synthetic memory."""

    text: str
    category: str
    vector: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One synthetic question of a user; `unheard` has the same vector and no word that any memory has."""

    owner: str
    text: str
    unheard: str
    vector: Vector


@dataclass(frozen=True)
class World:
    """Everything that a seed determines; every user is made alone, in any order."""

    seed: int

    def memories(self, user: int, count: int) -> list[Made]:
        """The memories of a user, each text once."""
        rng = np.random.default_rng((self.seed, 1, user))
        topics = rng.choice(self._topics(user), count)
        vectors = self._vectors(rng, topics)
        categories = rng.integers(len(CATEGORIES), size=count)
        # The number makes the text the only one of its kind, so that answers can be compared by text.
        return [
            Made(text=f"{self._words(rng, int(topic), 10, 4)} {user}x{n}", category=CATEGORIES[category], vector=vector)
            for n, (topic, category, vector) in enumerate(zip(topics, categories, vectors, strict=True))
        ]

    def questions(self, users: int, count: int) -> list[Asked]:
        """Questions, spread evenly over the users."""
        rng = np.random.default_rng((self.seed, 2))
        found = []
        for n in range(count):
            topic = int(rng.choice(self._topics(n % users)))
            found.append(
                Asked(
                    owner=owner(n % users),
                    text=f"{self._words(rng, topic, 3, 3)} {n}q",
                    unheard=f"zzq{n}",
                    vector=self._vectors(rng, np.array([topic]))[0],
                )
            )
        return found

    def _topics(self, user: int) -> npt.NDArray[np.int64]:
        return np.random.default_rng((self.seed, 3, user)).choice(TOPICS, USER_TOPICS, replace=False)

    def _vectors(self, rng: np.random.Generator, topics: npt.NDArray[np.int64]) -> list[Vector]:
        own = _unit(rng.standard_normal((len(topics), DIMENSIONS)))
        mixed = _unit(SHARED**0.5 * self._centres[-1] + TOPICAL**0.5 * self._centres[topics] + OWN**0.5 * own)
        return list(mixed.astype(np.float32))

    def _words(self, rng: np.random.Generator, topic: int, common: int, topical: int) -> str:
        words = np.searchsorted(self._frequencies, rng.random(common)).tolist()
        words += (topic * _TOPIC_WORDS + rng.integers(_TOPIC_WORDS, size=topical)).tolist()
        return " ".join(self._vocabulary[word] for word in words)

    @cached_property
    def _centres(self) -> npt.NDArray[np.float64]:
        return _unit(np.random.default_rng((self.seed, 4)).standard_normal((TOPICS + 1, DIMENSIONS)))

    @cached_property
    def _frequencies(self) -> npt.NDArray[np.float64]:
        weights = 1 / (np.arange(_VOCABULARY) + _FLATNESS)
        return np.cumsum(weights / weights.sum())

    @cached_property
    def _vocabulary(self) -> list[str]:
        rng = np.random.default_rng((self.seed, 5))
        words: dict[str, None] = {}
        while len(words) < _VOCABULARY:
            words.setdefault("".join(rng.choice(_SYLLABLES, int(rng.integers(2, 5)))))
        return list(words)


def owner(user: int) -> str:
    """The name of a user."""
    return f"user-{user}"


def _unit(vectors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    lengths: npt.NDArray[np.float64] = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / lengths
