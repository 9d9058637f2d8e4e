"""The statements that the benchmark of writing adds."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import uuid4

import numpy as np
from pgvector import SparseVector

from benchmarks import synthetic
from benchmarks.contestants import Replay
from muniment.memory.domain.ids import TurnId, Vector
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.language import tokens as words
from muniment.memory.stores.postgres import rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What one write is about."""

    text: str
    category: str
    vector: Vector
    words: SparseVector

    def candidate(self, turn: TurnId | None = None) -> Candidate:
        """As the engine takes it."""
        turns = (turn or TurnId(uuid4()),)
        return Candidate(text=self.text, category=self.category, kind="semantic", confidence=1.0, turns=turns)


def alone(world: synthetic.World, known: Replay, count: int, part: int) -> list[Piece]:
    """Statements that are like nothing else."""
    rng = np.random.default_rng((world.seed, part))
    vectors = rng.standard_normal((count, synthetic.DIMENSIONS))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    made = world.memories(1000 + part, count)
    return [piece(known, one, vector) for one, vector in zip(made, vectors.astype(np.float32), strict=True)]


def linked(world: synthetic.World, known: Replay, count: int, memories: int) -> list[Piece]:
    """More statements of the topics of the loaded ones."""
    return [piece(known, one, one.vector) for one in world.memories(0, memories + count)[memories:]]


def piece(known: Replay, made: synthetic.Made, vector: Vector) -> Piece:
    """A statement, its vector known to the embedder."""
    known.known[made.text] = vector
    sparse = rows.encode_sparse_vector(words.compute_weights(made.text, None))
    return Piece(text=made.text, category=made.category, vector=vector, words=sparse)
