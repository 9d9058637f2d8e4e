"""An embedder without a model: hashed words and parts of words, exact and repeatable."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from hashlib import blake2b

import numpy as np

from muniment.memory.domain.ids import Vector
from muniment.memory.rules.language.tokens import parse_vocabulary

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_PIECES = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+|[^\w\s]")
_IS_CJK = re.compile(f"[{_CJK}]")
# Words with little weight: two statements about the user are not similar because both say "the user is".
_COMMON = parse_vocabulary(
    """
    a an and are as at be been by do does for from had has have he her his in is it its me my of on or she so that the
    their they this to user was we were what when where which who will with you your
    """
)
_COMMON_CJK = frozenset("的了是在我你他她它们和与及也都就很有会吗呢吧啊用户")


def hash_vector(text: str, dimensions: int = 256) -> Vector:
    """Return a unit vector of the text's hashed words, word parts and CJK 2-grams: shared content is a high cosine."""
    weights: dict[str, float] = defaultdict(float)
    for feature, weight in _list_features(text):
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


def _list_features(text: str) -> Iterator[tuple[str, float]]:
    for piece in _PIECES.findall(unicodedata.normalize("NFKC", text).casefold()):
        if _IS_CJK.match(piece):
            yield from ((char, 0.1 if char in _COMMON_CJK else 0.6) for char in piece)
            yield from ((piece[at : at + 2], 1.0) for at in range(len(piece) - 1))
        elif piece in _COMMON or not piece[0].isalnum():
            yield piece, 0.05
        else:
            yield piece, 1.0
            # The first letters replace the stem; the 3-grams tolerate another spelling.
            yield f"{piece[:4]}*", 1.0
            marked = f"^{piece}$"
            yield from ((marked[at : at + 3], 0.15) for at in range(len(marked) - 2))


class HashEmbedder:
    """An embedder that needs no model. It compares words, not meanings: synonyms are not similar."""

    def __init__(self, dimensions: int = 256) -> None:
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        """Return `hash-` and the number of dimensions."""
        return f"hash-{self._dimensions}"

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return one unit vector per text, in order."""
        return [hash_vector(text, self._dimensions) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a question."""
        return hash_vector(text, self._dimensions)

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""
